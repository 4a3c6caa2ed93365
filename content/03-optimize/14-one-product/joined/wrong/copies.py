# fails: case_views
# message: The parts are copied. `split` and `unflatten` return views.
import torch
from torch import Tensor, nn
from torch.nn import functional as F

NAMES = ("q_proj", "k_proj", "v_proj")


class JoinedQKV(nn.Module):
    def __init__(self, width: int, heads: int, kv_heads: int) -> None:
        super().__init__()
        self.features = width // heads
        self.sizes = [heads * self.features, kv_heads * self.features, kv_heads * self.features]
        self.weight = nn.Parameter(torch.empty(sum(self.sizes), width))
        self.bias = nn.Parameter(torch.zeros(sum(self.sizes)))

    @torch.no_grad()
    def load_separate(self, state: dict[str, Tensor]) -> None:
        self.weight.copy_(torch.cat([state[f"{name}.weight"] for name in NAMES]))
        for name, part in zip(NAMES, self.bias.split(self.sizes), strict=True):
            part.copy_(state.get(f"{name}.bias", torch.zeros_like(part)))

    def save_separate(self) -> dict[str, Tensor]:
        weights, biases = self.weight.split(self.sizes), self.bias.split(self.sizes)
        parts = zip(NAMES, weights, biases, strict=True)
        return {f"{name}.{kind}": value for name, w, b in parts for kind, value in (("weight", w), ("bias", b))}

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = F.linear(x, self.weight, self.bias).split(self.sizes, dim=-1)
        return tuple(part.unflatten(-1, (-1, self.features)).contiguous() for part in (q, k, v))
