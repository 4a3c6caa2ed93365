# test: analyze
import torch
from torch import nn

if torch.version.cuda is None:
    raise SystemExit("no CUDA, nothing to run on")


def largest_batch(model: nn.Module, width: int) -> int:
    batch = 64
    while batch > 1:
        try:
            model(torch.randn(batch, width, device="cuda"))
            torch.cuda.synchronize()
            return batch
        except RuntimeError as error:
            if "CUDA out of memory" not in str(error):
                raise
            batch //= 2
    return batch


print(largest_batch(nn.Linear(1024, 1024).cuda(), 1024))
