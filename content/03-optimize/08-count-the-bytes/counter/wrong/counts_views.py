# fails: case_view
# message: A view is counted, although it moves nothing.
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class CountTraffic(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.total = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        self.total += sum(t.nbytes for t in tree_leaves((args, kwargs, out)) if isinstance(t, Tensor))
        return out


def gain(function, *inputs):
    with CountTraffic() as counted:
        out = function(*inputs)
    return counted.total / (sum(each.nbytes for each in inputs) + out.nbytes)
