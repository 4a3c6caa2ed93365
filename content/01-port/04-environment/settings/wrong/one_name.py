# fails: case_older_name
# message: ROCm builds read the older names too, and read PYTORCH_CUDA_ALLOC_CONF first. Check all three.
"""A training program. Its file is started with different environments."""

import os

NAMES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
SETTING = "expandable_segments:True"

# hole: before
os.environ.setdefault("PYTORCH_ALLOC_CONF", SETTING)
# end: before

import torch


def prepare() -> None:
    """Called once, before the first batch."""
    torch.manual_seed(0)
    # hole: after
    # Nothing to set here: the allocator may have started, and would not read it.
    # end: after


def debug_environment(environment: dict[str, str]) -> dict[str, str]:
    """A copy for a child process that waits for every kernel, on both vendors."""
    # hole: debug
    # Each runtime reads its own name. NCCL_ variables stay: RCCL reads them under these names.
    return environment | {"CUDA_LAUNCH_BLOCKING": "1", "AMD_SERIALIZE_KERNEL": "3"}
    # end: debug
