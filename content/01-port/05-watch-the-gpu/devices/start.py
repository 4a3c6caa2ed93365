"""Which GPU is PyTorch's device 0? Two ways to find out."""


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def machine_index(index: int, environment: dict[str, str], count: int) -> int:
    """The number among all `count` AMD GPUs of the machine of PyTorch's device `index`."""
    visible = list(range(count))
    # hole: rocr
    # Nothing yet: every GPU is visible.
    # end: rocr
    # hole: hip
    if "HIP_VISIBLE_DEVICES" in environment:
        visible = [visible[number] for number in numbers(environment["HIP_VISIBLE_DEVICES"])]
    # end: hip
    return visible[index]


def handle_of(gpu, addresses: list[str]) -> int:
    """Position in AMD SMI's list of PCI addresses of the GPU with PyTorch's properties `gpu`.

    `gpu` has `pci_domain_id`, `pci_bus_id` and `pci_device_id`; an address is `0000:c1:00.0`.
    """
    # hole: address
    return addresses.index(f"{gpu.pci_domain_id}:{gpu.pci_bus_id}:{gpu.pci_device_id}.0")
    # end: address
