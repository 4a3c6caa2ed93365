from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class CountTraffic(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.kernels = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func.is_view:
            return out
        for part in (args, kwargs or {}, out):
            for each in tree_leaves(part):
                if isinstance(each, Tensor):
                    self.kernels.append(each.numel() * each.element_size())
        return out

    @property
    def total(self):
        return sum(self.kernels)


def gain(function, *inputs):
    with CountTraffic() as counted:
        out = function(*inputs)
    return counted.total / (sum(each.nbytes for each in inputs) + out.nbytes)
