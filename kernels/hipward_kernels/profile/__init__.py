"""Where the time goes: PyTorch's profiler, graph breaks of `torch.compile`, and ROCm's three profilers.

* `breakdown`: a Chrome trace as times of GEMM, attention, elementwise, other, and the gaps between. `classes`: which
  kernel is which. `pytorch`: makes such a trace of a model. `graph_breaks`: where `torch.compile` gave up.
* `rocprofv3`, `rocprof_sys`, `rocprof_compute`: the command line of each tool, and what it wrote. `rocpd`: the SQLite
  file that the first two write. `tool`: runs one, or says in a sentence that it is not there.

`python -m hipward_kernels.profile FILE` profiles a snippet. Profiling slows a program down: no figure from here is a
benchmark.
"""
