# fails: case_address
# message: AMD SMI lists the GPUs in an order of its own. Compare addresses.
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
    # HIP's own name wins over the alias. Its numbers refer to what the lower layer has left.
    for name in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
        if name in environment:
            visible = [visible[number] for number in numbers(environment[name])]
            break
    # end: hip
    return visible[index]


def handle_of(gpu, addresses: list[str]) -> int:
    """Position in AMD SMI's list of PCI addresses of the GPU with PyTorch's properties `gpu`.

    `gpu` has `pci_domain_id`, `pci_bus_id` and `pci_device_id`; an address is `0000:c1:00.0`.
    """
    # hole: address
    return 0
    # end: address
