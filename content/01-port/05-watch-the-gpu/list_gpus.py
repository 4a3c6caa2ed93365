# test: run
"""Every GPU that this process may use, with its architecture and its PCI address."""

import torch


# anchor: list
def gpus() -> list[tuple[int, str, str, str]]:
    """PyTorch's index, the architecture, the PCI address and the name of each visible GPU."""
    found = []
    for index in range(torch.cuda.device_count()):
        gpu = torch.cuda.get_device_properties(index)
        arch = gpu.gcnArchName.split(":")[0] if torch.version.hip else f"sm_{gpu.major}{gpu.minor}"
        address = f"{gpu.pci_domain_id:04x}:{gpu.pci_bus_id:02x}:{gpu.pci_device_id:02x}.0"
        found.append((index, arch, address, gpu.name))
    return found
# end: list


if __name__ == "__main__":
    for row in gpus():
        print(*row)
    print(f"{len(gpus())} GPUs are visible")
