"""Gates are called with what PyTorch reports on nine GPUs of both vendors."""

from types import SimpleNamespace

import torch
from hipward_kernels.exercise import expect

FLAGS = ("", ":sramecc+:xnack-", ":sramecc-:xnack+", ":xnack-")

# name, capability, lanes, FP8 format; AMD's capability has the digits of the gfx number
NVIDIA = [
    ("NVIDIA A100-SXM4-80GB", (8, 0), None),
    ("NVIDIA L40S", (8, 9), torch.float8_e4m3fn),
    ("NVIDIA H200", (9, 0), torch.float8_e4m3fn),
    ("NVIDIA H100 80GB HBM3", (9, 0), torch.float8_e4m3fn),
    ("NVIDIA B200", (10, 0), torch.float8_e4m3fn),
]
AMD = [
    ("AMD Instinct MI250X", "gfx90a", (9, 0), 64, None),
    ("AMD Instinct MI300X", "gfx942", (9, 4), 64, torch.float8_e4m3fnuz),
    ("AMD Instinct MI355X", "gfx950", (9, 5), 64, torch.float8_e4m3fn),
    ("AMD Radeon RX 7900 XTX", "gfx1100", (11, 0), 32, None),
]


def gpus(random):
    """Pairs of a GPU and its FP8 format, in random order, each AMD name with random feature flags."""
    found = []
    for name, (major, minor), fp8 in NVIDIA:
        gpu = {"name": name, "major": major, "minor": minor, "warp_size": 32}
        found.append((SimpleNamespace(**gpu, gcnArchName=name, hip=None), fp8))
    for name, arch, (major, minor), lanes, fp8 in AMD:
        gpu = {"name": name, "major": major, "minor": minor, "warp_size": lanes}
        # At least one name has flags in every run: on a real MI300X there always are some.
        flags = random.choice(FLAGS[1:] if arch in ("gfx942", "gfx950") else FLAGS)
        found.append((SimpleNamespace(**gpu, gcnArchName=arch + flags, hip="7.2.0"), fp8))
    random.shuffle(found)
    return found


def case_hopper(answer, random):
    """Kernels for Hopper run on NVIDIA GPUs of capability 9.0 only"""
    for gpu, _ in gpus(random):
        expected = gpu.hip is None and (gpu.major, gpu.minor) == (9, 0)
        got = answer.runs_hopper_kernels(gpu)
        message = f"{gpu.name}, capability ({gpu.major}, {gpu.minor}): got {got}, expected {expected}"
        expect(bool(got) == expected, message)


def case_fp8(answer, random):
    """Each GPU gets the FP8 format of its matrix units"""
    for gpu, expected in gpus(random):
        got = answer.fp8_dtype(gpu)
        arch = gpu.gcnArchName if gpu.hip else f"sm_{gpu.major}{gpu.minor}"
        expect(got is expected, f"{gpu.name} ({arch}): got {got}, expected {expected}")


def case_memory(answer, random):
    """Only out-of-memory errors are recognized, on both vendors"""
    size = random.randint(1, 190)
    yes = [f"{name} out of memory. Tried to allocate {size}.00 GiB" for name in ("CUDA", "HIP")]
    no = [f"{name} error: an illegal memory access was encountered" for name in ("CUDA", "HIP")]
    for text in yes:
        got = answer.is_out_of_memory(torch.OutOfMemoryError(text))
        expect(bool(got), f"OutOfMemoryError({text!r}) is not recognized")
    for text in no:
        got = answer.is_out_of_memory(RuntimeError(text))
        expect(not got, f"RuntimeError({text!r}) is taken for an out-of-memory error")


def case_lanes(answer, random):
    """A block has as many threads as its wavefronts have lanes together"""
    warps = random.randint(1, 16)
    for gpu, _ in gpus(random):
        expected = warps * gpu.warp_size
        got = answer.threads(gpu, warps)
        expect(got == expected, f"{gpu.name}, {warps} wavefronts: got {got}, expected {expected}")
