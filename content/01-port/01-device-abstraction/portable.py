# test: analyze
"""The lines that the lesson's table calls portable. A test checks that no rule has a finding."""

import torch
import torch.distributed as dist
from torch.utils.cpp_extension import CUDAExtension

device = torch.device("cuda:1")
x = torch.zeros(8, device="cuda")
model = torch.nn.Linear(8, 8).cuda()

stream = torch.cuda.Stream()
event = torch.cuda.Event(enable_timing=True)
torch.cuda.synchronize()

with torch.amp.autocast("cuda"), torch.cuda.nvtx.range("step"):
    y = model(x)
graph = torch.cuda.CUDAGraph()
print(torch.cuda.memory_allocated())

dist.init_process_group(backend="nccl")
torch.backends.cudnn.benchmark = True
extension = CUDAExtension("ops", ["ops.cu"], extra_compile_args={"nvcc": ["-O3"]})
