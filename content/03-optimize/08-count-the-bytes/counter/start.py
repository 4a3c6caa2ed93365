"""Counts the bytes that the operators of a function move, and what fusion could save."""

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class CountTraffic(TorchDispatchMode):
    """PyTorch calls `__torch_dispatch__` for each operator that runs."""

    def __init__(self):
        super().__init__()
        self.total = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        # `func.is_view` is true for operators that only make a new view of the same memory.
        # hole: operator
        self.total += 1
        # end: operator
        return out


def gain(function, *inputs: Tensor) -> float:
    """The bytes that `function` moves, over the least that it has to move."""
    with CountTraffic() as counted:
        out = function(*inputs)
    # hole: least
    least = out.nbytes
    # end: least
    return counted.total / least
