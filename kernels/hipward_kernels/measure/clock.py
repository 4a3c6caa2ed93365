"""Wall-clock time of work on a device, and its peak memory."""

from __future__ import annotations

import resource
from time import perf_counter

import torch


def now(device: torch.device) -> float:
    """Seconds of a monotonic clock, after the device is idle."""
    if device.type != "cpu":
        torch.cuda.synchronize(device)
    return perf_counter()


def forget_peak_memory(device: torch.device) -> None:
    """Resets the peak memory, if the device supports it."""
    if device.type != "cpu":
        torch.cuda.reset_peak_memory_stats(device)


def peak_memory_bytes(device: torch.device) -> int:
    """Peak memory: of tensors on a GPU; of the whole process since its start on a CPU."""
    if device.type != "cpu":
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def percentile(values: list[float], share: float) -> float:
    """The value at `share` (0 to 1) of the sorted values, interpolated between neighbours."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    below = ordered[int(at)]
    above = ordered[min(int(at) + 1, len(ordered) - 1)]
    return below + (above - below) * (at - int(at))
