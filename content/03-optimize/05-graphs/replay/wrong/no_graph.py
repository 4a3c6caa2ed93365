# fails: case_replays
# message: The plain step is called. The graph is not used.
from collections.abc import Callable

import torch
from torch import Tensor

Capture = Callable[[Callable[[], Tensor]], tuple[Callable[[], None], Tensor]]


class GraphedStep:
    def __init__(self, model: Callable[[Tensor], Tensor], example: Tensor, capture: Capture) -> None:
        self.model = model
        self.x = example.clone()
        for _ in range(3):
            model(self.x)
        self.replay, self.y = capture(lambda: model(self.x))
        if not torch.allclose(self(example), model(example), rtol=1e-4, atol=1e-6):
            raise RuntimeError("the graph's result differs from that of the plain step")

    def __call__(self, x: Tensor) -> Tensor:
        return self.model(x)
