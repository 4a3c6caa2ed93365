"""Sensors of a GPU: clocks, temperature, power, load, and the processes that use it.

Three sources with one interface. NVIDIA: NVML, the driver's library, through ctypes. AMD: sysfs, which needs no ROCm,
else the `amdsmi` package. Readings change nothing and need no privileges. A figure that a device does not provide is
None; if there are no sensors at all, `UnreadableError` states the reason.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch


class UnreadableError(Exception):
    """The sensors cannot be read; the message states the reason."""


@dataclass(frozen=True)
class Reading:
    """Readings of a GPU's sensors at one time."""

    sm_mhz: int | None = None
    """Clock of the compute units."""
    memory_mhz: int | None = None
    temperature_c: float | None = None
    """Temperature of the hottest sensor."""
    power_w: float | None = None
    busy_percent: float | None = None
    slowed_by: str | None = None
    """Why the driver reduces the clock, if it reports it: heat or power brake, but not the power cap, which is
    normal."""
    power_capped: bool = False
    """The driver reports that the power cap reduces the clock, as in any long matrix product."""


class Sensors(Protocol):
    """One GPU's sensors."""

    source: str
    """`NVML`, `sysfs` or `AMD SMI`."""

    def read(self) -> Reading:
        """The present figures."""

    def max_sm_mhz(self) -> int | None:
        """The highest clock of the compute units."""

    def other_processes(self) -> list[int] | None:
        """Ids of other processes that use the GPU; None if unknown."""

    def partition(self) -> str | None:
        """Partition mode of the GPU, such as `SPX/NPS1`; None if it has none."""


def sensors_of(device: torch.device) -> Sensors:
    """The sensors of a GPU.

    Raises:
        UnreadableError: There are none, or this process may not read them.
    """
    if device.type == "cpu":
        raise UnreadableError("the clocks of a processor are not read")
    import torch  # noqa: PLC0415 - the readers below need no PyTorch

    properties = torch.cuda.get_device_properties(device)
    if torch.version.hip is None:
        return Nvml(str(getattr(properties, "uuid", "")))
    address = "{:04x}:{:02x}:{:02x}.0".format(
        *(getattr(properties, f"pci_{part}_id", 0) for part in ("domain", "bus", "device"))
    )
    try:
        return Sysfs(address)
    except UnreadableError as no_files:
        try:
            return AmdSmi(address)
        except UnreadableError as no_library:
            raise UnreadableError(f"{no_files}, and {no_library}") from no_library


