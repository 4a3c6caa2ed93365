"""PyTorch's TunableOp within a `with` block: algorithms are timed once per shape, and the best is saved.

    with tunable(Path("gemms.csv"), tune=True):   # once, with real shapes; slow
        model(x)
    with tunable(Path("gemms.csv")):              # from then on
        model(x)

The file applies to one architecture and one version of the libraries; PyTorch ignores it elsewhere.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch.cuda import tunable as torch_tunable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def tunable(file: Path, *, tune: bool = False) -> Iterator[None]:
    """Uses the choices of `file` for every matrix product within the block; with `tune`, adds missing choices."""
    enabled, tuning = torch_tunable.is_enabled(), torch_tunable.tuning_is_enabled()
    torch_tunable.set_filename(str(file), insert_device_ordinal=False)
    torch_tunable.enable(val=True)
    torch_tunable.tuning_enable(tune)
    try:
        if file.exists():
            torch_tunable.read_file(str(file))
        yield
    finally:
        torch_tunable.enable(enabled)
        torch_tunable.tuning_enable(tuning)
