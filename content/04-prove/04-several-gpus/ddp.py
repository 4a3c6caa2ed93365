# test: run
"""Trains a small model on all processes: `torchrun --nproc_per_node=2 ddp.py`. Alone it is one process."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

# Defaults for a start without torchrun, which sets these variables.
for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29517"}.items():
    os.environ.setdefault(name, value)

# anchor: setup
gpu = torch.cuda.is_available()
local = int(os.environ.get("LOCAL_RANK", "0"))
device = torch.device("cuda", local) if gpu else torch.device("cpu")
if gpu:
    torch.cuda.set_device(device)
dist.init_process_group("nccl" if gpu else "gloo")  # "nccl" is RCCL in a ROCm build

torch.manual_seed(0)
model = torch.nn.Linear(64, 64).to(device)
replicas = DistributedDataParallel(model, device_ids=[local] if gpu else None)
torch.manual_seed(dist.get_rank())  # each process trains on its own batch
batch = torch.randn(16, 64, device=device)

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    replicas(batch).square().mean().backward()  # averages the gradients of all processes
    optimizer.step()
# end: setup

# anchor: agree
low = torch.stack([p.detach().double().sum() for p in model.parameters()])
high = low.clone()
dist.all_reduce(low, dist.ReduceOp.MIN)
dist.all_reduce(high, dist.ReduceOp.MAX)
assert torch.equal(low, high), "the processes have different parameters"
# end: agree
print(f"{dist.get_world_size()} processes agree")
dist.destroy_process_group()
