"""Profiles a version: `python -m hipward_kernels.workshop.run_pytorch_profiler --version v2 --profile-dir profiles/v2`.

Writes `trace.json` for https://ui.perfetto.dev, `kernels.json` for `analyze_kernel_reduction`, and `metrics.json`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipward_kernels.models.training import matmul_precision
from hipward_kernels.profile.breakdown import read_trace, table
from hipward_kernels.workshop import options as common
from hipward_kernels.workshop.measuring import measure, prepare
from hipward_kernels.workshop.profiling import STEPS, load
from hipward_kernels.workshop.records import Record, conditions
from hipward_kernels.workshop.training_script import write_profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hipward_kernels.workshop.profiling import Profile

KERNELS_SHOWN = 20


def main(arguments: Sequence[str] | None = None) -> Profile:
    """Entry point."""
    parser = common.parser("run_pytorch_profiler", "Profiles a training step of a version.")
    common.add_switches(parser)
    parser.add_argument("--version", type=common.version_of, default="v2", help="v1, v2, v3, v4")
    parser.add_argument(
        "--num-steps", type=common.positive, default=10, help="steps to time, besides the profiled ones"
    )
    parser.add_argument("--profile-dir", type=common.directory, required=True, help="where to write")
    parser.add_argument("--generate-report", action="store_true", help="write report.md with the longest kernels too")
    options = parser.parse_args(arguments)
    device = common.device(options)
    subject = common.subject(options, options.version)
    with matmul_precision(subject.precision):
        runner = prepare(subject, device, seed=options.seed)
        training = measure(runner, device, options.num_steps)
        write_profile(runner, device, options.profile_dir)
    record = Record(subject, training, conditions(device))
    record.save(options.profile_dir / "metrics.json")
    found = load(options.profile_dir)
    kinds = table(read_trace(options.profile_dir / "trace.json"), rows=0)
    text = f"{report(found, training.step_ms.median)}\n\nBy kind, over {STEPS} steps:\n\n{kinds}"
    print(text)
    if options.generate_report:
        (options.profile_dir / "report.md").write_text(text + "\n", encoding="utf-8")
    return found


def report(profile: Profile, step_ms: float) -> str:
    """The longest kernels and their share of a step."""
    rows = [
        [kernel.name[:80], f"{kernel.calls:g}", f"{kernel.ms:.3f}", f"{kernel.ms / profile.ms:.1%}"]
        for kernel in profile.kernels[:KERNELS_SHOWN]
    ]
    launches = "" if profile.launches is None else f", started by {profile.launches:g} calls of the runtime"
    return (
        f"# {profile.subject} on {profile.device}\n\n"
        f"{profile.calls:g} {profile.unit} per step{launches}; "
        f"together {profile.ms:.3f} ms of a step of {step_ms:.3f} ms.\n\n"
        + common.table([profile.unit.removesuffix("s"), "calls", "ms", "share"], rows)
    )


if __name__ == "__main__":
    main()
