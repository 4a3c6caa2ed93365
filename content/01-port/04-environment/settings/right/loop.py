"""A training program. Its file is started with different environments."""

import os

NAMES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
SETTING = "expandable_segments:True"

# hole: before
if all(os.environ.get(name) is None for name in NAMES):
    os.environ.setdefault(NAMES[0], SETTING)
# end: before

import torch


def prepare() -> None:
    """Called once, before the first batch."""
    torch.manual_seed(0)
    # hole: after
    # Nothing to set here.
    # end: after


def debug_environment(environment: dict[str, str]) -> dict[str, str]:
    """A copy for a child process that waits for every kernel, on both vendors."""
    # hole: debug
    child = dict(environment)
    child["CUDA_LAUNCH_BLOCKING"] = "1"
    child["HIP_LAUNCH_BLOCKING"] = "1"
    return child
    # end: debug
