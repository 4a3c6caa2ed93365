# test: run
"""Counts the bytes that each operator of a model reads and writes, with a dispatch mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


# anchor: listen
class CountTraffic(TorchDispatchMode):
    """Records each operator that runs. Each is a kernel that reads its inputs and writes its outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels: list[tuple[str, int]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        if not func.is_view:
            moved = sum(tensor.nbytes for tensor in tensors(args, kwargs, out))
            self.kernels.append((func.overloadpacket.__name__, moved))
        return out

    @property
    def total(self) -> int:
        return sum(moved for _, moved in self.kernels)


def tensors(*values: Any) -> Iterator[torch.Tensor]:
    return (leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor))
# end: listen


# anchor: spellings
def norm_in_place_dtype(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Straight from the formula."""
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight


def norm_as_llama_has_it(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """With the mean square in float32, as Hugging Face's LlamaRMSNorm computes it."""
    wide = x.float()
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    return weight * wide.to(x.dtype)
# end: spellings


def main() -> None:
    rows, columns = 512, 4096
    x = torch.randn(rows, columns, dtype=torch.bfloat16)
    weight = torch.ones(columns, dtype=torch.bfloat16)
    least = 2 * x.nbytes + weight.nbytes  # read x and the weight once, write y once
    ratios = []
    for norm in (norm_in_place_dtype, norm_as_llama_has_it):
        with CountTraffic() as counted:
            norm(x, weight)
        ratios.append(counted.total / least)
        print(f"{norm.__name__}: {len(counted.kernels)} kernels, {ratios[-1]:.1f} × the minimum")
        for name, moved in counted.kernels:
            print(f"    {name:12} {moved / x.nbytes:5.1f} × the size of x")
    assert [round(ratio, 1) for ratio in ratios] == [3.5, 9.0]


if __name__ == "__main__":
    main()
