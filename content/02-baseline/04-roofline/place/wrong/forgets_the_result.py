# fails: case_small_product, case_product_of_the_page
# message: The result is written to memory too.
"""The roofline of three operations: how much they must move and compute, and how long that takes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """Floating-point operations, and bytes if each input is read once and each output written once."""

    flops: float
    bytes: float


def rms_norm(rows: int, columns: int, itemsize: int) -> Work:
    """Square, add, and multiply by the scale and the weight: four operations per element."""
    return Work(4 * rows * columns, (2 * rows * columns + columns) * itemsize)


def matmul(m: int, n: int, k: int, itemsize: int) -> Work:
    """A product of [m, k] and [k, n]."""
    # hole: matmul
    # Each of the m * n results is a sum of k products: k multiplications and k additions.
    return Work(2 * m * n * k, (m * k + k * n) * itemsize)
    # end: matmul


def attention(
    batch: int, heads: int, kv_heads: int, queries: int, keys: int, width: int, itemsize: int
) -> Work:
    """Attention without a mask. The scores stay on the chip. Only `kv_heads` heads have keys and values."""
    # hole: attention
    # Two products per head: queries with keys, and weights with values.
    flops = 4 * batch * heads * queries * keys * width
    # Queries and results have all heads; keys and values only theirs.
    elements = 2 * batch * heads * queries * width + 2 * batch * kv_heads * keys * width
    return Work(flops, elements * itemsize)
    # end: attention


def floor_us(work: Work, peak: float, bandwidth: float) -> tuple[float, str]:
    """The shortest possible time in microseconds, and "memory" or "compute", whichever decides it."""
    # hole: floor
    # Both happen at the same time, so the longer one decides.
    memory, compute = work.bytes / bandwidth * 1e6, work.flops / peak * 1e6
    return (memory, "memory") if memory >= compute else (compute, "compute")
    # end: floor


def judge(us: float, work: Work, peak: float, bandwidth: float) -> str:
    """The share of the roofline, such as "47 % of the roofline (memory)", or "IMPOSSIBLE"."""
    # hole: judge
    floor, bound = floor_us(work, peak, bandwidth)
    # Nothing is faster than the roofline: such a time is an error of the measurement.
    return "IMPOSSIBLE" if us < floor else f"{100 * floor / us:.0f} % of the roofline ({bound})"
    # end: judge
