# fails: case_debug
# message: The caller's dictionary was changed. Return a copy.
"""A training program. Its file is started with different environments."""

import os

NAMES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
SETTING = "expandable_segments:True"

# hole: before
# PyTorch may read the variable from its import on. An older name that is set counts as a setting.
if not any(name in os.environ for name in NAMES):
    os.environ["PYTORCH_ALLOC_CONF"] = SETTING
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
    environment.update(CUDA_LAUNCH_BLOCKING="1", AMD_SERIALIZE_KERNEL="3")
    return environment
    # end: debug
