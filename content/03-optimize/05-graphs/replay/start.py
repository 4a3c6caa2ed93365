"""A step that replays a captured graph."""

from collections.abc import Callable

import torch
from torch import Tensor

Capture = Callable[[Callable[[], Tensor]], tuple[Callable[[], None], Tensor]]


class GraphedStep:
    def __init__(self, model: Callable[[Tensor], Tensor], example: Tensor, capture: Capture) -> None:
        """`capture(work)` records one call of `work`. It returns `replay`, and the tensor that each replay fills."""
        # hole: buffer
        self.x = example
        # end: buffer
        # hole: warm
        ...
        # end: warm
        self.replay, self.y = capture(lambda: model(self.x))
        # hole: check
        ...
        # end: check

    def __call__(self, x: Tensor) -> Tensor:
        # hole: call
        self.x = x
        self.replay()
        return self.y
        # end: call
