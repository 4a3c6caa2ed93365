"""Cases for the roofline of three operations."""

from hipward_kernels.exercise import expect, expect_close

H200 = (989.4e12, 4.8e12)  # bf16 operations and bytes a second, data sheets
MI300X = (1307.4e12, 5.3e12)
# All counts are products of small integers; a few float64 roundings explain less than this.
EXACT = 1e-12


def same(work, flops, size):
    try:
        expect_close(float(work.flops), float(flops), rtol=EXACT)
    except AssertionError as error:
        raise AssertionError(f"operations: {error}") from None
    try:
        expect_close(float(work.bytes), float(size), rtol=EXACT)
    except AssertionError as error:
        raise AssertionError(f"bytes: {error}") from None


def case_small_product(answer, random):
    """A product of small matrices, counted by hand"""
    m, n, k = random.sample([1, 2, 3, 5, 7], 3)
    terms = sum(2 for _ in range(m) for _ in range(n) for _ in range(k))
    same(answer.matmul(m, n, k, 4), terms, 4 * sum([m * k, k * n, m * n]))


def case_product_of_the_page(answer, random):
    """The product with 2048 rows (point F)"""
    same(answer.matmul(2048, 6144, 4096, 2), 103079215104, 92274688)


def case_decoding(answer, random):
    """Attention while decoding, with 8 heads of keys for 32 heads of queries (point D)"""
    same(answer.attention(32, 32, 8, 1, 4096, 128, 2), 2147483648, 537395200)


def case_other_lengths(answer, random):
    """Attention with fewer queries than keys"""
    batch, kv_heads, group = random.randint(1, 4), random.randint(1, 3), random.choice([2, 4])
    queries, keys, width = random.randint(3, 9), random.randint(17, 33), random.choice([64, 65])
    heads = kv_heads * group
    flops = 2 * 2 * batch * heads * queries * keys * width
    size = batch * width * 2 * (heads * queries + kv_heads * keys) * 2
    same(answer.attention(batch, heads, kv_heads, queries, keys, width, 2), flops, size)


def case_memory_bound(answer, random):
    """RMSNorm on an MI300X: memory decides"""
    us, bound = answer.floor_us(answer.rms_norm(16384, 4096, 2), *MI300X)
    expect_close(us, 268443648 / 5.3e12 * 1e6, rtol=EXACT)
    expect(bound == "memory", f"the bound is {bound!r}, expected 'memory'")


def case_compute_bound(answer, random):
    """More operations per byte than the ridge: arithmetic decides"""
    size = random.uniform(1e6, 1e9)
    work = answer.Work(size * random.uniform(300, 3000), size)
    us, bound = answer.floor_us(work, *MI300X)
    expect_close(us, work.flops / 1307.4e12 * 1e6, rtol=EXACT)
    expect(bound == "compute", f"the bound is {bound!r}, expected 'compute'")


def case_share(answer, random):
    """The shares of points C and F"""
    norm, product = answer.rms_norm(16384, 4096, 2), answer.Work(103079215104, 92274688)
    for us, work, want in (
        (67.376, norm, "83 % of the roofline (memory)"),
        (139.488, product, "75 % of the roofline (compute)"),
    ):
        got = answer.judge(us, work, *H200)
        expect(got == want, f"{us} µs is {got!r}, expected {want!r}")


def case_impossible(answer, random):
    """A time below the roofline"""
    work = answer.rms_norm(16384, 4096, 2)
    got = answer.judge(random.uniform(30, 50), work, *MI300X)
    expect(got == "IMPOSSIBLE", f"less than 50 µs on an MI300X is {got!r}, expected 'IMPOSSIBLE'")
