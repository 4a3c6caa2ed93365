from collections.abc import Callable

import torch
from torch import Tensor

Capture = Callable[[Callable[[], Tensor]], tuple[Callable[[], None], Tensor]]


class GraphedStep:
    def __init__(self, model: Callable[[Tensor], Tensor], example: Tensor, capture: Capture) -> None:
        self.x = torch.empty_like(example).copy_(example)
        for _ in range(5):
            model(self.x)
        self.replay, self.y = capture(lambda: model(self.x))
        difference = (self(example) - model(example)).abs().max()
        if not difference <= 1e-5:
            raise RuntimeError("the graph's result differs from that of the plain step")

    def __call__(self, x: Tensor) -> Tensor:
        self.x.copy_(x)
        self.replay()
        return self.y.clone()
