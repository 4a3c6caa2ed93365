"""Writes what fusion changed as a Markdown page: time, memory, kernels, and whether training stayed the same.

`… generate_fusion_report --baseline profiles/v1 --fused profiles/v2 --output report.md`, from directories that
`run_pytorch_profiler` or `run_all_profilers.sh` wrote; or `--output-dir DIR` alone, which profiles V1 and V2 first.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hipward_kernels.workshop import compare_versions, run_pytorch_profiler
from hipward_kernels.workshop import options as common
from hipward_kernels.workshop.analyze_kernel_reduction import Reduction
from hipward_kernels.workshop.compare_versions import Compared
from hipward_kernels.workshop.profiling import load as load_profile
from hipward_kernels.workshop.records import load as load_record

if TYPE_CHECKING:
    from collections.abc import Sequence


def page(baseline: Path, fused: Path) -> str:
    """The report of two directories.

    Raises:
        ValueError: One of them is not such a directory.
    """
    compared = [Compared(load_record(path), load_profile(path)) for path in (baseline, fused)]
    before, after = compared
    if before.record.conditions["device_name"] != after.record.conditions["device_name"]:
        raise ValueError("the two were measured on different devices")
    first, second = (one.record.subject for one in compared)
    alike = (
        f"The losses of the two runs are at most {after.loss_gap(before):.1e} apart, relative to each other, over "
        f"{min(len(one.record.training.losses) for one in compared)} steps."
    )
    missing = after.record.training.without_gradient
    grads = (
        f"{len(missing)} parameters get NO gradient in {second.version}, so it does not train the model: "
        + ", ".join(missing)
        if missing
        else "Every parameter gets a gradient in both."
    )
    here = before.record.conditions
    dates = "".join(
        f"{one.record.subject.version}: {one.record.conditions['date']}, switches {one.record.subject.switches}.\n"
        for one in compared
    )
    host = f"{here['device_name']} ({here['arch']}), driver {here['driver'] or 'none'}, Python {here['python']}, "
    host += f"{here['clock']}, caches {here['cache']}.\n"
    return "\n\n".join(
        [
            f"# {second.version} beside {first.version}",
            compare_versions.report(compared),
            f"## Training\n\n{alike} {grads}",
            f"## Kernels\n\n{Reduction(*(load_profile(path) for path in (baseline, fused))).report()}",
            f"## Conditions\n\n{dates}{host}",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> Path:
    """Entry point; returns the path of the page."""
    parser = common.parser("generate_fusion_report", "Writes what fusion changed.")
    parser.add_argument("--baseline", type=Path, help="directory of a profile")
    parser.add_argument("--fused", type=Path, help="directory of the profile that is compared with it")
    parser.add_argument("--num-steps", type=common.positive, default=10, help="steps, where it profiles by itself")
    parser.add_argument("--output", type=Path, help="file; default: fusion_report.md in --output-dir")
    parser.add_argument("--output-dir", type=Path, default=Path("optimization_analysis"), help="directory")
    options = parser.parse_args(arguments)
    if (options.baseline is None) != (options.fused is None):
        parser.error("--baseline and --fused belong together")
    output: Path = options.output or options.output_dir / "fusion_report.md"
    baseline, fused = options.baseline, options.fused
    if baseline is None:
        baseline, fused = options.output_dir / "v1", options.output_dir / "v2"
        for name, directory in (("v1", baseline), ("v2", fused)):
            passed_on = ["--version", name, "--profile-dir", str(directory), "--num-steps", str(options.num_steps)]
            for flag in ("size", "batch_size", "seq_len", "precision", "amp_dtype", "device", "seed"):
                if (value := getattr(options, flag)) is not None:
                    passed_on += [f"--{flag.replace('_', '-')}", str(value)]
            run_pytorch_profiler.main(passed_on + (["--use-amp"] if options.use_amp else []))
    try:
        text = page(baseline, fused)
    except ValueError as error:
        raise SystemExit(str(error)) from error
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    print(f"wrote {output}")
    return output


if __name__ == "__main__":
    main()
