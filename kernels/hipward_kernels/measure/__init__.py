"""Measures a model by hand, as a porting project does: latency, training, several GPUs, precision; and writes it down.

The scripts have the names that AMD's porting guides use, and each is run as a module on a snippet:

* `benchmark_inference`: latency with percentiles and memory. `benchmark_training`: a step, split into its parts.
* `benchmark_ddp`: how training scales over processes, under `torchrun`.
* `verify_precision`: is an optimized version right? Run it before any of the others.
* `tables`: the tables of `benchmark.md`. `python -m hipward_kernels.measure FILE` writes one.

For a result that others should believe, use the harness: it interleaves, checks while it times, and knows its noise.
"""
