# test: run
"""Exercise: a fused kernel makes the backward several times as fast. Should it be merged?

Run this file: on the GPU if there is one, else in Triton's interpreter, where the times are
meaningless. It trains one small model twice from the same weights: with RMSNorm in plain PyTorch,
and with a Triton kernel whose output is correct to six digits. Read the whole table before you
answer: which columns should a faster norm change, and which should it not change?
"""

from __future__ import annotations

import os
from time import perf_counter

import torch

ON_GPU = torch.cuda.is_available()
if not ON_GPU:
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

import triton
import triton.language as tl
from torch import Tensor, nn
from torch.nn import functional as F

DEVICE = torch.device("cuda" if ON_GPU else "cpu")
VOCABULARY, WIDTH, LAYERS, BATCH, STEPS = 64, 64, 3, 64, 60
EPS = 1e-6
ROWS = 32  # per program


# anchor: kernel
@triton.jit
def rmsnorm_kernel(
    x_ptr, weight_ptr, y_ptr, rows, columns, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    mask = (row < rows) & (column < columns)
    x = tl.load(x_ptr + row * columns + column, mask=mask, other=0.0)
    weight = tl.load(weight_ptr + column, mask=column < columns, other=0.0)
    r = tl.rsqrt(tl.sum(x * x, axis=1, keep_dims=True) / columns + eps)
    tl.store(y_ptr + row * columns + column, x * r * weight, mask=mask)


class TritonRMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        y = torch.empty_like(x)
        rows, columns = x.shape
        block = triton.next_power_of_2(columns)
        grid = (triton.cdiv(rows, ROWS),)
        rmsnorm_kernel[grid](x, self.weight, y, rows, columns, EPS, ROWS=ROWS, BLOCK=block)
        return y
# end: kernel


class PlainRMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS)


# anchor: model
class Model(nn.Module):
    """Residual layers, a final norm, and a head that shares the embedding's weight."""

    def __init__(self, norm: type[nn.Module]) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.norms = nn.ModuleList(norm(WIDTH) for _ in range(LAYERS))
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.SiLU(), nn.Linear(4 * WIDTH, WIDTH))
            for _ in range(LAYERS)
        )
        self.last_norm = norm(WIDTH)
        nn.init.normal_(self.embed.weight, std=0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + layer(norm(x))
        return F.linear(self.last_norm(x), self.embed.weight)
# end: model


def batch(step: int) -> tuple[Tensor, Tensor]:
    """Tokens and their successors in a fixed permutation, which a model can learn completely."""
    follower = torch.randperm(VOCABULARY, generator=torch.Generator().manual_seed(0))
    tokens = torch.randint(VOCABULARY, (BATCH,), generator=torch.Generator().manual_seed(step))
    return tokens.to(DEVICE), follower[tokens].to(DEVICE)


def now() -> float:
    if ON_GPU:
        torch.cuda.synchronize()
    return perf_counter()


# anchor: train
def train(norm: type[nn.Module]) -> str:
    torch.manual_seed(0)
    model = Model(norm).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    parts = [0.0, 0.0, 0.0]
    losses = []
    for step in range(STEPS):
        tokens, labels = batch(step)
        start = now()
        loss = F.cross_entropy(model(tokens), labels)
        forward = now()
        loss.backward()
        backward = now()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if step:  # the first step compiles the kernel
            taken = (forward - start, backward - forward, now() - backward)
            parts = [total + part for total, part in zip(parts, taken, strict=True)]
    moments = [m for state in optimizer.state.values() for m in state.values() if m.dim()]
    times = "".join(f"{1e3 * part / (STEPS - 1):10.2f}" for part in parts)
    size = sum(m.nbytes for m in moments) / 1024
    return f"{norm.__name__:<14}{times}{size:13.0f}{losses[0]:12.3f}{losses[-1]:11.3f}"
# end: train


HEADER = f"{'norm':<14}{'forward':>10}{'backward':>10}{'update':>10}{'moments KiB':>13}"
HEADER += f"{'first loss':>12}{'last loss':>11}   (times in ms)"

if __name__ == "__main__":
    print(HEADER)
    for kind in (PlainRMSNorm, TritonRMSNorm):
        print(train(kind))
