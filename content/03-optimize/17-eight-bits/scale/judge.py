"""Values times scales, compared with the matrix, in both formats."""

import torch
from hipward_kernels.exercise import expect, expect_close, tensor

FN, FNUZ = torch.float8_e4m3fn, torch.float8_e4m3fnuz


def dequantized(values, scales, rows):
    expect(tuple(scales.shape) == (rows, 1), f"scales have shape {tuple(scales.shape)}, expected {(rows, 1)}")
    return values.double() * scales.double()


def check(answer, x, dtype):
    values, scales = answer.quantize(x.clone(), dtype)
    expect(values.dtype == dtype, f"values are {values.dtype}, expected {dtype}")
    # 3 bits of mantissa: at most 1/16 of a value, and for subnormal values half of the smallest one, 2**-11 of the
    # scale or less. The largest of a row is 240 or 448 scales.
    largest = x.double().abs().amax(-1, keepdim=True)
    error = (dequantized(values, scales, x.shape[0]) - x.double()).abs() - x.double().abs() / 16
    expect(not error.isnan().any(), "the result contains NaN")
    worst = (error / largest.clamp(min=1e-30)).max().item()
    expect(worst <= 1e-5, f"an element is off by 1/16 of it and {worst:.2g} of the largest of its row")


def case_fn(answer, random):
    """e4m3fn: errors of at most 1/16"""
    check(answer, tensor(random, 5, 33) * random.uniform(0.1, 1000), FN)


def case_fnuz(answer, random):
    """e4m3fnuz: errors of at most 1/16"""
    check(answer, tensor(random, 5, 33) * random.uniform(0.1, 1000), FNUZ)


def case_rows(answer, random):
    """Rows of very different size keep their digits"""
    x = tensor(random, 6, 17) * torch.tensor([1e-6, 1e-3, 1.0, 1e2, 1e4, 1e6])[:, None]
    for dtype in (FN, FNUZ):
        check(answer, x, dtype)


def case_zeros(answer, random):
    """A row of zeros, and a matrix of one element"""
    x = tensor(random, 3, 7)
    x[1] = 0.0
    check(answer, x, FN)
    check(answer, tensor(random, 1, 1), FNUZ)


def matrix(random):
    """A matrix in e4m3fn with all 254 numbers except for NaN and -0, in a new order."""
    bits = [bits for bits in range(256) if bits not in (0x7F, 0x80, 0xFF)]
    random.shuffle(bits)
    return torch.tensor(bits[:252], dtype=torch.uint8).view(6, 42).view(FN)


def case_convert(answer, random):
    """A checkpoint in e4m3fn, converted to e4m3fnuz, means the same numbers"""
    values, scales = matrix(random), tensor(random, 6, 1).abs() + 0.1
    got = answer.to_fnuz(values.clone(), scales.clone())
    expect(got[0].dtype == FNUZ, f"values are {got[0].dtype}, expected {FNUZ}")
    # Exact: a power of two changes no digit.
    expect_close(dequantized(*got, 6), values.double() * scales.double())


def case_bits(answer, random):
    """The largest numbers of e4m3fn are converted exactly, too"""
    values = torch.tensor([[448.0, -448.0, 416.0, 256.0]]).to(FN)
    expect_close(dequantized(*answer.to_fnuz(values.clone(), torch.full((1, 1), 0.25)), 1), values.double() * 0.25)


def case_minus_zero(answer, random):
    """-0 becomes 0, not NaN"""
    values = torch.tensor([[-0.0, 0.0, 1.5]]).to(FN)
    got = dequantized(*answer.to_fnuz(values.clone(), torch.ones(1, 1)), 1)
    expect(not got.isnan().any(), "the result contains NaN")
    expect_close(got, torch.tensor([[0.0, 0.0, 1.5]]))
