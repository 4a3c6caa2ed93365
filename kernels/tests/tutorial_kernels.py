"""Kernels of the kinds that Triton's tutorials teach: softmax, matmul, layer norm, attention and grouped products."""

import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, stride, rows, columns, BLOCK: tl.constexpr):
    """Rows in a loop, as many at a time as there are programs."""
    at = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * stride + at, mask=at < columns, other=-float("inf")).to(tl.float32)
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(y_ptr + row * stride + at, e / tl.sum(e, axis=0), mask=at < columns)


@triton.jit
def leaky(x):
    """Leaky ReLU."""
    return tl.where(x > 0, x, 0.01 * x)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k, am, ak, bk, bn, cm, cn,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """A product with any strides and leaky ReLU, whose programs are numbered in groups of `GROUP` block rows."""
    program = tl.program_id(0)
    down, across = tl.cdiv(m, M), tl.cdiv(n, N)
    first = program // (GROUP * across) * GROUP
    height = min(down - first, GROUP)
    block_m = first + program % (GROUP * across) % height
    block_n = program % (GROUP * across) // height
    rows = (block_m * M + tl.arange(0, M)) % m
    columns = (block_n * N + tl.arange(0, N)) % n
    depth = tl.arange(0, K)
    a = a_ptr + rows[:, None] * am + depth[None, :] * ak
    b = b_ptr + depth[:, None] * bk + columns[None, :] * bn
    total = tl.zeros((M, N), tl.float32)
    for start in range(tl.cdiv(k, K)):
        left = k - start * K
        total = tl.dot(
            tl.load(a, mask=depth[None, :] < left, other=0.0),
            tl.load(b, mask=depth[:, None] < left, other=0.0),
            total,
        )
        a += K * ak
        b += K * bk
    rows = block_m * M + tl.arange(0, M)
    columns = block_n * N + tl.arange(0, N)
    c = c_ptr + rows[:, None] * cm + columns[None, :] * cn
    tl.store(c, leaky(total).to(c_ptr.dtype.element_ty), mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def layer_norm_kernel(
    x_ptr, y_ptr, weight_ptr, bias_ptr, mean_ptr, scale_ptr, stride, columns, eps, BLOCK: tl.constexpr
):
    """Layer norm of a row, in blocks."""
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < columns, other=0.0).to(tl.float32)
        difference = tl.where(at < columns, x - mean, 0.0)
        total += difference * difference
    scale = 1 / tl.sqrt(tl.sum(total, axis=0) / columns + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(scale_ptr + row, scale)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < columns
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        y = (x - mean) * scale * tl.load(weight_ptr + at, mask=mask) + tl.load(bias_ptr + at, mask=mask)
        tl.store(y_ptr + at, y, mask=mask)


@triton.jit
def layer_norm_backward_kernel(
    dy_ptr, x_ptr, weight_ptr, mean_ptr, scale_ptr, dx_ptr, dweight_ptr, dbias_ptr, lock_ptr, stride, columns,
    GROUP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Gradient of a row, and sums over rows in `GROUP` buffers, each under a lock."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    x = tl.load(x_ptr + row * stride + at, mask=mask, other=0).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride + at, mask=mask, other=0).to(tl.float32)
    weight = tl.load(weight_ptr + at, mask=mask).to(tl.float32)
    scale = tl.load(scale_ptr + row)
    normal = tl.where(mask, (x - tl.load(mean_ptr + row)) * scale, 0.0)
    weighted = tl.where(mask, weight * dy, 0.0)
    along = tl.sum(normal * weighted, axis=0) / columns
    dx = (weighted - (normal * along + tl.sum(weighted, axis=0) / columns)) * scale
    tl.store(dx_ptr + row * stride + at, dx, mask=mask)
    group = row % GROUP
    lock_ptr += group
    count_ptr = lock_ptr + GROUP
    dweight_ptr += group * columns + at
    dbias_ptr += group * columns + at
    own_weight = dy * normal
    own_bias = dy
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    if tl.load(count_ptr) == 0:
        tl.atomic_xchg(count_ptr, 1)
    else:
        own_weight += tl.load(dweight_ptr, mask=mask)
        own_bias += tl.load(dbias_ptr, mask=mask)
    tl.store(dweight_ptr, own_weight, mask=mask)
    tl.store(dbias_ptr, own_bias, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def column_sums_kernel(parts_ptr, sums_ptr, rows, columns, M: tl.constexpr, N: tl.constexpr):
    """Sums of columns."""
    at = tl.program_id(0) * N + tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, rows, M):
        row = start + tl.arange(0, M)
        mask = (row[:, None] < rows) & (at[None, :] < columns)
        total += tl.load(parts_ptr + row[:, None] * columns + at[None, :], mask=mask, other=0.0)
    tl.store(sums_ptr + at, tl.sum(total, axis=0), mask=at < columns)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, log_ptr, scale, length,
    CAUSAL: tl.constexpr, M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Attention of `M` queries of a head, with the softmax computed on the way."""
    start_m = tl.program_id(0) * M
    head = tl.program_id(1) * length * WIDTH
    rows = start_m + tl.arange(0, M)
    wide = tl.arange(0, WIDTH)
    q = tl.load(q_ptr + head + rows[:, None] * WIDTH + wide[None, :], mask=rows[:, None] < length, other=0.0)
    largest = tl.full((M,), -float("inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    result = tl.zeros((M, WIDTH), tl.float32)
    end = min(start_m + M, length) if CAUSAL else length
    for start in range(0, end, N):
        columns = start + tl.arange(0, N)
        k = tl.load(k_ptr + head + columns[None, :] * WIDTH + wide[:, None], mask=columns[None, :] < length, other=0.0)
        scores = tl.dot(q, k) * (scale * 1.44269504)
        scores = tl.where(columns[None, :] < length, scores, -float("inf"))
        if CAUSAL:
            scores = tl.where(rows[:, None] >= columns[None, :], scores, -float("inf"))
        new = tl.maximum(largest, tl.max(scores, 1))
        p = tl.math.exp2(scores - new[:, None])
        correction = tl.math.exp2(largest - new)
        total = total * correction + tl.sum(p, 1)
        v = tl.load(v_ptr + head + columns[:, None] * WIDTH + wide[None, :], mask=columns[:, None] < length, other=0.0)
        result = tl.dot(p.to(v.dtype), v, result * correction[:, None])
        largest = new
    out = out_ptr + head + rows[:, None] * WIDTH + wide[None, :]
    tl.store(out, (result / total[:, None]).to(out_ptr.dtype.element_ty), mask=rows[:, None] < length)
    tl.store(log_ptr + tl.program_id(1) * length + rows, largest + tl.math.log2(total), mask=rows < length)


@triton.jit
def attention_backward_kernel(
    q_ptr, k_ptr, v_ptr, dout_ptr, log_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, scale, length,
    M: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Gradients of causal attention: those of `M` keys and values, then those of `M` queries."""
    start = tl.program_id(0) * M
    head = tl.program_id(1) * length * WIDTH
    row = tl.program_id(1) * length
    own = start + tl.arange(0, M)
    wide = tl.arange(0, WIDTH)
    tile = own[:, None] * WIDTH + wide[None, :] + head
    k = tl.load(k_ptr + tile)
    v = tl.load(v_ptr + tile)
    dk = tl.zeros((M, WIDTH), tl.float32)
    dv = tl.zeros((M, WIDTH), tl.float32)
    for begin in range(start, length, M):
        rows = begin + tl.arange(0, M)
        at = rows[:, None] * WIDTH + wide[None, :] + head
        q = tl.load(q_ptr + at)
        dout = tl.load(dout_ptr + at)
        scores = tl.dot(k, tl.trans(q)) * (scale * 1.44269504)
        p = tl.math.exp2(scores - tl.load(log_ptr + row + rows)[None, :])
        p = tl.where(rows[None, :] >= own[:, None], p, 0.0)
        dv = tl.dot(p.to(dout.dtype), dout, dv)
        dp = tl.dot(v, tl.trans(dout))
        ds = p * (dp - tl.load(delta_ptr + row + rows)[None, :])
        dk = tl.dot(ds.to(q.dtype), q, dk)
    tl.store(dk_ptr + tile, dk * scale)
    tl.store(dv_ptr + tile, dv)
    q = tl.load(q_ptr + tile)
    dout = tl.load(dout_ptr + tile)
    log = tl.load(log_ptr + row + own)
    delta = tl.load(delta_ptr + row + own)
    dq = tl.zeros((M, WIDTH), tl.float32)
    for begin in range(0, start + M, M):
        columns = begin + tl.arange(0, M)
        at = columns[:, None] * WIDTH + wide[None, :] + head
        k = tl.load(k_ptr + at)
        v = tl.load(v_ptr + at)
        p = tl.math.exp2(tl.dot(q, tl.trans(k)) * (scale * 1.44269504) - log[:, None])
        p = tl.where(own[:, None] >= columns[None, :], p, 0.0)
        ds = p * (tl.dot(dout, tl.trans(v)) - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq)
    tl.store(dq_ptr + tile, dq * scale)


@triton.jit
def addresses_kernel(a0_ptr, b0_ptr, c0_ptr, a1_ptr, b1_ptr, c1_ptr, addresses_ptr):
    """Stores the addresses of matrices in a table."""
    tl.store(addresses_ptr, a0_ptr.to(tl.int64))
    tl.store(addresses_ptr + 1, b0_ptr.to(tl.int64))
    tl.store(addresses_ptr + 2, c0_ptr.to(tl.int64))
    tl.store(addresses_ptr + 3, a1_ptr.to(tl.int64))
    tl.store(addresses_ptr + 4, b1_ptr.to(tl.int64))
    tl.store(addresses_ptr + 5, c1_ptr.to(tl.int64))


@triton.jit
def grouped_kernel(
    a0_ptr, b0_ptr, c0_ptr, a1_ptr, b1_ptr, c1_ptr, addresses_ptr, sizes_ptr, strides_ptr, count,
    PROGRAMS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Products of pairs of matrices in a table of addresses. Each program computes every `PROGRAMS`th tile."""
    tile = tl.program_id(0)
    before = 0
    for group in range(count):
        m = tl.load(sizes_ptr + group * 3)
        n = tl.load(sizes_ptr + group * 3 + 1)
        k = tl.load(sizes_ptr + group * 3 + 2)
        down, across = tl.cdiv(m, M), tl.cdiv(n, N)
        while tile >= before and tile < before + down * across:
            am = tl.load(strides_ptr + group * 3)
            bk = tl.load(strides_ptr + group * 3 + 1)
            cm = tl.load(strides_ptr + group * 3 + 2)
            a_ptr = tl.load(addresses_ptr + group * 3).to(tl.pointer_type(tl.float16))
            b_ptr = tl.load(addresses_ptr + group * 3 + 1).to(tl.pointer_type(tl.float16))
            c_ptr = tl.load(addresses_ptr + group * 3 + 2).to(tl.pointer_type(tl.float16))
            c_ptr = tl.multiple_of(c_ptr, 16)
            cm = tl.multiple_of(cm, 16)
            rows = (tile - before) // across * M + tl.arange(0, M)
            columns = (tile - before) % across * N + tl.arange(0, N)
            depth = tl.arange(0, K)
            a = a_ptr + rows[:, None] * am + depth[None, :]
            b = b_ptr + depth[:, None] * bk + columns[None, :]
            total = tl.zeros((M, N), tl.float32)
            for _ in range(k // K):
                total += tl.dot(tl.load(a), tl.load(b))
                a += K
                b += K * bk
            tl.store(c_ptr + rows[:, None] * cm + columns[None, :], total.to(tl.float16))
            tile += PROGRAMS
        before += down * across
