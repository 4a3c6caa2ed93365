"""The order, compared with a loop over all elements."""

import torch
from hipward_kernels.exercise import expect


def weight(random, rows, columns):
    """bfloat16 numbers that are all different in their bits, without NaN."""
    bits = torch.arange(rows * columns, dtype=torch.int16)
    order = list(range(rows * columns))
    random.shuffle(order)
    return bits[torch.tensor(order)].view(torch.bfloat16).view(rows, columns)


def same(got, expected, what):
    expect(tuple(got.shape) == tuple(expected.shape), f"{what} has shape {tuple(got.shape)}")
    expect(got.dtype == expected.dtype, f"{what} is {got.dtype}, expected {expected.dtype}")
    wrong = (got.contiguous().view(torch.int16) != expected.contiguous().view(torch.int16)).nonzero()
    expect(len(wrong) == 0, f"{what}: {len(wrong)} elements are in the wrong place, the first at {wrong[:1].tolist()}")


def case_back(answer, random):
    """`unshuffle` restores the order, for one tile and for several"""
    for rows, columns in ((16, 32), (32, 32), (16, 64), (48, 96)):
        plain = weight(random, rows, columns)
        same(answer.unshuffle(answer.shuffle(plain.clone())), plain, f"unshuffle of {rows} × {columns}")


def case_position(answer, random):
    """`position` is where `shuffle` puts each element"""
    for rows, columns in ((16, 32), (32, 96)):
        plain = weight(random, rows, columns)
        flat = answer.shuffle(plain.clone()).view(torch.int16).flatten().tolist()
        bits = plain.view(torch.int16).tolist()
        for row in range(rows):
            for column in range(columns):
                at = answer.position(row, column, columns)
                right = 0 <= at < len(flat) and flat[at] == bits[row][column]
                expect(right, f"element ({row}, {column}) of {rows} × {columns} is not at {at}")


def case_refusal(answer, random):
    """Other sizes, dtypes and shapes are refused, multiples of 16 and 32 are not"""
    bfloat16 = {"dtype": torch.bfloat16}
    for shape in ((16, 32), (64, 96), (16 * random.randint(1, 4), 32 * random.randint(1, 4))):
        expect(answer.refusal(torch.zeros(*shape, **bfloat16)) is None, f"{shape} is refused")
    refused = [torch.zeros(*shape, **bfloat16) for shape in ((8, 32), (16, 16), (17, 64), (32, 33), (16, 32, 1))]
    for each in (*refused, torch.zeros(16, 32), torch.zeros(16, 32, dtype=torch.float16)):
        reason = answer.refusal(each)
        expect(isinstance(reason, str) and reason, f"{tuple(each.shape)} of {each.dtype} is not refused")
