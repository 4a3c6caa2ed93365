"""Profiles calls of a model with `torch.profiler` after a warm-up, and saves the Chrome trace."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.profiler import ProfilerActivity
from torch.profiler import profile as torch_profile

from hipward_kernels.profile.breakdown import read_trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from hipward_kernels.profile.breakdown import Breakdown

WARM_CALLS = 3


def profile(call: Callable[[], Any], *, calls: int = 5, trace: Path | None = None, memory: bool = False) -> Breakdown:
    """Profiles some calls.

    Args:
        call: The function to profile, without arguments.
        calls: Number of profiled calls, after `WARM_CALLS` others.
        trace: File for the Chrome trace, for https://ui.perfetto.dev; None does not save it.
        memory: Also records shapes and allocations; slower.
    """
    activities = [ProfilerActivity.CPU]
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        activities.append(ProfilerActivity.CUDA)
    for _ in range(WARM_CALLS):
        call()
    if on_gpu:
        torch.cuda.synchronize()
    with torch_profile(activities=activities, record_shapes=memory, profile_memory=memory) as profiler:
        for _ in range(calls):
            call()
        if on_gpu:
            torch.cuda.synchronize()
    with tempfile.TemporaryDirectory(prefix="hipward-") as directory:
        path = trace or Path(directory) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return read_trace(path)
