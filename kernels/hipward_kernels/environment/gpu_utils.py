"""Which vendor's GPU a program runs on, and the settings that only count before PyTorch is imported.

    from hipward_kernels.environment.gpu_utils import configure_memory_optimizations
    configure_memory_optimizations()      # first: the allocator reads its settings once
    import torch

Importing this module imports no PyTorch. Variables that are set already are left alone.
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
    """The maker of the GPU that PyTorch uses here: `amd`, `nvidia`, or `none` without a GPU.

    A ROCm build of PyTorch has its GPUs under `torch.cuda`, too; `torch.version.hip` tells the two apart.
    """
    import torch  # noqa: PLC0415 - the rest of this module runs before it

    if not torch.cuda.is_available():
        return "none"
    return "amd" if torch.version.hip else "nvidia"


def expected_vendor(site: Path | None = None) -> Vendor:
    """The vendor that the installed PyTorch was built for, read from its files and without importing it."""
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
    # Growing segments: less fragmentation where shapes vary. PyTorch for ROCm takes it since 2026, on ROCm 7 and later,
    # and says that it ignores it before. PYTORCH_ALLOC_CONF is the name for all vendors.
    "amd": {"PYTORCH_ALLOC_CONF": "expandable_segments:True"},
    "nvidia": {"PYTORCH_ALLOC_CONF": "expandable_segments:True"},
    "none": {},
}


def configure_memory_optimizations(
    vendor: Vendor | None = None, environment: MutableMapping[str, str] | None = None
) -> dict[str, str]:
    """Sets what is not set yet; call it before PyTorch is imported.

    Args:
        vendor: For whom; the installed PyTorch's unless given.
        environment: Where to set it; this process's environment unless given.

    Returns:
        What was set.

    Raises:
        ValueError: One of the variables is malformed, so that importing PyTorch would abort.
    """
    ours = environment is None
    variables = os.environ if environment is None else environment
    if ours and "torch" in sys.modules:
        warnings.warn(
            "PyTorch is imported already: its allocator may have read its settings. Call this first.", stacklevel=2
        )
    for name, wrong in allocator.problems(variables).items():
        raise ValueError(f"{name} is {variables[name]!r}: {wrong}. Write: {allocator.command(name)}")
    settings = MEMORY_SETTINGS[expected_vendor() if vendor is None else vendor]
    # Whoever set one of the names, an older one too, has chosen.
    chosen = any(name in variables for name in allocator.NAMES)
    made = {} if chosen else dict(settings)
    variables.update(made)
    return made
