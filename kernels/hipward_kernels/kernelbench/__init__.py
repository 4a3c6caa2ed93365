"""Runs KernelBench problems through the harness and records one row per problem.

`python -m hipward_kernels.kernelbench --folder DIR` takes the folder with `level1`, `level2` and `level3` of
https://github.com/ScalingIntelligence/KernelBench, whose files are not part of this repository.
"""
