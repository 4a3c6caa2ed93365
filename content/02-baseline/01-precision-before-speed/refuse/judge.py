"""Cases for the precision gate: wrong outputs to refuse, right ones to accept."""

import torch
from hipward_kernels.exercise import expect, tensor
from torch import nn


def rms_norm(x):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


def quarter_of_the_row(x):
    quarter = x[..., : x.shape[-1] // 4]
    return x * torch.rsqrt(quarter.pow(2).mean(-1, keepdim=True) + 1e-6)


def last_columns_forgotten(x):
    y = rms_norm(x)
    y[..., -16:] = 0
    return y


def half_of_it(x):
    return rms_norm(x) / 2


def check(answer, name, reference, eager, candidate, n, accept=False):
    before = [each.clone() for each in (reference, eager, candidate)]
    reason = answer.refuse(reference, eager, candidate, n)
    same = all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(before, (reference, eager, candidate)))
    expect(same, "`refuse` changed its arguments")
    if accept:
        expect(reason is None, f"{name} is refused: {reason}")
    else:
        expect(reason is not None, f"{name} is accepted")
        expect(isinstance(reason, str), f"the reason is {reason!r}, expected text")


def wrong(answer, random, kernel, scale):
    """Checks one wrong kernel, on rows of several lengths."""
    for columns in (257, 1023, 4096):
        x = tensor(random, random.choice([17, 33, 65]), columns)
        weight = scale * (1 + 0.1 * tensor(random, columns))
        exact = weight.double() * rms_norm(x.double())
        name = f"{kernel.__name__}, {columns} columns, outputs of about {scale:g},"
        check(answer, name, exact, weight * rms_norm(x), weight * kernel(x), columns)


def case_quarter(answer, random):
    """Refuses the kernel that reads a quarter of the row"""
    wrong(answer, random, quarter_of_the_row, 1.0)


def case_columns(answer, random):
    """Refuses the kernel that forgets the last columns"""
    wrong(answer, random, last_columns_forgotten, 0.1)


def case_scale(answer, random):
    """Refuses the kernel that is off by a factor, also where outputs are small"""
    wrong(answer, random, half_of_it, 1.0)
    wrong(answer, random, half_of_it, 1e-3)


def case_one_element(answer, random):
    """Refuses one wrong element among 100,000"""
    x = tensor(random, 100, 1000)
    candidate = rms_norm(x)
    candidate[random.randrange(100), random.randrange(1000)] += 0.001
    check(answer, "an output with one wrong element", rms_norm(x.double()), rms_norm(x), candidate, 1000)


def case_small_error_everywhere(answer, random):
    """Refuses a small error in every element: bfloat16 arithmetic in a float32 model"""
    x = tensor(random, 64, 1025)
    low = rms_norm(x.bfloat16()).float()
    check(answer, "bfloat16 arithmetic in a float32 model", rms_norm(x.double()), rms_norm(x), low, 1025)
    # 0.7 of the limit of the largest error, in each element: above the limit of the RMS error.
    exact = rms_norm(x.double())
    limit = 2 * (rms_norm(x) - exact).abs().max() + (2**-24 + 1025**0.5 / 2 * 2**-24) * exact.abs().max()
    shifted = exact.float() + 0.7 * limit.float() * tensor(random, 64, 1025).sign()
    check(answer, "a small error in every element", exact, rms_norm(x), shifted, 1025)


def case_not_finite(answer, random):
    """Refuses NaN and Inf"""
    x = tensor(random, 8, 513)
    for value in (float("nan"), float("inf")):
        candidate = rms_norm(x)
        candidate[random.randrange(8), random.randrange(513)] = value
        check(answer, f"an output with {value}", rms_norm(x.double()), rms_norm(x), candidate, 513)


def case_shape_and_dtype(answer, random):
    """Refuses another shape and another dtype"""
    x = tensor(random, 5, 64)
    exact, eager = rms_norm(x.double()), rms_norm(x)
    check(answer, "a result in float64", exact, eager, exact.clone(), 64)
    check(answer, "a result with another shape", exact, eager, eager[None], 64)


def case_fused(answer, random):
    """Accepts PyTorch's fused RMSNorm in float32"""
    x = tensor(random, 64, 1023)
    fused = nn.functional.rms_norm(x, (1023,), eps=1e-6)
    check(answer, "F.rms_norm", rms_norm(x.double()), rms_norm(x), fused, 1023, accept=True)


def case_better_than_eager(answer, random):
    """Accepts a bfloat16 result that is closer to the reference than eager"""
    x = tensor(random, 64, 4096).bfloat16()
    exact = rms_norm(x.double())
    check(answer, "the exact result, rounded once,", exact, rms_norm(x), exact.bfloat16(), 4096, accept=True)


def case_other_order(answer, random):
    """Accepts a sum in another order where eager is exact by chance"""
    parts = tensor(random, 16, 64, 64).square()
    exact = parts.double().sum((1, 2))[:, None]
    in_turn = torch.zeros(16, 1)
    for part in parts.sum(-1).split(1, dim=-1):
        in_turn += part
    check(answer, "a sum of 64 parts, one after the other,", exact, exact.float(), in_turn, 4096, accept=True)
