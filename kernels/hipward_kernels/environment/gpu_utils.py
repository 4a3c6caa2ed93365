"""The vendor of the GPU, and settings that must be made before PyTorch is imported.

    from hipward_kernels.environment.gpu_utils import configure_memory_optimizations
    configure_memory_optimizations()      # first: the allocator reads its settings once
    import torch

This module does not import PyTorch. Variables that are already set are not changed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hipward_kernels.environment import allocator

if TYPE_CHECKING:
    from collections.abc import MutableMapping

Vendor = Literal["amd", "nvidia", "none"]


def detect_gpu_vendor() -> Vendor:
    """The vendor of the GPU that PyTorch uses: `amd`, `nvidia`, or `none` without a GPU.

    A ROCm build of PyTorch has its GPUs under `torch.cuda` too; `torch.version.hip` distinguishes the two.
    """
    import torch  # noqa: PLC0415 - the rest of this module runs before the import

    if not torch.cuda.is_available():
        return "none"
    return "amd" if torch.version.hip else "nvidia"


def expected_vendor(site: Path | None = None) -> Vendor:
    """The vendor that the installed PyTorch was built for, read from its files without importing it."""
    package = site
    if package is None:
        found = importlib.util.find_spec("torch")
        places = (found.submodule_search_locations or []) if found else []
        package = Path(next(iter(places))) if places else None
    if package is None:
        return "none"
    try:
        text = (package / "version.py").read_text(encoding="utf-8")
    except OSError:
        return "none"
    for vendor, name in (("amd", "hip"), ("nvidia", "cuda")):
        if re.search(rf"^{name}\b[^=]*= *['\"]", text, re.MULTILINE):
            return vendor  # type: ignore[return-value]
    return "none"


MEMORY_SETTINGS: dict[Vendor, dict[str, str]] = {
    # Expandable segments reduce fragmentation if shapes vary. PyTorch for ROCm supports them since 2026 on ROCm 7 and
    # later; before, it ignores them with a warning. PYTORCH_ALLOC_CONF is the name for all vendors.
    "amd": {"PYTORCH_ALLOC_CONF": "expandable_segments:True"},
    "nvidia": {"PYTORCH_ALLOC_CONF": "expandable_segments:True"},
    "none": {},
}


def configure_memory_optimizations(
    vendor: Vendor | None = None, environment: MutableMapping[str, str] | None = None
) -> dict[str, str]:
    """Sets recommended variables that are not set; call it before PyTorch is imported.

    Args:
        vendor: Vendor of the GPU (default: that of the installed PyTorch).
        environment: The environment to change (default: that of this process).

    Returns:
        The variables that were set.

    Raises:
        ValueError: A variable is malformed; importing PyTorch would abort.
    """
    ours = environment is None
    variables = os.environ if environment is None else environment
    if ours and "torch" in sys.modules:
        warnings.warn(
            "PyTorch is already imported, and its allocator may have read its settings. Call this function before.",
            stacklevel=2,
        )
    for name, wrong in allocator.problems(variables).items():
        raise ValueError(f"{name} is {variables[name]!r}: {wrong}. Write: {allocator.command(name)}")
    settings = MEMORY_SETTINGS[expected_vendor() if vendor is None else vendor]
    # If one of the names is set, also an older one, nothing is changed.
    chosen = any(name in variables for name in allocator.NAMES)
    made = {} if chosen else dict(settings)
    variables.update(made)
    return made
