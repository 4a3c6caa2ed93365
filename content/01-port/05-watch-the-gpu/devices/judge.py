"""The functions are called with the environments and PCI addresses of machines with eight GPUs."""

from types import SimpleNamespace

from hipward_kernels.exercise import expect

COUNT = 8


def text(numbers):
    return ",".join(map(str, numbers))


def check(answer, environment, expected):
    """`expected`: the machine's numbers of PyTorch's devices 0, 1, …"""
    for index, number in enumerate(expected):
        got = answer.machine_index(index, dict(environment), COUNT)
        named = " ".join(f"{name}={value}" for name, value in environment.items()) or "nothing set"
        expect(got == number, f"{named}: device {index} is GPU {number} of the machine, got {got}")


def case_none(answer, random):
    """Without a variable, the numbers are those of the machine"""
    check(answer, {}, list(range(COUNT)))


def case_hip(answer, random):
    """HIP_VISIBLE_DEVICES selects and orders"""
    chosen = random.sample(range(COUNT), 3)
    check(answer, {"HIP_VISIBLE_DEVICES": text(chosen)}, chosen)


def case_alias(answer, random):
    """CUDA_VISIBLE_DEVICES does the same"""
    chosen = random.sample(range(1, COUNT), 2)
    check(answer, {"CUDA_VISIBLE_DEVICES": text(chosen)}, chosen)


def case_both(answer, random):
    """If both are set, HIP_VISIBLE_DEVICES counts"""
    chosen = random.sample(range(COUNT), 4)
    environment = {"CUDA_VISIBLE_DEVICES": "3,2,1,0", "HIP_VISIBLE_DEVICES": text(chosen)}
    check(answer, environment, chosen)


def case_layers(answer, random):
    """ROCR_VISIBLE_DEVICES goes first and renumbers"""
    left = random.sample(range(2, COUNT), 4)
    check(answer, {"ROCR_VISIBLE_DEVICES": text(left)}, left)
    chosen = random.sample(range(1, 4), 2)
    environment = {"ROCR_VISIBLE_DEVICES": text(left), "HIP_VISIBLE_DEVICES": text(chosen)}
    check(answer, environment, [left[number] for number in chosen])


def case_address(answer, random):
    """A GPU is found in AMD SMI's list by its PCI address"""
    buses = [0x0C, *random.sample(range(0x10, 0x100), COUNT - 1)]
    domain = random.choice([0, 1, 12])
    addresses = [f"{domain:04x}:{bus:02x}:00.0" for bus in buses]
    addresses = [each.upper() if random.random() < 0.5 else each for each in addresses]
    random.shuffle(addresses)
    for bus in buses:
        gpu = SimpleNamespace(pci_domain_id=domain, pci_bus_id=bus, pci_device_id=0)
        expected = [each.lower() for each in addresses].index(f"{domain:04x}:{bus:02x}:00.0")
        got = answer.handle_of(gpu, list(addresses))
        expect(got == expected, f"bus {bus} is {addresses[expected]} at {expected}, got {got}")
