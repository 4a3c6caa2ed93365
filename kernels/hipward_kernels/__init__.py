"""Fused PyTorch ops for AMD ROCm and NVIDIA CUDA, and the harness that measures them.

Models and layers:

* `ops`: fused ops, each with an eager reference, HIP and Triton tiers, and a `torch.nn` module (`ops.modules`).
* `attention`, `linear`, `projections`, `quantization`: routers to vendor libraries, joined projections, 8-bit layers.
* `rewrite`: replaces parts of an existing model by these. `overlay`: the same for models of transformers.
* `models`: a language model in four versions, from eager to fused.

How an op runs:

* `dispatch`: which tier runs, with which launch parameters.
* `jit`: builds, caches and launches HIP sources. `compile`: AMD machine code of a kernel, on any host.
* `gpu`: facts about GPUs, and the devices of this host.

Measurement:

* `harness`: the process that the runner starts to check and time a snippet.
* `bench`: benchmarks of this package. `measure`, `workshop`: scripts that measure a model.
* `exercise`: runs the judges of the lessons' exercises.
* `profile`: where time goes. `environment`: audit of a host's settings. `numerics`: comparison of results.

Importing this package imports none of its parts.
"""

__version__ = "0.1.0"
