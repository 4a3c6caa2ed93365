# fails: case_list
# message: Tensors inside lists are not counted.
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class CountTraffic(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.total = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if not func.is_view:
            self.total += sum(t.nbytes for t in (*args, out) if isinstance(t, Tensor))
        return out


def gain(function, *inputs):
    with CountTraffic() as counted:
        out = function(*inputs)
    return counted.total / (sum(each.nbytes for each in inputs) + out.nbytes)
