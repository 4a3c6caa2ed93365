# fails: case_counter
# message: A graph that computes something else is used. Compare it with the plain step.
from collections.abc import Callable

import torch
from torch import Tensor

Capture = Callable[[Callable[[], Tensor]], tuple[Callable[[], None], Tensor]]


class GraphedStep:
    def __init__(self, model: Callable[[Tensor], Tensor], example: Tensor, capture: Capture) -> None:
        self.x = example.clone()
        for _ in range(3):
            model(self.x)
        self.replay, self.y = capture(lambda: model(self.x))

    def __call__(self, x: Tensor) -> Tensor:
        self.x.copy_(x)
        self.replay()
        return self.y.clone()
