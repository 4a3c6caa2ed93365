"""Benchmarks of this package's own ops and routes.

* `python -m hipward_kernels.bench`: the ops (`ops`, with the cases of `op_cases`).
* `python -m hipward_kernels.bench.routed`: attention, projections and linear layers (`routed`, `routed_cases`).
* `python -m hipward_kernels.bench.tuner`: searches launch parameters for `dispatch/tuned.csv`.
* `python -m hipward_kernels.bench.amd_report`: AMD machine code of each kernel.
* `core`: timing, statistics and result fields that the benchmarks share. `comparison`: ratio of two series.
* `perftest`: timing and checking of a single call. `results`: the CSV files.
"""
