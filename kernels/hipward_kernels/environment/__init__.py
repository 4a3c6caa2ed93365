"""What a host is like before anything is measured on it: its GPU, its settings, its sensors.

* `gpu_utils`: which vendor's GPU this is, and the settings that must be made before PyTorch is imported.
* `sensors`: clocks, temperature, power, load and other processes, from NVML, sysfs or AMD SMI.
* `allocator`: whether the allocator's variable is well formed; with one that is not, importing PyTorch aborts.
* `gpus`: what data sheets promise. `settings`: the ladder's first level, a variable or a file each.
* `audit`: compares the host with those settings. `validate`: does the GPU compute at all?

Nothing here changes a host: `python -m hipward_kernels.environment.audit` prints what to change and how.
"""
