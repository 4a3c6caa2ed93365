"""Wall-clock time of work on a device, and the memory that it took."""

from __future__ import annotations

import resource
from time import perf_counter

import torch


def now(device: torch.device) -> float:
    """Seconds on a monotonic clock, once the device has nothing left to do."""
    if device.type != "cpu":
        torch.cuda.synchronize(device)
    return perf_counter()


def forget_peak_memory(device: torch.device) -> None:
    """Starts the search for the peak anew, where it can be."""
    if device.type != "cpu":
        torch.cuda.reset_peak_memory_stats(device)


def peak_memory_bytes(device: torch.device) -> int:
    """Most memory that was held: of the GPU by tensors, or of the whole process on a CPU, since it began."""
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
