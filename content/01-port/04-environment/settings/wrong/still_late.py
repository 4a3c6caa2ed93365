# fails: case_read
# message: The value is set after the import of PyTorch, which may have read the variable.
"""A training program. Its file is started with different environments."""

import os

NAMES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
SETTING = "expandable_segments:True"

# hole: before
# Nothing yet: PyTorch is imported below without a setting.
# end: before

import torch


def prepare() -> None:
    """Called once, before the first batch."""
    torch.manual_seed(0)
    # hole: after
    if not any(name in os.environ for name in NAMES):
        os.environ["PYTORCH_ALLOC_CONF"] = SETTING
    # end: after


def debug_environment(environment: dict[str, str]) -> dict[str, str]:
    """A copy for a child process that waits for every kernel, on both vendors."""
    # hole: debug
    # Each runtime reads its own name. NCCL_ variables stay: RCCL reads them under these names.
    return environment | {"CUDA_LAUNCH_BLOCKING": "1", "AMD_SERIALIZE_KERNEL": "3"}
    # end: debug
