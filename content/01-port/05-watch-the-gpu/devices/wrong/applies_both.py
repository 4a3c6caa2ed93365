# fails: case_both
# message: The alias counts only if HIP_VISIBLE_DEVICES is not set.
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
    if "HIP_VISIBLE_DEVICES" in environment:
        visible = [visible[number] for number in numbers(environment["HIP_VISIBLE_DEVICES"])]
    if "CUDA_VISIBLE_DEVICES" in environment:
        visible = [visible[number] for number in numbers(environment["CUDA_VISIBLE_DEVICES"])]
    # end: hip
    return visible[index]


def handle_of(gpu, addresses: list[str]) -> int:
    """Position in AMD SMI's list of PCI addresses of the GPU with PyTorch's properties `gpu`.

    `gpu` has `pci_domain_id`, `pci_bus_id` and `pci_device_id`; an address is `0000:c1:00.0`.
    """
    # hole: address
    # The parts are hexadecimal, and the letters may be in either case.
    address = f"{gpu.pci_domain_id:04x}:{gpu.pci_bus_id:02x}:{gpu.pci_device_id:02x}.0"
    return [each.lower() for each in addresses].index(address)
    # end: address
