"""Cases for the stopwatch, on a simulated device with a queue."""

from hipward_kernels.exercise import expect, expect_close

LAUNCH, WAIT = 8e-6, 2e-6  # host seconds of a launch and of a wait


class Simulated:
    """Host and device with a virtual clock. Kernels run one after the other, after their launch."""

    def __init__(self, kernel_s, compile_s=0.0, ramp_s=0.0, queued_s=0.0):
        self.host = 100.0
        self.idle_at = self.host + queued_s
        self.kernel_s, self.compile_s, self.ramp_s = kernel_s, compile_s, ramp_s
        self.worked_s = 0.0
        self.calls = 0

    def now(self):
        self.host += 1e-7
        return self.host

    def step(self):
        expect(self.calls < 100_000, "more than 100,000 calls: the warm-up does not end")
        self.host += LAUNCH + (self.compile_s if self.calls == 0 else 0.0)
        self.calls += 1
        # At half its clock until it has worked for `ramp_s`.
        duration = self.kernel_s * (2 if self.worked_s < self.ramp_s else 1)
        self.worked_s += duration
        self.idle_at = max(self.idle_at, self.host) + duration

    def synchronize(self):
        self.host = max(self.host, self.idle_at) + WAIT


def run(answer, device, calls=20):
    first, times = answer.stopwatch(device, device.step, calls)
    expect(len(times) == calls, f"returned {len(times)} times, expected {calls}")
    return first, times


def close(name, got, want):
    try:
        # A launch, a wait and two readings of the clock belong to a call; nothing else does.
        expect_close(got * 1e6, want * 1e6, atol=25.0)
    except AssertionError as error:
        raise AssertionError(f"{name}, in µs: {error}") from None


def case_queue(answer, random):
    """Each time contains the work, not only the launch"""
    kernel = random.uniform(200e-6, 5e-3)
    for number, time in enumerate(run(answer, Simulated(kernel))[1]):
        close(f"call {number}", time, kernel)


def case_compile(answer, random):
    """Compilation is in the first call only"""
    kernel, compiled = random.uniform(200e-6, 2e-3), random.uniform(2.0, 9.0)
    first, times = run(answer, Simulated(kernel, compile_s=compiled))
    close("the first call", first, compiled + kernel)
    close("the longest call", max(times), kernel)


def case_queued_before(answer, random):
    """The device is still busy when the stopwatch starts"""
    kernel = random.uniform(200e-6, 2e-3)
    first, _ = run(answer, Simulated(kernel, queued_s=random.uniform(0.3, 0.9)))
    close("the first call", first, kernel)


def case_slow_clock(answer, random):
    """A short kernel on a device whose clock rises after 0.1 s of work"""
    kernel = random.uniform(100e-6, 200e-6)
    for number, time in enumerate(run(answer, Simulated(kernel, ramp_s=0.1))[1]):
        close(f"call {number}", time, kernel)


def case_single_call(answer, random):
    """One timed call"""
    kernel = random.uniform(200e-6, 2e-3)
    close("the call", run(answer, Simulated(kernel), calls=1)[1][0], kernel)
