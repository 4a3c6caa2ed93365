"""Builds HIP sources at first use, caches the machine code, and launches it, on AMD and on NVIDIA.

* `include/hipward.h`: differences between the two compilers.
* `toolchain`: hipRTC, hipcc or NVRTC, depending on the installed PyTorch. `libraries`: finds shared libraries.
* `store`: machine code on disk, by everything that it depends on.
* `driver`: loads compiled code and launches it, through the driver's C interface.
* `kernel`: the interface for the ops. `grid`: limits of a launch.
"""
