"""The functions of a job on eight machines, with what PyTorch reports on each."""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest import mock

import torch
from hipward_kernels.exercise import expect


@dataclass(frozen=True)
class Machine:
    """A build of PyTorch and a GPU. `capability` is None without a GPU."""

    title: str
    vendor: str | None
    dtype: torch.dtype
    hip: str | None = None
    cuda: str | None = None
    capability: tuple[int, int] | None = None
    bfloat16: bool = True

    @property
    def device(self):
        return "cpu" if self.capability is None else "cuda"


BF16, FP16 = torch.bfloat16, torch.float16
MACHINES = [
    Machine("MI250X, ROCm build", "amd", BF16, hip="7.2.0", capability=(9, 0)),
    Machine("MI300X, ROCm build", "amd", BF16, hip="7.2.0", capability=(9, 4)),
    Machine("MI355X, ROCm build", "amd", BF16, hip="7.2.0", capability=(9, 5)),
    Machine("H200, CUDA build", "nvidia", BF16, cuda="13.0", capability=(9, 0)),
    Machine("V100, CUDA build", "nvidia", FP16, cuda="12.6", capability=(7, 0), bfloat16=False),
    Machine("login node, ROCm build", "amd", BF16, hip="7.2.0"),
    Machine("login node, CUDA build", "nvidia", BF16, cuda="13.0"),
    Machine("laptop, CPU build", None, BF16),
]


@contextmanager
def on(machine):
    """PyTorch reports what it reports on this machine."""

    def capability(device=None):
        if machine.capability is None:
            raise RuntimeError("No CUDA GPUs are available")
        return machine.capability

    def bfloat16(including_emulation=True):
        """As PyTorch 2.15: a ROCm build does not look at the GPU."""
        if machine.hip:
            return True
        return machine.capability is not None and (machine.bfloat16 or including_emulation)

    def name(device=None):
        capability()
        return machine.title.split(",")[0]

    functions = {
        "is_available": lambda: machine.capability is not None,
        "device_count": lambda: int(machine.capability is not None),
        "get_device_capability": capability,
        "get_device_name": name,
        "is_bf16_supported": bfloat16,
    }
    with ExitStack() as stack:
        for attribute, value in (("hip", machine.hip), ("cuda", machine.cuda)):
            stack.enter_context(mock.patch.object(torch.version, attribute, value))
        for attribute, function in functions.items():
            stack.enter_context(mock.patch.object(torch.cuda, attribute, function))
        yield


def check(answer, machines, query, expected):
    """Compares what `query` returns on each machine."""
    for machine in machines:
        with on(machine):
            try:
                got = query(answer, machine)
            except Exception as error:
                raise AssertionError(f"{machine.title}: {type(error).__name__}: {error}") from error
        want = expected(machine)
        expect(got == want, f"{machine.title}: got {got!r}, expected {want!r}")


def shuffled(random, condition=lambda machine: True):
    machines = [machine for machine in MACHINES if condition(machine)]
    return random.sample(machines, len(machines))


def case_vendor(answer, random):
    """The vendor of the build, where there is a GPU"""
    machines = shuffled(random, lambda machine: machine.capability)
    check(answer, machines, lambda a, _: a.vendor(), lambda machine: machine.vendor)


def case_login(answer, random):
    """The vendor of the build, where there is no GPU"""
    machines = shuffled(random, lambda machine: not machine.capability)
    check(answer, machines, lambda a, _: a.vendor(), lambda machine: machine.vendor)


def case_device(answer, random):
    """The device"""
    check(answer, shuffled(random), lambda a, _: str(a.pick_device()), lambda machine: machine.device)


def case_dtype(answer, random):
    """The dtype on GPUs"""
    machines = shuffled(random, lambda machine: machine.capability)
    check(answer, machines, lambda a, m: a.pick_dtype(torch.device(m.device)), lambda machine: machine.dtype)


def case_cpu(answer, random):
    """The dtype on a CPU"""
    machines = shuffled(random, lambda machine: not machine.capability)
    check(answer, machines, lambda a, m: a.pick_dtype(torch.device(m.device)), lambda machine: machine.dtype)
