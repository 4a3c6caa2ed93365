"""Scripts that measure a model: latency, training, several GPUs, precision.

The scripts have the names of AMD's porting guides, and each runs as a module on a snippet:

* `benchmark_inference`: latency with percentiles and memory. `benchmark_training`: a training step and its parts.
* `benchmark_ddp`: scaling of training over processes, under `torchrun`.
* `verify_precision`: checks the results of an optimized version. Run it before the others.
* `tables`: the tables of `benchmark.md`. `python -m hipward_kernels.measure FILE` writes them.

For reliable comparisons use the harness, which interleaves variants, checks results during the timing and measures its
noise.
"""
