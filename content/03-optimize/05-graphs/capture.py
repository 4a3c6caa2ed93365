# test: analyze
"""Captures a call of a model as a CUDA or HIP graph. Needs a GPU."""

from collections.abc import Callable

import torch
from torch import Tensor


# anchor: capture
def capture(work: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
    """Records `work`. Returns a function that replays it, and the tensor that each replay fills."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # warm up, apart from the work of the current stream
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()  # a HIP graph on AMD GPUs
    with torch.cuda.graph(graph):
        result = work()
    return graph.replay, result
# end: capture
