# test: run
"""All queries about the GPU and its vendor, in one module.

Vendor checks belong here and nowhere else. Model code uses "cuda" without a check.
"""

from __future__ import annotations

import enum

import torch


# anchor: vendor
class Vendor(enum.Enum):
    AMD = "amd"
    NVIDIA = "nvidia"
    NONE = "none"


def build_vendor() -> Vendor:
    """The vendor this PyTorch was built for, whether or not a GPU is present."""
    if torch.version.hip is not None:
        return Vendor.AMD
    if torch.version.cuda is not None:
        return Vendor.NVIDIA
    return Vendor.NONE


def device() -> torch.device:
    """The device to run on; the name "cuda" is right for AMD GPUs too."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
# end: vendor


# anchor: arch
def arch(index: int = 0) -> str:
    """`gfx942` on an MI300X, `sm_90` on an H100, `cpu` without a GPU."""
    if not torch.cuda.is_available():
        return "cpu"
    properties = torch.cuda.get_device_properties(index)
    if torch.version.hip is not None:
        return bare_arch(properties.gcnArchName)
    return f"sm_{properties.major}{properties.minor}"


def bare_arch(name: str) -> str:
    """Remove the feature flags: `gfx942:sramecc+:xnack-` becomes `gfx942`."""
    return name.split(":", 1)[0]
# end: arch


if __name__ == "__main__":
    assert bare_arch("gfx942:sramecc+:xnack-") == "gfx942"
    print(f"built for {build_vendor().value}, runs on {device()} ({arch()})")
