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
    return Reading(
        utilization_percent=torch.cuda.utilization(index),
        temperature_c=torch.cuda.temperature(index),
        memory_used_bytes=torch.cuda.device_memory_used(index),
        power_w=power_w(index),
    )


def power_w(index: int) -> float:
    """PyTorch documents milliwatts; its ROCm build returned watts up to at least 2.15."""
    if torch.version.hip is None:
        return torch.cuda.power_draw(index) / 1000
    import amdsmi

    power = amdsmi.amdsmi_get_power_info(amd_handle(index))
    # MI200 reports the average and "N/A" for the current value; MI300 the other way round.
    known = [power[key] for key in ("current_socket_power", "average_socket_power")]
    return next((float(value) for value in known if value != "N/A"), float("nan"))


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
