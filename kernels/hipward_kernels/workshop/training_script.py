"""The common program of the scripts `tiny_llama_v1` … `tiny_llama_v4`."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import torch

from hipward_kernels.models.training import matmul_precision
from hipward_kernels.workshop import options as common
from hipward_kernels.workshop.measuring import Training, measure, prepare
from hipward_kernels.workshop.profiling import named_ranges, profiled
from hipward_kernels.workshop.records import Record, append, conditions, results_file, rows_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from hipward_kernels.workshop.measuring import Runner
    from hipward_kernels.workshop.options import Subject

LOSSES_SHOWN = 10


def parser(version: str) -> argparse.ArgumentParser:
    """The argument parser of a version's script."""
    made = common.parser(
        f"tiny_llama_{version}", f"Trains TinyLlama {version.upper()} on generated text and measures it."
    )
    common.add_switches(made)
    made.add_argument("--num-steps", type=common.positive, default=30, help="training steps")
    made.add_argument(
        "--enable-memory-profiling", action="store_true", help="write a snapshot of the GPU's allocations"
    )
    made.add_argument("--enable-pytorch-profiler", action="store_true", help="write a trace and the kernels' counts")
    made.add_argument(
        "--profile-dir", type=common.directory, help="folder for metrics.json and the files enabled above"
    )
    made.add_argument("--results", type=results_file, help="CSV of results to append to")
    return made


def run(version: str, arguments: Sequence[str] | None = None) -> Record:
    """Runs the script of a version."""
    options = parser(version).parse_args(arguments)
    device = common.device(options)
    if (options.enable_memory_profiling or options.enable_pytorch_profiler) and options.profile_dir is None:
        raise SystemExit("--profile-dir is required: the folder for the profile")
    subject = common.subject(options, version)
    here = conditions(device)
    print(f"{here['device_name']}, PyTorch {here['torch']}; {subject.version}: {subject.switches}")
    with matmul_precision(subject.precision):
        runner = prepare(subject, device, seed=options.seed)
        with allocations(options.profile_dir if options.enable_memory_profiling else None, device):
            training = measure(runner, device, options.num_steps)
        if options.enable_pytorch_profiler:
            write_profile(runner, device, options.profile_dir)
    record = Record(subject, training, here)
    print(summary(subject, training))
    if options.profile_dir is not None:
        record.save(options.profile_dir / "metrics.json")
    if options.results is not None:
        append(options.results, rows_of("train", record))
    return record


def summary(subject: Subject, training: Training) -> str:
    """The summary as text."""
    every = max(1, len(training.losses) // LOSSES_SHOWN)
    shown = [f"{index + 1}: {loss:.4f}" for index, loss in enumerate(training.losses) if index % every == 0]
    missing = training.without_gradient
    step, split, rate = training.step_ms, training.split, training.tokens_per_second
    lines = [
        f"loss before step, nats/token   {', '.join(shown)}, last: {training.losses[-1]:.4f}",
        f"step                           {step.median:.3f} ms ({step.low:.3f} … {step.high:.3f}; {step.samples} steps)",
        f"throughput                     {rate:.0f} tokens/s, {rate / subject.sequence_length:.1f} samples/s",
        f"forward, backward, optimizer   {split.forward_ms:.3f}, {split.backward_ms:.3f}, {split.optimizer_ms:.3f} ms",
        f"kept for the backward          {training.saved_mib:.1f} MiB",
        "peak memory                    "
        + ("not measured on a CPU" if training.peak_memory_mib is None else f"{training.peak_memory_mib:.1f} MiB"),
        f"first step                     {training.first_step_s:.1f} s",
        f"parameters                     {training.parameters}; "
        + ("each gets a gradient" if not missing else f"NO GRADIENT: {', '.join(missing)}"),
    ]
    return "\n".join(lines + ([training.note] if training.note else []))


def write_profile(runner: Runner, device: torch.device, directory: Path) -> None:
    """`trace.json` for Perfetto, `kernels.json` for the scripts that compare profiles."""
    batch = next(runner.data)
    model = runner.trainer.model
    with nullcontext() if model.switches.compile else named_ranges(model):
        found = profiled(lambda: runner.step(batch), str(runner.subject.version), device, directory / "trace.json")
    found.save(directory / "kernels.json")


@contextmanager
def allocations(directory: Path | None, device: torch.device) -> Iterator[None]:
    """Records every allocation on the GPU for https://pytorch.org/memory_viz, if a directory is given."""
    on = directory is not None and device.type == "cuda"
    if on:
        torch.cuda.memory._record_memory_history(max_entries=100_000)  # noqa: SLF001 - its documented name
    yield
    if on and directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        torch.cuda.memory._dump_snapshot(str(directory / "memory.pickle"))  # type: ignore[no-untyped-call] # noqa: SLF001
        torch.cuda.memory._record_memory_history(enabled=None)  # noqa: SLF001
