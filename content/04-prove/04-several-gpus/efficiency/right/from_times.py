"""How well does training scale? Reads the step times of all processes."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

Steps = Sequence[float]  # milliseconds of the timed steps of one process


@dataclass(frozen=True)
class Scaling:
    """Every process has its own batch of the same size (weak scaling)."""

    step_ms: float  # of all processes together
    samples_per_second: float  # of all processes
    efficiency: float  # 1 means that each process is as fast as one alone
    averaging_ms: float  # what averaging gradients adds to a step
    sharing_ms: float  # what the other processes add, without any averaging
    remark: str = ""


def common_step(processes: Sequence[Steps]) -> float:
    """Milliseconds of a step that all processes take together."""
    # hole: common
    # Averaging waits for everyone, so the slowest process decides.
    return max(statistics.median(steps) for steps in processes)
    # end: common


def scaling(
    alone: Steps,
    together: Sequence[Steps],
    uncoupled: Sequence[Steps],
    batch: int,
    parameter_sums: Sequence[Sequence[float]],
) -> Scaling:
    """Compares one process alone, all processes with averaging, and all without it (`no_sync`).

    `batch` is the batch of one process. `parameter_sums` has, for each process, the sum of each
    parameter after training together.
    """
    one = statistics.median(alone)
    step, free = common_step(together), common_step(uncoupled)
    # hole: throughput
    # In the time of one common step, every process finishes a batch.
    efficiency = one / step
    rate = 1e3 * batch * len(together) / step
    # end: throughput
    # hole: parts
    averaging, sharing = step - free, free - one
    # end: parts
    remark = ""
    # hole: remark
    if any(list(sums) != list(parameter_sums[0]) for sums in parameter_sums):
        # Whatever was timed, it was not the training of one model.
        remark = "the processes have different parameters"
    elif efficiency > 1:
        remark = "more than 100 %: the time alone is wrong"
    # end: remark
    return Scaling(step, rate, efficiency, averaging, sharing, remark)
