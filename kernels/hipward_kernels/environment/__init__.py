"""The state of a host before a measurement: GPU vendor, settings, sensors.

* `gpu_utils`: the vendor of the GPU, and settings that must be made before PyTorch is imported.
* `sensors`: clocks, temperature, power, load and other processes, from NVML, sysfs or AMD SMI.
* `allocator`: syntax check of the allocator's variable; with a malformed one, importing PyTorch aborts.
* `settings`: recommended environment variables and kernel settings. `audit`: compares the host with them.
* `validate`: checks that the GPU computes correctly.

Nothing here changes a host: `python -m hipward_kernels.environment.audit` prints recommended changes.
"""
