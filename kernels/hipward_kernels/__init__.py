"""Fused PyTorch ops for AMD ROCm and NVIDIA CUDA, and the harness that measures them.

* `hipward_kernels.ops`: fused operators, each with an eager reference and faster backends, HIP and Triton.
* `hipward_kernels.attention`, `linear`, `quantization`: routers to vendors' kernels, and 8-bit layers.
* `hipward_kernels.projections`: several linear layers as one matrix product.
* `hipward_kernels.overlay`: puts the ops into transformers' models, and takes them out.
* `hipward_kernels.registry`, `tuning`, `jit`: which backend runs, with which parameters, and how HIP sources are built.
* `hipward_kernels.bench`, `tuner`, `perftest`, `amd_report`: what measures and checks the ops themselves.
* `hipward_kernels.modules`: the same as `torch.nn` modules.
* `hipward_kernels.rewrite`: puts those modules into a model that somebody else wrote.
* `hipward_kernels.harness`: the measuring process that the runner starts.

Importing this package imports nothing else: each part is imported by its own name.
"""

__version__ = "0.1.0"
