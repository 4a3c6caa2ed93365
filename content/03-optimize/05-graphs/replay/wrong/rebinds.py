# fails: case_values, case_two_results, case_example
# message: `self.x = x` gives the attribute another tensor. The graph still reads the old one: copy into it.
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
        if not torch.allclose(self(example), model(example), rtol=1e-4, atol=1e-6):
            raise RuntimeError("the graph's result differs from that of the plain step")

    def __call__(self, x: Tensor) -> Tensor:
        self.x = x
        self.replay()
        return self.y.clone()
