# fails: case_impossible
# message: No step is faster than its least time. A share above 1 shows a wrong measurement, so do not return it.
"""What does a speed-up consist of? Compares measured steps, and steps with the least time that they need."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """A measured training step. `busy_ms` is the time in which the GPU runs kernels."""

    version: str
    size: str
    precision: str
    device: str
    step_ms: float
    busy_ms: float


class NotComparable(ValueError):
    """The two steps do not do the same work on the same device."""


def factors(rival: Step, step: Step) -> tuple[float, float]:
    """The speed-up over the rival as two factors: less work in kernels, and less waiting per work.

    The product of the two is the speed-up.
    """
    # hole: comparable
    for name in ("size", "precision", "device"):
        ours, theirs = getattr(step, name), getattr(rival, name)
        if ours != theirs:
            raise NotComparable(f"{name}: {ours} and {theirs}")
    # end: comparable
    # hole: factors
    work = rival.busy_ms / step.busy_ms
    # Time of the step for each millisecond of kernels: 1 if the GPU never waits.
    waiting = (rival.step_ms / rival.busy_ms) / (step.step_ms / step.busy_ms)
    # end: factors
    return work, waiting


def sentence(rival: Step, step: Step) -> str:
    """The speed-up with what it refers to: `3.09× over v1 in bfloat16 (medium, NVIDIA H200)`."""
    work, waiting = factors(rival, step)
    # hole: sentence
    return f"{work * waiting:.2f}× over {rival.version} in {step.precision} ({step.size}, {step.device})"
    # end: sentence


def share_of_roofline(step: Step, flops: float, bytes_: float, flops_per_s: float, bytes_per_s: float) -> float:
    """The least time of the step divided by its time, if arithmetic and memory traffic overlap perfectly.

    Raises:
        ValueError: The share is above 1. Then one of the numbers was measured wrongly.
    """
    # hole: roofline
    return min(1.0, 1e3 * max(flops / flops_per_s, bytes_ / bytes_per_s) / step.step_ms)
    # end: roofline
