"""A step that replays a captured graph."""

from collections.abc import Callable

import torch
from torch import Tensor

Capture = Callable[[Callable[[], Tensor]], tuple[Callable[[], None], Tensor]]


class GraphedStep:
    def __init__(self, model: Callable[[Tensor], Tensor], example: Tensor, capture: Capture) -> None:
        """`capture(work)` records one call of `work`. It returns `replay`, and the tensor that each replay fills."""
        # hole: buffer
        # The graph reads this address at every replay. The caller's tensor may change or be freed.
        self.x = example.clone()
        # end: buffer
        # hole: warm
        # Compilers run, libraries choose kernels and allocate workspaces: before the capture.
        for _ in range(3):
            model(self.x)
        # end: warm
        self.replay, self.y = capture(lambda: model(self.x))
        # hole: check
        # A graph repeats what was recorded. If that is another computation, it raises no error.
        if not torch.allclose(self(example), model(example), rtol=1e-4, atol=1e-6):
            raise RuntimeError("the graph's result differs from that of the plain step")
        # end: check

    def __call__(self, x: Tensor) -> Tensor:
        # hole: call
        # Into the recorded memory. The next replay overwrites `y`, so the caller gets a copy.
        self.x.copy_(x)
        self.replay()
        return self.y.clone()
        # end: call
