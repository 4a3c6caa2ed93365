"""The kernel runs as gfx942 machine code in the emulator."""

from hipward_kernels.exercise import expect, tensor
from hipward_kernels.exercise.kernel import uninitialized


def run(answer, random, rows, columns):
    x = tensor(random, rows, columns)
    arguments = {"x": x, "y": uninitialized(columns, rows), "rows": rows, "columns": columns}
    return x, answer.launch("transpose", arguments, grid=(columns // 32, rows // 32, 1), block=(32, 8, 1))


def case_values(answer, random):
    """A matrix of 64 rows and 96 columns is transposed"""
    x, done = run(answer, random, 64, 96)
    done.expect_close("y", x.T)


def case_banks(answer, random):
    """No access to LDS has a bank conflict"""
    _, done = run(answer, random, 32, 32)
    lds = [access for access in done.accesses if access.instruction.startswith("ds_")]
    expect(lds, "the kernel does not access LDS")
    for access in lds:
        cycles = access.bank_conflicts / access.executions
        message = f"{access.instruction} takes {cycles:g} additional cycles: lanes access different words of a bank"
        expect(not cycles, message, line=access.line)


def case_segments(answer, random):
    """Loads and stores use every byte of the 64-byte segments they touch"""
    _, done = run(answer, random, 64, 32)
    for access in done.loads + done.stores:
        used = access.bytes / (64 * access.segments)
        message = f"{access.instruction} uses {used:.0%} of the segments it touches"
        expect(used == 1, message, line=access.line)
