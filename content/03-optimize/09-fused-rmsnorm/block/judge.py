"""The kernel runs as gfx942 machine code in the emulator, which reports races and accesses out of bounds."""

from hipward_kernels.exercise import tensor
from hipward_kernels.exercise.kernel import uninitialized

EPS = 1e-5


def compare(answer, random, rows, columns):
    x = tensor(random, rows, columns) + 1
    arguments = {"x": x, "y": uninitialized(rows, columns), "columns": columns, "eps": EPS}
    run = answer.launch("rmsnorm", arguments, grid=rows, block=256)
    exact = x.double()
    run.expect_close("y", exact / (exact.square().mean(1, keepdim=True) + EPS).sqrt(), rtol=1e-5)


def case_rows(answer, random):
    """Rows that are longer than the workgroup"""
    compare(answer, random, 2, random.randrange(600, 900))


def case_short(answer, random):
    """Rows of 7 and of 65 columns"""
    for columns in (7, 65):
        compare(answer, random, 2, columns)
