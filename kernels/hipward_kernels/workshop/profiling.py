"""Kernels of a step, counted and timed by PyTorch's profiler. This module uses no formulas.

On a GPU, a kernel is what the device ran. On a CPU, it is an operator that called no other one and does more
than describe or allocate memory; there a graph that `torch.compile` made counts as one.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from hipward_kernels.workshop.measuring import synchronize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from torch import nn

STEPS = 2
COMPILED = ("## Call CompiledFxGraph", "Torch-Compiled Region")
LAUNCHES = ("LaunchKernel", "GraphLaunch", "ModuleLaunch")
"""Parts of the names of the runtime's calls that start work: cudaLaunchKernel, hipExtModuleLaunchKernel, …"""


@dataclass(frozen=True)
class Kernel:
    """All calls of one kernel in a step."""

    name: str
    calls: float
    """Calls per step."""
    ms: float
    """Milliseconds per step of all calls; on a CPU, the operator's own time."""


@dataclass(frozen=True)
class Profile:
    """The profile of a step."""

    subject: str
    device: str
    unit: str
    """What is counted: `kernels` or `operators`."""
    kernels: list[Kernel]
    """Longest first."""
    launches: float | None
    """Launches by the host per step; a graph counts as one. None on a CPU."""

    @property
    def calls(self) -> float:
        """Calls of all kernels per step."""
        return sum(kernel.calls for kernel in self.kernels)

    @property
    def ms(self) -> float:
        """Milliseconds of all kernels per step: the busy time of the device if no kernels overlap."""
        return sum(kernel.ms for kernel in self.kernels)

    def save(self, path: Path) -> None:
        """Writes the JSON file that `load` reads."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> Profile:
    """Reads a file, or the file `kernels.json` of a directory.

    Raises:
        ValueError: It is not such a file.
    """
    if path.is_dir():
        path /= "kernels.json"
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Profile(**{**stored, "kernels": [Kernel(**kernel) for kernel in stored["kernels"]]})
    except (OSError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a profile of run_pytorch_profiler: {error!r}") from error


def profiled(step: Callable[[], object], subject: str, device: torch.device, trace: Path | None = None) -> Profile:
    """Profiles `step`, which must be warm.

    Args:
        step: Takes one step.
        subject: Its name in the profile.
        device: Where it runs.
        trace: Where to write a trace for https://ui.perfetto.dev, or None.
    """
    on_gpu = device.type == "cuda"
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    synchronize(device)
    with profile(activities=activities) as recorded:
        for _ in range(STEPS):
            step()
        synchronize(device)
    if trace is not None:
        trace.parent.mkdir(parents=True, exist_ok=True)
        recorded.export_chrome_trace(str(trace))
    calls: Counter[str] = Counter()
    ms: Counter[str] = Counter()
    launches = 0
    for event in recorded.events() or []:
        if any(part in event.name for part in LAUNCHES):
            launches += 1
        if counts(event, on_gpu):
            calls[event.name] += 1
            ms[event.name] += (event.device_time if on_gpu else event.self_cpu_time_total) / 1e3
    kernels = [Kernel(name, calls[name] / STEPS, ms[name] / STEPS) for name, _ in ms.most_common()]
    return Profile(
        subject, str(device), "kernels" if on_gpu else "operators", kernels, launches / STEPS if on_gpu else None
    )


def counts(event: Any, on_gpu: bool) -> bool:  # noqa: FBT001
    """Whether an event of the profiler is a kernel, or on a CPU an innermost operator."""
    if on_gpu:
        return event.device_type.name == "CUDA" and not event.is_user_annotation
    if event.name.startswith(COMPILED):
        return True
    return does_work(event.name) and not any(does_work(child.name) for child in event.cpu_children)


@cache
def does_work(name: str) -> bool:
    """Whether an event is an operator of PyTorch that reads or writes the data of a tensor."""
    operator = name.removeprefix("aten::")
    if operator == name or operator.startswith(("empty", "detach", "resolve_", "set_", "resize_", "_unsafe_view")):
        return False
    overloads = getattr(torch.ops.aten, operator, None)
    return overloads is None or not any(getattr(overloads, each).is_view for each in overloads.overloads())


@contextmanager
def named_ranges(model: nn.Module) -> Iterator[None]:
    """Marks attention and feed-forward of every layer in traces, within a `with` block.

    By hooks, so that the model knows nothing of it. Not for compiled layers: the hooks would be compiled with them.
    """
    handles = []
    for name, module in model.named_modules():
        if name.endswith(("self_attn", "mlp")):
            open_ranges: list[Any] = []

            def enter(_: nn.Module, __: Any, name: str = name, ranges: list[Any] = open_ranges) -> None:
                ranges.append(record_function(name))
                ranges[-1].__enter__()

            def leave(_: nn.Module, __: Any, ___: Any, ranges: list[Any] = open_ranges) -> None:
                ranges.pop().__exit__(None, None, None)

            handles += [module.register_forward_pre_hook(enter), module.register_forward_hook(leave)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
