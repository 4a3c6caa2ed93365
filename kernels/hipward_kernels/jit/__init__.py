"""Builds HIP sources when they are first used, keeps what was built, and launches it: on AMD and on NVIDIA.

* `include/hipward.h`: what differs between the two compilers.
* `toolchain`: hipRTC, hipcc or NVRTC, whichever this process' PyTorch is for.
* `cache`: compiled code on disk, keyed by everything that it depends on.
* `driver`: loads compiled code and launches it, through the driver's C interface.
* `kernel`: the three together, as the ops use them.
"""
