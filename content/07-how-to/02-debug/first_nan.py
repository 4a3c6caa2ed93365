# test: run
"""Finds the first module with a non-finite output, and prints what the allocator holds."""

from functools import partial

import torch
from torch import nn


# anchor: hook
def stop_at_nan(name, module, inputs, output):
    for tensor in output if isinstance(output, (tuple, list)) else (output,):
        if isinstance(tensor, torch.Tensor) and not tensor.isfinite().all():
            raise FloatingPointError(f"{name} ({type(module).__name__}) returned NaN or infinity")


def watch(model):
    for name, module in model.named_modules():
        module.register_forward_hook(partial(stop_at_nan, name or "model"))


# end: hook


# anchor: memory
def memory():
    if not torch.cuda.is_available():
        return "no GPU"
    mib = 2**20
    return (
        f"allocated {torch.cuda.memory_allocated() / mib:.0f} MiB, "
        f"reserved {torch.cuda.memory_reserved() / mib:.0f} MiB, "
        f"peak {torch.cuda.max_memory_allocated() / mib:.0f} MiB"
    )


# end: memory


class Overflow(nn.Module):
    def forward(self, x):
        large = torch.exp(2 * x)
        return (large - 1) / (large + 1)


# With other weights, the inputs of the second layer can all be negative, and nothing overflows.
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), Overflow(), nn.Linear(4, 2))
watch(model)
try:
    model(torch.full((1, 4), 1000.0))
except FloatingPointError as error:
    assert str(error).startswith("1 (Overflow)"), error
else:
    raise AssertionError("no module was reported")
print(memory())
