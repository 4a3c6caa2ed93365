"""Notices that a device was slowed down while it was timed, so that those samples can be dropped and counted.

The rule is Tensara's and NVBench's: a sample taken under three quarters of the highest clock tells about heat, not
about code. Where the driver says that the power cap alone holds the clock down, the sample counts: a large matrix
product runs like that for as long as it runs. Only what the sensors say counts; where they say nothing, nothing is
dropped and the conditions say so.
"""

from __future__ import annotations

import re
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from hipward_kernels.environment.sensors import UnreadableError, sensors_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    from hipward_kernels.environment.sensors import Sensors

LOWEST_SHARE = 0.75
"""Of the highest clock; samples under it are dropped."""

READ_EVERY_S = 0.005


class Watch(Protocol):
    """Looks at a device while a turn is timed."""

    in_words: str
    """What it looks for, for the conditions of a result."""
    mhz: int | None
    """The device's clock when it was last seen at work since `begin`; None where that is not known."""

    def begin(self) -> None:
        """A turn begins."""

    def wait(self, done: Callable[[], bool]) -> None:
        """Looks until `done`, without giving the processor away."""

    def slowed(self) -> bool:
        """Whether the device was slowed since `begin`."""


class GpuWatch:
    """Reads a GPU's clock while it works. A reading counts only if the GPU is still busy after it: idle GPUs rest."""

    def __init__(self, sensors: Sensors, highest_mhz: int) -> None:
        self.in_words = (
            f"turns are dropped in which {sensors.source} says less than {LOWEST_SHARE:.0%} of {highest_mhz} MHz for "
            "another reason than the power cap, or a slowdown by heat"
        )
        self._sensors = sensors
        self._limit_mhz = LOWEST_SHARE * highest_mhz
        self._slowed = False
        self.mhz: int | None = None

    def begin(self) -> None:
        """See `Watch`."""
        self._slowed = False
        self.mhz = None

    def wait(self, done: Callable[[], bool]) -> None:
        """See `Watch`."""
        next_reading = 0.0
        while not done():
            if (now := perf_counter()) < next_reading:
                continue
            next_reading = now + READ_EVERY_S
            reading = self._sensors.read()
            if not done():
                self.mhz = reading.sm_mhz
                slow = reading.sm_mhz is not None and reading.sm_mhz < self._limit_mhz
                self._slowed |= (slow and not reading.power_capped) or reading.slowed_by is not None

    def slowed(self) -> bool:
        """See `Watch`."""
        return self._slowed


class CpuWatch:
    """Compares the counters of thermal events that Linux keeps for Intel processors."""

    mhz: int | None = None

    def __init__(self, counters: list[Path]) -> None:
        self.in_words = "turns are dropped in which a processor core counts a thermal event"
        self._counters = counters
        self._before = 0

    def begin(self) -> None:
        """See `Watch`."""
        self._before = self._count()

    def wait(self, done: Callable[[], bool]) -> None:
        """See `Watch`: a call on the processor has ended when it returns."""

    def slowed(self) -> bool:
        """See `Watch`."""
        return self._count() > self._before

    def _count(self) -> int:
        return sum(int(number) for path in self._counters if (number := _digits(path)))


class NoWatch:
    """Sees nothing, and says why."""

    mhz: int | None = None

    def __init__(self, reason: str) -> None:
        self.in_words = f"not watched: {reason}"

    def begin(self) -> None:
        """See `Watch`."""

    def wait(self, done: Callable[[], bool]) -> None:
        """See `Watch`."""
        while not done():
            pass

    def slowed(self) -> bool:
        """See `Watch`."""
        return False


def watch_for(device: torch.device, root: Path = Path("/sys")) -> Watch:
    """The best watch that this host allows."""
    if device.type == "cpu":
        found = sorted(root.glob("devices/system/cpu/cpu*/thermal_throttle/core_throttle_count"))
        if any(_digits(path) for path in found):
            return CpuWatch(found)
        return NoWatch("this processor shows no count of thermal events")
    try:
        sensors = sensors_of(device)
    except UnreadableError as error:
        return NoWatch(str(error))
    highest = sensors.max_sm_mhz()
    if highest is None:
        return NoWatch(f"{sensors.source} does not say the highest clock")
    return GpuWatch(sensors, highest)


def _digits(path: Path) -> str:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return text if re.fullmatch(r"\d+", text) else ""
