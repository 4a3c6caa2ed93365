# test: run
"""A clock for functions on the CPU or on a GPU, and a warm-up."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import torch

Call = Callable[[torch.Tensor], object]


# anchor: clock
class Clock:
    """Device events where there is a GPU; the monotonic clock where there is none."""

    def __init__(self, device: torch.device, flush_mib: int = 576) -> None:
        self.device = device
        if device.type == "cuda":
            self.start, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            self.flush = torch.empty(flush_mib * 2**20, dtype=torch.int8, device=device)

    def time(self, call: Call, x: torch.Tensor) -> float:
        """Microseconds of one call."""
        if self.device.type == "cuda":
            self.flush.zero_()  # keeps the GPU busy while we queue the rest
            self.start.record()
            call(x)
            self.end.record()
            self.end.synchronize()
            return self.start.elapsed_time(self.end) * 1000
        start = time.perf_counter_ns()
        call(x)
        return (time.perf_counter_ns() - start) / 1000

    def overhead(self) -> float:
        """Time measured for no work. A result below ten times this value is unreliable."""
        return statistics.median(self.time(lambda x: None, torch.empty(0)) for _ in range(100))
# end: clock


# anchor: warm-up
def warm_up(call: Call, inputs: Sequence[torch.Tensor], clock: Clock) -> float:
    """Run until compilation, autotuning and clock ramps are over; return the seconds taken."""
    begin = time.perf_counter()
    calls = 0
    while calls < 10 or time.perf_counter() - begin < 0.25:
        clock.time(call, inputs[calls % len(inputs)])
        calls += 1
    return time.perf_counter() - begin
# end: warm-up


def main() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    inputs = [torch.randn(256, 1024, device=device) for _ in range(4)]
    norm = torch.nn.RMSNorm(1024, device=device)
    clock = Clock(device)
    seconds = warm_up(norm, inputs, clock)
    print(f"warm-up {seconds:.2f} s, then {clock.time(norm, inputs[0]):.1f} µs")
    print(f"timing nothing takes {clock.overhead():.2f} µs")
    assert seconds >= 0.25


if __name__ == "__main__":
    main()
