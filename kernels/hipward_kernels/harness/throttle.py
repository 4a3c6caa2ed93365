"""Detects throttling of a device during the timing, so that these samples are dropped and counted.

The rule is that of Tensara and NVBench: a sample below 75 % of the highest clock depends on heat and not on the code.
If the driver reports that only the power cap reduces the clock, the sample is valid, because any large matrix product
runs like that. Without sensors nothing is dropped, and the conditions state it.
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
"""Share of the highest clock below which samples are dropped."""

READ_EVERY_S = 0.005


class Watch(Protocol):
    """Watches a device during a turn."""

    in_words: str
    """Description for the conditions of a result."""
    mhz: int | None
    """The last reading of the busy device's clock since `begin`; None if unknown."""

    def begin(self) -> None:
        """A turn begins."""

    def wait(self, done: Callable[[], bool]) -> None:
        """Watches until `done` returns True, by polling."""

    def slowed(self) -> bool:
        """Whether the device was throttled since `begin`."""


class GpuWatch:
    """Reads a GPU's clock while it is busy. A reading is valid only if the GPU is still busy after it."""

    def __init__(self, sensors: Sensors, highest_mhz: int) -> None:
        self.in_words = (
            f"turns are dropped if {sensors.source} reports less than {LOWEST_SHARE:.0%} of {highest_mhz} MHz for "
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
    """Compares Linux's counters of thermal events of Intel processors."""

    mhz: int | None = None

    def __init__(self, counters: list[Path]) -> None:
        self.in_words = "turns are dropped in which a processor core counts a thermal event"
        self._counters = counters
        self._before = 0

    def begin(self) -> None:
        """See `Watch`."""
        self._before = self._count()

    def wait(self, done: Callable[[], bool]) -> None:
        """See `Watch`. A call on the processor is complete when it returns."""

    def slowed(self) -> bool:
        """See `Watch`."""
        return self._count() > self._before

    def _count(self) -> int:
        return sum(int(number) for path in self._counters if (number := _digits(path)))


class NoWatch:
    """Watches nothing, for a stated reason."""

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
    """The best watch that this host supports."""
    if device.type == "cpu":
        found = sorted(root.glob("devices/system/cpu/cpu*/thermal_throttle/core_throttle_count"))
        if any(_digits(path) for path in found):
            return CpuWatch(found)
        return NoWatch("this processor has no counters of thermal events")
    try:
        sensors = sensors_of(device)
    except UnreadableError as error:
        return NoWatch(str(error))
    highest = sensors.max_sm_mhz()
    if highest is None:
        return NoWatch(f"{sensors.source} does not report the highest clock")
    return GpuWatch(sensors, highest)


def _digits(path: Path) -> str:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return text if re.fullmatch(r"\d+", text) else ""
