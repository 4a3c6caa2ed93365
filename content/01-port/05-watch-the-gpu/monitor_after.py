# test: run
import atexit
from dataclasses import dataclass
from functools import cache

import torch


@dataclass(frozen=True)
class Reading:
    utilization_percent: int
    temperature_c: int
    memory_used_bytes: int
    power_w: float


def read(index: int = 0) -> Reading:
    if torch.version.hip is None:
        return Reading(
            utilization_percent=torch.cuda.utilization(index),
            temperature_c=torch.cuda.temperature(index),
            memory_used_bytes=torch.cuda.device_memory_used(index),
            power_w=torch.cuda.power_draw(index) / 1000,
        )
    return amd_reading(index)


def amd_reading(index: int) -> Reading:
    """The functions of torch.cuda ignore the numbers in ROCR_VISIBLE_DEVICES, up to at least 2.15."""
    import amdsmi

    gpu = amd_handle(index)
    junction, now = amdsmi.AmdSmiTemperatureType.JUNCTION, amdsmi.AmdSmiTemperatureMetric.CURRENT
    power = amdsmi.amdsmi_get_power_info(gpu)
    # MI200 reports the average and "N/A" for the current value; MI300 the other way round.
    known = [power[key] for key in ("current_socket_power", "average_socket_power")]
    return Reading(
        utilization_percent=amdsmi.amdsmi_get_gpu_activity(gpu)["gfx_activity"],
        temperature_c=amdsmi.amdsmi_get_temp_metric(gpu, junction, now),
        memory_used_bytes=amdsmi.amdsmi_get_gpu_memory_usage(gpu, amdsmi.AmdSmiMemoryType.VRAM),
        power_w=next((float(value) for value in known if value != "N/A"), float("nan")),
    )


@cache
def amd_handle(index: int) -> object:
    """AMD SMI counts all GPUs, PyTorch the visible ones, so they are matched by PCI address."""
    import amdsmi

    amdsmi.amdsmi_init()
    atexit.register(amdsmi.amdsmi_shut_down)
    gpu = torch.cuda.get_device_properties(index)
    address = f"{gpu.pci_domain_id:04x}:{gpu.pci_bus_id:02x}:{gpu.pci_device_id:02x}.0"
    handles = amdsmi.amdsmi_get_processor_handles()
    return next(h for h in handles if amdsmi.amdsmi_get_gpu_device_bdf(h).lower() == address)


if __name__ == "__main__":
    print(read() if torch.cuda.is_available() else "no GPU on this machine")
