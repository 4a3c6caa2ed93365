"""Measures the published results of the models and appends them to `results/models.csv`.

`python -m hipward_kernels.workshop.record_results --only compare,decode`. One process for all studies, because each
script on its own would start PyTorch and the compiler anew.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from hipward_kernels.workshop import (
    compare_versions,
    decode_benchmark,
    fusion_ablation_study,
    run_deepspeed_flops,
    sequence_length_sweep,
)
from hipward_kernels.workshop.records import RESULTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MEDIUM = ("--size", "medium", "--use-amp")
DECODE = ("--size", "medium", "--precision", "bfloat16", "--repeats", "30")
LONG = ("--size", "medium", "--use-amp", "--batch-size", "4")

STUDIES: Mapping[str, Sequence[Callable[[Sequence[str]], object]]] = {
    "compare": [
        lambda more: compare_versions.main([*MEDIUM, "--num-steps", "40", *more]),
        lambda more: compare_versions.main(["--size", "small", "--use-amp", "--num-steps", "40", *more]),
    ],
    "float32": [lambda more: compare_versions.main(["--size", "medium", "--num-steps", "12", *more])],
    "tf32": [
        lambda more: compare_versions.main(["--size", "medium", "--precision", "tf32", "--num-steps", "12", *more])
    ],
    "roofline": [lambda more: run_deepspeed_flops.main([*MEDIUM, "--version", "v4", "--num-steps", "20", *more])],
    "decode": [
        lambda more: decode_benchmark.main([*DECODE, *more]),
        lambda more: decode_benchmark.main([*DECODE, "--batch-size", "8", "--models", "v1,v4", *more]),
    ],
    "lengths": [
        lambda more: sequence_length_sweep.main(
            [*LONG, "--off", "compile", "--models", "v1,v2", "--seq-lengths", "128,256,512,1024", *more]
        )
    ],
    "ablation": [lambda more: fusion_ablation_study.main([*MEDIUM, "--all-combinations", "--num-steps", "10", *more])],
}
"""Studies by name, the most important first."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        prog="python -m hipward_kernels.workshop.record_results", description="Measures and records all studies."
    )
    parser.add_argument("--only", default=",".join(STUDIES), help="studies, with commas")
    parser.add_argument("--results", type=Path, default=RESULTS, help="CSV to append to")
    options = parser.parse_args(arguments)
    names = options.only.split(",")
    if unknown := [name for name in names if name not in STUDIES]:
        parser.error(f"no such studies: {', '.join(unknown)}; there are {', '.join(STUDIES)}")
    failed = []
    for name in names:
        for study in STUDIES[name]:
            started = perf_counter()
            try:
                study(["--results", str(options.results)])
            except SystemExit as error:
                failed.append(f"{name}: {error}")
            print(f"\n{name}: {perf_counter() - started:.0f} s\n", flush=True)
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
