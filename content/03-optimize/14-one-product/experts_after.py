# test: run
import torch
from torch import nn
from torch.nn.functional import grouped_mm


class Experts(nn.Module):
    """Top-1 routing: `chosen` has the expert of each row of `x`."""

    def __init__(self, count: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(count, width, width) / width**0.5)

    def forward(self, x: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        order = chosen.argsort()
        ends = torch.bincount(chosen, minlength=len(self.weight)).cumsum(0, dtype=torch.int32)
        out = grouped_mm(x[order], self.weight.transpose(1, 2), offs=ends)
        return torch.empty_like(out).index_copy_(0, order, out)


if __name__ == "__main__":
    layer = Experts(4, 64)
    x, chosen = torch.randn(100, 64), torch.tensor([0, 2, 3, 2]).repeat(25)  # expert 1 has no rows
    expected = torch.stack([layer.weight[expert] @ row for row, expert in zip(x, chosen.tolist())])
    torch.testing.assert_close(layer(x, chosen), expected)
