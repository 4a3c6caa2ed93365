"""Compares the kernels of two profiles, as the profiler counted them.

`… analyze_kernel_reduction --baseline profiles/v1 --fused profiles/v2`, each written by `run_pytorch_profiler`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hipward_kernels.workshop.options import table
from hipward_kernels.workshop.profiling import Profile, load

if TYPE_CHECKING:
    from collections.abc import Sequence

KERNELS_SHOWN = 15


@dataclass(frozen=True)
class Reduction:
    """The kernels of a step in two profiles."""

    baseline: Profile
    fused: Profile

    @property
    def share(self) -> float:
        """Share of the baseline's kernels that were removed; negative if kernels were added."""
        return 1 - self.fused.calls / self.baseline.calls

    def report(self) -> str:
        """The report as text."""
        before, after = self.baseline, self.fused
        totals = [
            [f"{before.unit} a step", f"{before.calls:g}", f"{after.calls:g}", f"{self.share:.1%}"],
            ["busy, ms a step", f"{before.ms:.3f}", f"{after.ms:.3f}", f"{1 - after.ms / before.ms:.1%}"],
        ]
        if before.launches and after.launches:
            gone = 1 - after.launches / before.launches
            totals.insert(1, ["launches a step", f"{before.launches:g}", f"{after.launches:g}", f"{gone:.1%}"])
        return "\n\n".join(
            [
                table(["", before.subject, after.subject, "less"], totals),
                f"Removed from {before.subject}, most frequent first:\n\n{listing(before, after)}",
                f"New in {after.subject}:\n\n{listing(after, before)}",
            ]
        )


def listing(profile: Profile, other: Profile) -> str:
    """Kernels that the other profile has fewer calls of."""
    elsewhere = {kernel.name: kernel.calls for kernel in other.kernels}
    more = [(kernel, kernel.calls - elsewhere.get(kernel.name, 0)) for kernel in profile.kernels]
    more = sorted(((kernel, calls) for kernel, calls in more if calls > 0), key=lambda pair: -pair[1])
    rows = [[kernel.name[:80], f"{calls:g}", f"{kernel.ms:.3f}"] for kernel, calls in more[:KERNELS_SHOWN]]
    return table([profile.unit.removesuffix("s"), "calls", "ms a step"], rows) if rows else "none"


def main(arguments: Sequence[str] | None = None) -> Reduction:
    """Entry point."""
    parser = argparse.ArgumentParser(
        prog="python -m hipward_kernels.workshop.analyze_kernel_reduction",
        description="Compares the kernels of two profiles.",
    )
    parser.add_argument("--baseline", type=Path, required=True, help="directory or file of run_pytorch_profiler")
    parser.add_argument("--fused", type=Path, required=True, help="the same for the version that is compared with it")
    options = parser.parse_args(arguments)
    try:
        reduction = Reduction(load(options.baseline), load(options.fused))
    except ValueError as error:
        raise SystemExit(str(error)) from error
    if reduction.baseline.unit != reduction.fused.unit:
        raise SystemExit(
            f"{reduction.baseline.unit} cannot be compared with {reduction.fused.unit}: "
            "profile both versions on the same device"
        )
    print(reduction.report())
    return reduction


if __name__ == "__main__":
    main()
