"""Profiling: PyTorch's profiler, graph breaks of `torch.compile`, and ROCm's three profilers.

* `breakdown`: a Chrome trace as times of GEMM, attention, elementwise, other, and the gaps between. `classes`:
  classifies kernels by name. `pytorch`: records such a trace. `graph_breaks`: graph breaks of `torch.compile`.
* `rocprofv3`, `rocprof_sys`, `rocprof_compute`: the command line of each tool, and readers of its files. `rocpd`: the
  SQLite file of the first two. `tool`: runs a tool, or reports that it is missing.

`python -m hipward_kernels.profile FILE` profiles a snippet, and `python -m hipward_kernels.profile.rocm` runs one of
ROCm's tools on a program. Profiling slows down a program: these figures are not benchmarks.
"""