# --- NVIDIA ------------------------------------------------------------------------------------------------------


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Process(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("memory", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


class Nvml:
    """NVIDIA's management library, which comes with the driver. Constants and structures: its `nvml.h`."""

    source = "NVML"

    SM, MEMORY = 1, 2
    POWER_CAP = 0x04
    SLOWDOWNS = ((0x40, "heat"), (0x20, "heat"), (0x80, "power brake"), (0x08, "hardware slowdown"))
    MOST_PROCESSES = 64

    def __init__(self, uuid: str, library: Any = None) -> None:
        """`uuid` as PyTorch gives it, without the prefix `GPU-`."""
        try:
            self._nvml = library or ctypes.CDLL("libnvidia-ml.so.1")
        except OSError as error:
            raise UnreadableError("NVIDIA's management library libnvidia-ml.so.1 is missing") from error
        if status := self._nvml.nvmlInit_v2():
            raise UnreadableError(f"NVML does not start (error {status})")
        self._handle = ctypes.c_void_p()
        name = uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"
        if status := self._nvml.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(self._handle)):
            raise UnreadableError(f"NVML does not know the GPU {name} (error {status})")

    def _number(self, function: str, *arguments: int, kind: Any = ctypes.c_uint) -> int | None:
        value = kind()
        status = getattr(self._nvml, function)(self._handle, *arguments, ctypes.byref(value))
        return None if status else int(value.value)

    def read(self) -> Reading:
        """See `Sensors`."""
        milliwatts = self._number("nvmlDeviceGetPowerUsage")
        reasons = self._number("nvmlDeviceGetCurrentClocksThrottleReasons", kind=ctypes.c_ulonglong) or 0
        load = _Utilization()
        idle = self._nvml.nvmlDeviceGetUtilizationRates(self._handle, ctypes.byref(load))
        return Reading(
            sm_mhz=self._number("nvmlDeviceGetClockInfo", self.SM),
            memory_mhz=self._number("nvmlDeviceGetClockInfo", self.MEMORY),
            temperature_c=self._number("nvmlDeviceGetTemperature", 0),
            power_w=None if milliwatts is None else milliwatts / 1e3,
            busy_percent=None if idle else float(load.gpu),
            slowed_by=next((word for bit, word in self.SLOWDOWNS if reasons & bit), None),
            power_capped=bool(reasons & self.POWER_CAP),
        )

    def max_sm_mhz(self) -> int | None:
        """See `Sensors`."""
        return self._number("nvmlDeviceGetMaxClockInfo", self.SM)

    def other_processes(self) -> list[int] | None:
        """See `Sensors`."""
        count = ctypes.c_uint(self.MOST_PROCESSES)
        found = (_Process * self.MOST_PROCESSES)()
        if self._nvml.nvmlDeviceGetComputeRunningProcesses_v3(self._handle, ctypes.byref(count), found):
            return None
        return [int(process.pid) for process in found[: count.value] if process.pid != os.getpid()]

    def partition(self) -> str | None:
        """See `Sensors`."""
        mode, pending = ctypes.c_uint(), ctypes.c_uint()
        if self._nvml.nvmlDeviceGetMigMode(self._handle, ctypes.byref(mode), ctypes.byref(pending)):
            return None
        return "MIG" if mode.value else None


# --- AMD ---------------------------------------------------------------------------------------------------------


class Sysfs:
    """Files of the amdgpu driver. Names and units: the kernel's documentation, `gpu/amdgpu/thermal`."""

    source = "sysfs"

    def __init__(self, address: str, root: Path = Path("/sys")) -> None:
        """`address` on the PCI bus, such as `0000:c1:00.0`."""
        self._device = root / "bus" / "pci" / "devices" / address
        self._processes = root / "class" / "kfd" / "kfd" / "proc"
        if _text(self._device / "pp_dpm_sclk") is None:
            raise UnreadableError(f"{self._device}/pp_dpm_sclk cannot be read")
        self._hwmon = next(iter(sorted(self._device.glob("hwmon/hwmon*"))), None)

    def read(self) -> Reading:
        """See `Sensors`."""
        exact = self._sensor("freq1_input", 1e-6)
        current = [mhz for mhz, used in self._levels("pp_dpm_sclk") if used]
        power = self._sensor("power1_average", 1e-6)
        temperatures = [t for n in (1, 2, 3) if (t := self._sensor(f"temp{n}_input", 1e-3)) is not None]
        busy = _text(self._device / "gpu_busy_percent")
        return Reading(
            sm_mhz=round(exact) if exact is not None else next(iter(current), None),
            memory_mhz=next((mhz for mhz, used in self._levels("pp_dpm_mclk") if used), None),
            temperature_c=max(temperatures, default=None),
            power_w=power if power is not None else self._sensor("power1_input", 1e-6),
            busy_percent=float(busy) if busy and busy.isdigit() else None,
        )

    def max_sm_mhz(self) -> int | None:
        """See `Sensors`."""
        return max((mhz for mhz, _ in self._levels("pp_dpm_sclk")), default=None)

    def other_processes(self) -> list[int] | None:
        """See `Sensors`. The driver lists the processes of all AMD GPUs of the host together."""
        try:
            found = [int(entry.name) for entry in self._processes.iterdir() if entry.name.isdigit()]
        except OSError:
            return None
        return sorted(pid for pid in found if pid != os.getpid())

    def partition(self) -> str | None:
        """See `Sensors`."""
        parts = [_text(self._device / f"current_{kind}_partition") for kind in ("compute", "memory")]
        return "/".join(filter(None, parts)) or None

    def _levels(self, name: str) -> list[tuple[int, bool]]:
        """Clock levels in MHz, and whether each is in use: `1: 2100Mhz *`."""
        found = re.findall(r"^\w+: (\d+)Mhz( \*)?", _text(self._device / name) or "", re.MULTILINE | re.IGNORECASE)
        return [(int(mhz), bool(star)) for mhz, star in found]

    def _sensor(self, name: str, unit: float) -> float | None:
        text = _text(self._hwmon / name) if self._hwmon else None
        return int(text) * unit if text and text.lstrip("-").isdigit() else None


class AmdSmi:
    """AMD's management library, through its own Python package."""

    source = "AMD SMI"

    def __init__(self, address: str, module: Any = None) -> None:
        """`address` on the PCI bus, such as `0000:c1:00.0`."""
        try:
            # Not a dependency: it is part of ROCm, and raises various exceptions if the driver is missing.
            self._smi = module or importlib.import_module("amdsmi")
            self._smi.amdsmi_init()
            handles = self._smi.amdsmi_get_processor_handles()
            self._handle = next(h for h in handles if self._smi.amdsmi_get_gpu_device_bdf(h).lower() == address)
        except Exception as error:
            raise UnreadableError(f"AMD SMI cannot be used ({type(error).__name__}: {error})") from error

    def _ask(self, function: str, *arguments: Any) -> Any:
        with contextlib.suppress(Exception):
            return getattr(self._smi, function)(self._handle, *arguments)
        return None

    def _clock(self, kind: str, field: str) -> int | None:
        return _whole((self._ask("amdsmi_get_clock_info", getattr(self._smi.AmdSmiClkType, kind)) or {}).get(field))

    def read(self) -> Reading:
        """See `Sensors`."""
        power = self._ask("amdsmi_get_power_info") or {}
        watts = next((w for f in ("current_socket_power", "average_socket_power") if (w := _whole(power.get(f)))), None)
        hot = self._smi.AmdSmiTemperatureType.HOTSPOT
        activity = self._ask("amdsmi_get_gpu_activity") or {}
        return Reading(
            sm_mhz=self._clock("GFX", "clk"),
            memory_mhz=self._clock("MEM", "clk"),
            temperature_c=_whole(self._ask("amdsmi_get_temp_metric", hot, self._smi.AmdSmiTemperatureMetric.CURRENT)),
            power_w=watts,
            busy_percent=_whole(activity.get("gfx_activity")),
        )

    def max_sm_mhz(self) -> int | None:
        """See `Sensors`."""
        return self._clock("GFX", "max_clk")

    def other_processes(self) -> list[int] | None:
        """See `Sensors`."""
        found = self._ask("amdsmi_get_gpu_process_list")
        if found is None:
            return None
        return [pid for process in found if (pid := _whole(process.get("pid"))) not in (None, os.getpid())]

    def partition(self) -> str | None:
        """See `Sensors`."""
        parts = (self._ask(f"amdsmi_get_gpu_{kind}_partition") for kind in ("compute", "memory"))
        return "/".join(part for part in parts if isinstance(part, str)) or None


def _whole(value: Any) -> int | None:
    """The value as an integer; None for `N/A`, which AMD SMI returns for unknown values."""
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
