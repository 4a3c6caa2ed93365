"""Small functions whose traffic is known."""

import torch
import torch._dynamo  # the first dispatch mode imports it: once here, instead of in each case
from hipward_kernels.exercise import expect, tensor
from torch.nn import functional as F


def count(answer, function, expected):
    with answer.CountTraffic() as counted:
        function()
    expect(counted.total == expected, f"{counted.total} bytes, expected {expected}")


def sizes(random):
    return random.randint(3, 9), random.choice([1, 7, 63, 65])


def case_add(answer, random):
    """An addition reads two tensors and writes one"""
    rows, columns = sizes(random)
    for dtype, bytes_each in ((torch.float32, 4), (torch.bfloat16, 2), (torch.float64, 8)):
        x, y = (tensor(random, rows, columns, dtype=dtype) for _ in range(2))
        count(answer, lambda x=x, y=y: x + y, 3 * rows * columns * bytes_each)


def case_in_place(answer, random):
    """An operation in place still reads and writes"""
    rows, columns = sizes(random)
    x, y = tensor(random, rows, columns), tensor(random, rows, columns)
    count(answer, lambda: x.add_(y), 3 * rows * columns * 4)


def case_view(answer, random):
    """A view moves nothing"""
    rows, columns = sizes(random)
    x = tensor(random, rows, columns)
    count(answer, lambda: x.t().unsqueeze(0).transpose(0, 1), 0)
    count(answer, lambda: x.t() * 2.0, 2 * rows * columns * 4)


def case_list(answer, random):
    """Tensors inside a list are read, too"""
    rows, columns = sizes(random)
    parts = [tensor(random, rows, columns) for _ in range(3)]
    count(answer, lambda: torch.cat(parts), 6 * rows * columns * 4)


def case_norm(answer, random):
    """The norm of this page moves 9 times the minimum in eager mode"""
    x = tensor(random, 64, 2048, dtype=torch.bfloat16)
    weight = tensor(random, 2048, dtype=torch.bfloat16)

    def norm(x, weight):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return weight * wide.to(x.dtype)

    got = answer.gain(norm, x, weight)
    # One value a row and the weight are small beside the rows: about 2 % of the traffic.
    expect(abs(got - 9.0) < 0.2, f"gain is {got:.2f}, expected about 9.0")


def case_gated(answer, random):
    """SiLU and multiply: 5 reads and writes in eager mode, 3 are needed"""
    gate, up = tensor(random, 31, 65), tensor(random, 31, 65)
    got = answer.gain(lambda gate, up: F.silu(gate) * up, gate, up)
    expect(abs(got - 5 / 3) < 1e-9, f"gain is {got:.4f}, expected {5 / 3:.4f}")
