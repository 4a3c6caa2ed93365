"""Which GPU is PyTorch's device 0? Two ways to find out."""


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def machine_index(index: int, environment: dict[str, str], count: int) -> int:
    """The number among all `count` AMD GPUs of the machine of PyTorch's device `index`."""
    visible = list(range(count))
    # hole: rocr
    # The lower layer goes first: it removes GPUs and numbers the remaining ones from 0.
    if "ROCR_VISIBLE_DEVICES" in environment:
        visible = [visible[number] for number in numbers(environment["ROCR_VISIBLE_DEVICES"])]
    # end: rocr
    # hole: hip
    text = environment.get("HIP_VISIBLE_DEVICES", environment.get("CUDA_VISIBLE_DEVICES"))
    if text is not None:
        visible = [visible[number] for number in numbers(text)]
    # end: hip
    return visible[index]


def handle_of(gpu, addresses: list[str]) -> int:
    """Position in AMD SMI's list of PCI addresses of the GPU with PyTorch's properties `gpu`.

    `gpu` has `pci_domain_id`, `pci_bus_id` and `pci_device_id`; an address is `0000:c1:00.0`.
    """
    # hole: address
    for position, each in enumerate(addresses):
        domain, bus, rest = each.split(":")
        parts = [int(part, 16) for part in (domain, bus, rest.split(".")[0])]
        if parts == [gpu.pci_domain_id, gpu.pci_bus_id, gpu.pci_device_id]:
            return position
    raise LookupError(addresses)
    # end: address
