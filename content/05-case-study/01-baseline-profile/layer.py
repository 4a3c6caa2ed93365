# test: figure layer.svg
"""Draws the operators of one layer of version 1, forward, as PyTorch dispatches them on the CPU."""

import torch
from hipward_kernels.models.config import SIZES, VERSIONS
from hipward_kernels.models.llama import TinyLlama
from torch.utils._python_dispatch import TorchDispatchMode

GROUPS = [
    ("input norm", 7), ("projections of q, k, v", 3), ("rotary embeddings of q and k", 14),
    ("attention and its layout", 11), ("output projection", 1), ("norm", 7), ("feed-forward", 5),
]  # fmt: skip
PRODUCTS = ("aten::mm", "aten::bmm")
LEFT, CELL, ROW = 250, 29, 36


class Names(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        if not operator.is_view and not any(word in operator.name() for word in ("empty", "_unsafe_view")):
            self.names.append(operator.name())
        return operator(*args, **(kwargs or {}))


config = SIZES["tiny"].config
model = TinyLlama(config, VERSIONS["v1"])
x = torch.randn(2, 32, config.hidden_size)
with Names() as seen:
    model.layers[1](x, x, model.cos[:32], model.sin[:32])
assert len(seen.names) == sum(count for _, count in GROUPS) == 48
assert sum(name in PRODUCTS for name in seen.names) == 9

print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {ROW * len(GROUPS) + 40}">')
names = iter(seen.names)
for row, (label, count) in enumerate(GROUPS):
    y = 6 + row * ROW
    print(f'<text x="{LEFT - 12}" y="{y + 19}" class="end small">{label}</text>')
    for column in range(count):
        x = LEFT + column * CELL
        if next(names) in PRODUCTS:
            print(f'<rect x="{x}" y="{y}" width="24" height="26" class="a"/>')
            print(f'<text x="{x + 12}" y="{y + 18}" class="mid small on">P</text>')
        else:
            print(f'<rect x="{x}" y="{y}" width="24" height="26" class="line thin"/>')
    print(f'<text x="{LEFT + count * CELL + 8}" y="{y + 19}" class="small quiet">{count}</text>')
y = 6 + ROW * len(GROUPS) + 18
print(f'<text x="{LEFT}" y="{y}" class="small">P: matrix product, 9 of 48</text>')
print("</svg>")
