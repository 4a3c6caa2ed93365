# test: analyze
import subprocess
from dataclasses import dataclass

import pynvml


@dataclass(frozen=True)
class Reading:
    utilization_percent: int
    temperature_c: int
    memory_used_bytes: int
    power_w: float


def read(index: int = 0) -> Reading:
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    return Reading(
        utilization_percent=pynvml.nvmlDeviceGetUtilizationRates(handle).gpu,
        temperature_c=pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
        memory_used_bytes=pynvml.nvmlDeviceGetMemoryInfo(handle).used,
        power_w=pynvml.nvmlDeviceGetPowerUsage(handle) / 1000,
    )


def driver_version() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    print(driver_version(), read())
