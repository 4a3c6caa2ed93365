"""The program is started with several environments; a stand-in for PyTorch records the environment at its import."""

import importlib.abc
import importlib.machinery
import os
import sys
from unittest.mock import MagicMock

from hipward_kernels.exercise import expect, source_of

NAMES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
SETTING = "expandable_segments:True"


class StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A module `torch` that records the environment when it is imported."""

    def __init__(self):
        self.read = {}

    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == "torch" else None

    def exec_module(self, module):
        self.read = dict(os.environ)
        module.__getattr__ = lambda name: MagicMock()


def started(answer, environment):
    """The environment at the import of PyTorch, and that after `prepare()`, of a program started with `environment`."""
    kept, torch = dict(os.environ), sys.modules.pop("torch", None)
    stand_in = StandIn()
    sys.meta_path.insert(0, stand_in)
    try:
        os.environ.clear()
        os.environ.update(environment)
        program = {"__name__": "program"}
        exec(compile(source_of(answer), "answer.py", "exec"), program)  # noqa: S102 - started as a program
        program["prepare"]()
        return stand_in.read, dict(os.environ)
    finally:
        sys.meta_path.remove(stand_in)
        sys.modules.pop("torch", None)
        if torch is not None:
            sys.modules["torch"] = torch
        os.environ.clear()
        os.environ.update(kept)


def case_read(answer, random):
    """Without a setting, yours is there when PyTorch is imported"""
    read, _ = started(answer, {"PATH": "/usr/bin"})
    got = read.get("PYTORCH_ALLOC_CONF")
    expect(got == SETTING, f"it is {got!r} when PyTorch is imported, expected {SETTING!r}")


def case_user(answer, random):
    """A value that the user has set stays, before and after `prepare()`"""
    value = f"max_split_size_mb:{random.choice([128, 256, 512])}"
    read, then = started(answer, {"PYTORCH_ALLOC_CONF": value})
    got = read.get("PYTORCH_ALLOC_CONF")
    expect(got == value, f"the user set {value!r}, and it is {got!r} when PyTorch is imported")
    got = then.get("PYTORCH_ALLOC_CONF")
    expect(got == value, f"the user set {value!r}, and os.environ shows {got!r} after prepare()")


def case_older_name(answer, random):
    """A value under an older name counts as a setting"""
    value = f"max_split_size_mb:{random.choice([128, 256, 512])}"
    for name in NAMES[1:]:
        read, then = started(answer, {name: value})
        expect(read.get(name) == value, f"{name} was {value!r}, and is {read.get(name)!r} when PyTorch is imported")
        for other in set(NAMES) - {name}:
            got = then.get(other)
            expect(got is None, f"the user set {name}, and the program added {other}={got}")


def case_debug(answer, random):
    """The debugging environment works on both vendors and changes nothing else"""
    environment = {"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": str(random.randint(1, 64))}
    before = dict(environment)
    got = answer.debug_environment(environment)
    expect(environment == before, "the dictionary that was passed has changed")
    expect(isinstance(got, dict), f"got {got!r}, expected a dictionary")
    expect(got.get("CUDA_LAUNCH_BLOCKING") == "1", "NVIDIA: CUDA_LAUNCH_BLOCKING is not 1")
    serialized = got.get("AMD_SERIALIZE_KERNEL") == "3" or got.get("HIP_LAUNCH_BLOCKING") == "1"
    expect(serialized, "AMD: neither AMD_SERIALIZE_KERNEL=3 nor HIP_LAUNCH_BLOCKING=1 is set")
    for name, value in before.items():
        expect(got.get(name) == value, f"{name} was {value!r} and is now {got.get(name)!r}")
