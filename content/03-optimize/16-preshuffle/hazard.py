# test: run
"""Shows what happens to an attribute that marks a weight as shuffled."""

import copy

import torch
from torch import nn

# anchor: hazard
weight = torch.randn(32, 64, dtype=torch.bfloat16)
weight.is_shuffled = True
for name, made in {
    "clone()": weight.clone(),
    "to(float32)": weight.to(torch.float32),
    "detach()": weight.detach(),
    "deepcopy": copy.deepcopy(weight),
    "nn.Parameter": nn.Parameter(weight, requires_grad=False),
}.items():
    print(f"{name:14} {'still marked' if hasattr(made, 'is_shuffled') else 'mark lost'}")
# end: hazard
