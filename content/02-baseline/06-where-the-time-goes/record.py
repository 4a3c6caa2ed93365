# test: run
"""Records a trace of the layer on the CPU, or on the GPU if there is one."""

import sys
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function

sys.path.insert(0, str(Path(__file__).parent))
from layer import Model, get_init_inputs, get_inputs

gpu = torch.cuda.is_available()
model = Model(*get_init_inputs()).to("cuda" if gpu else "cpu")
inputs = [tensor.to("cuda" if gpu else "cpu") for tensor in get_inputs()]


# anchor: record
def step() -> None:
    with record_function("forward"), torch.no_grad():
        model(*inputs)


for _ in range(3):  # warm-up: compilation and allocation do not belong into the profile
    step()
activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * gpu
with profile(activities=activities, record_shapes=True, profile_memory=True, with_flops=True) as profiler:
    for _ in range(5):
        step()
    if gpu:
        torch.cuda.synchronize()
profiler.export_chrome_trace("trace.json")
# end: record

averages = profiler.key_averages(group_by_input_shape=True)
print(averages.table(sort_by="self_cuda_time_total" if gpu else "self_cpu_time_total", row_limit=8))

if not gpu:
    products = [event for event in averages if event.key == "aten::addmm"]
    assert len(products) == 4, "four linear layers with four shapes"
    assert all(event.flops for event in products)
    assert any(event.key == "forward" for event in averages)
