"""Random C programs that run on an AMD GPU and on the host, to compare the emulator with the host's processor.

A program computes one 32-bit number for each of 128 lanes. It consists of stages: a stage computes with the numbers of
its own lane (integers of 32 and 64 bits, `_Float16`, `float`, `double`, arrays, branches and loops that diverge).
Between stages the lanes exchange numbers: shuffles, DPP, ballots, LDS and its atomics. The host loops over the lanes.

Everything that a program computes is exactly defined: no overflow of signed integers, no payload of a NaN. Denormal
quotients count as zero, because the division of an AMD GPU rounds them twice (`v_div_fmas`).
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

LANES = 128
"""Lanes of a workgroup: two wavefronts."""

HEADER = """
#pragma clang fp contract(off)
typedef unsigned u32; typedef unsigned long u64; typedef int i32; typedef long i64; typedef _Float16 f16;
#define F static inline __attribute__((always_inline))
F float f_of(u32 x) { union { u32 u; float f; } v; v.u = x; return v.f; }
F u32 of_f(float x) { union { u32 u; float f; } v; v.f = x; return x != x ? 0x7fc00000u : v.u; }
F double d_of(u64 x) { union { u64 u; double f; } v; v.u = x; return v.f; }
F u64 of_d(double x) { union { u64 u; double f; } v; v.f = x; return x != x ? 0x7ff8000000000000ul : v.u; }
F f16 h_of(u32 x) { union { unsigned short u; f16 f; } v; v.u = (unsigned short)x; return v.f; }
F u32 of_h(f16 x) { union { unsigned short u; f16 f; } v; v.f = x; return x != x ? 0x7e00u : v.u; }
F i32 to_i(float x) { return x >= -2147483648.0f && x < 2147483648.0f ? (i32)x : 77; }
F u32 to_u(float x) { return x >= 0.0f && x < 4294967296.0f ? (u32)x : 78; }
F i32 d_to_i(double x) { return x > -2147483649.0 && x < 2147483648.0 ? (i32)x : 79; }
F float div_f(float a, float b) { float q = a / b; return __builtin_fabsf(q) < 0x1p-125f ? 0.0f : q; }
F double div_d(double a, double b) { double q = a / b; return __builtin_fabs(q) < 0x1p-1021 ? 0.0 : q; }
F u32 div_u(u32 a, u32 b) { return a / (b | 1); }
F u32 rem_u(u32 a, u32 b) { return a % (b | 1); }
F u32 div_i(u32 a, u32 b) { return (u32)((i32)(a >> 1) / (i32)((b >> 1) | 1)); }
F u32 rem_i(u32 a, u32 b) { return (u32)((i32)(a >> 1) % -(i32)((b >> 1) | 1)); }
F u64 wide(u32 a, u32 b) { return (u64)a << 32 | b; }
F u32 fold(u64 x) { return (u32)x ^ (u32)(x >> 32); }
"""

DEVICE = """
#define G __attribute__((address_space(1)))
static __attribute__((address_space(3), loader_uninitialized)) u32 lds[128];
F void meet(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
"""

INTEGERS = (
    "({a} + {b})",
    "({a} - {b})",
    "({a} * {b})",
    "({a} ^ {b})",
    "({a} & {b})",
    "({a} | {b})",
    "(~{a})",
    "({a} << ({b} & 31))",
    "({a} >> ({b} & 31))",
    "((u32)((i32){a} >> ({b} & 31)))",
    "__builtin_rotateleft32({a}, {b} & 31)",
    "__builtin_bitreverse32({a})",
    "__builtin_bswap32({a})",
    "((u32)__builtin_popcount({a}))",
    "((u32)__builtin_clz({a} | 1))",
    "((u32)__builtin_ctz({a} | 0x80000000u))",
    "((u32)((u64){a} * {b} >> 32))",
    "((u32)((i64)(i32){a} * (i32){b} >> 32))",
    "({a} < {b} ? {a} : {b})",
    "({a} > {b} ? {c} : {b})",
    "((u32)((i32){a} < (i32){b} ? (i32){a} : (i32){b}))",
    "((i32){a} > (i32){b} ? {c} : {a})",
    "((u32)({a} == {b}))",
    # Not used as a float: LLVM 22 then extends the byte with zeros, in `v_cmp_ge_f32_sdwa … src0_sel:BYTE_0`.
    "((u32)(i32)(signed char){a} * 3)",
    "((u32)(i32)(short)({a} >> 16) * 5)",
    "({a} >> 8 & 0xff)",
    "(({a} & {c}) | (~{a} & {b}))",
    "({a} + {b} + {c})",
    "(({a} << 3) + {b})",
    "(({a} ^ {b}) + {c})",
    "div_u({a}, {b})",
    "rem_u({a}, {b})",
    "div_i({a}, {b})",
    "rem_i({a}, {b})",
    "({a} * {b} + {c})",
    "({a} & 0x{k:x}u)",
    "({a} + 0x{k:x}u)",
)

WIDE = (
    "fold(wide({a}, {b}) + wide({c}, {a}))",
    "fold(wide({a}, {b}) - wide({c}, {a}))",
    "fold(wide({a}, {b}) * wide({c}, {b}))",
    "fold(wide({a}, {b}) << ({c} & 63))",
    "fold(wide({a}, {b}) >> ({c} & 63))",
    "fold((u64)((i64)wide({a}, {b}) >> ({c} & 63)))",
    "((u32)(wide({a}, {b}) < wide({b}, {c})))",
    "((u32)((i64)wide({a}, {b}) > (i64)wide({c}, {a})))",
    "fold(wide({a}, {b}) / (wide({c}, {a}) | 1))",
    "((u32)__builtin_popcountl(wide({a}, {b})))",
    "fold((u64){a} * {b} + wide({c}, {b}))",
)

FLOATS = (
    "of_f(f_of({a}) + f_of({b}))",
    "of_f(f_of({a}) - f_of({b}))",
    "of_f(f_of({a}) * f_of({b}))",
    "of_f(div_f(f_of({a}), f_of({b})))",
    "of_f(__builtin_fmaf(f_of({a}), f_of({b}), f_of({c})))",
    "of_f(__builtin_fmaf(-f_of({a}), f_of({b}), __builtin_fabsf(f_of({c}))))",
    "of_f(__builtin_sqrtf(__builtin_fabsf(f_of({a}))))",
    "of_f(f_of({a}) < f_of({b}) ? f_of({a}) : f_of({b}))",
    "of_f(__builtin_floorf(f_of({a})))",
    "of_f(__builtin_ceilf(f_of({a})))",
    "of_f(__builtin_truncf(f_of({a})))",
    "of_f(__builtin_rintf(f_of({a})))",
    "of_f(__builtin_copysignf(f_of({a}), f_of({b})))",
    "of_f((float){a})",
    "of_f((float)(i32){a})",
    "of_f((float)(i32)({a} & 0xffff) * 0.37f)",
    "of_f((float)(unsigned char){a})",
    "((u32)to_i(f_of({a})))",
    "to_u(f_of({a}) * 1024.0f)",
    "((u32)(f_of({a}) < f_of({b})))",
    "((u32)(f_of({a}) >= f_of({b})))",
    "((u32)!(f_of({a}) > f_of({b})))",
    "of_f(f_of(0x3f800000u | {a} >> 9) * f_of(0x3f800000u | {b} >> 9))",
    "of_f(f_of(0x3f800000u | {a} >> 9) / f_of(0x3f800000u | {b} >> 9))",
)

DOUBLES = (
    "fold(of_d(d_of(wide({a}, {b})) + d_of(wide({c}, {a}))))",
    "fold(of_d(d_of(wide({a}, {b})) * d_of(wide({c}, {a}))))",
    "fold(of_d(div_d(d_of(wide({a}, {b})), d_of(wide({c}, {a})))))",
    "fold(of_d((double){a} / (double)({b} | 1)))",
    "fold(of_d(__builtin_sqrt((double){a})))",
    "fold(of_d(__builtin_fma((double){a}, (double){b}, d_of(wide({c}, {a})))))",
    "fold(of_d((double)f_of({a})))",
    "of_f((float)d_of(wide({a}, {b})))",
    "fold(of_d(__builtin_floor(d_of(wide(0x40400000u | {a} >> 12, {b})))))",
    "((u32)d_to_i(d_of(wide(0x41000000u | {a} >> 12, {b}))))",
    "((u32)(d_of(wide({a}, {b})) < d_of(wide({b}, {c}))))",
    "fold((u64)((double){a} * 1048576.5))",
)

HALVES = (
    "of_h(h_of({a}) + h_of({b}))",
    "of_h(h_of({a}) - h_of({b} >> 16))",
    "of_h(h_of({a}) * h_of({b}))",
    "of_h((f16)f_of({a}))",
    "of_h((f16)(f_of(0x3f000000u | {a} >> 9) * 100.0f))",
    "of_f((float)h_of({a}))",
    "of_f((float)h_of({a}) * f_of({b}) + 1.0f)",
    "((u32)(h_of({a}) < h_of({b})))",
    "(of_h(h_of({a}) + h_of({b})) << 16 | of_h(h_of({a} >> 16) + h_of({b} >> 16)))",
    "((u32)(unsigned short)({a} + {b}))",
    "((u32)(unsigned short)({a} * {b}))",
    "((u32)(unsigned short)((unsigned short){a} >> ({b} & 15)))",
)

KINDS = ((INTEGERS, 8), (WIDE, 3), (FLOATS, 5), (DOUBLES, 2), (HALVES, 3))


@dataclass(frozen=True)
class Exchange:
    """A way in which lanes exchange numbers: the new `v` from the old one, on the device and on the host."""

    device: str
    host: str
    """An expression of lane `t` for the array `old`; `B` is the first lane of its wavefront."""


EXCHANGES = (
    Exchange(
        "v = __builtin_amdgcn_ds_bpermute((i32)((t + {k} + (v & 0)) << 2), v) ^ {k};", "old[B + ((t + {k}) & 63)] ^ {k}"
    ),
    Exchange(
        "v ^= __builtin_amdgcn_ds_bpermute((i32)((t * {odd} & 63) << 2), v);", "old[t] ^ old[B + ((t * {odd}) & 63)]"
    ),
    Exchange("v += __builtin_amdgcn_readfirstlane(v);", "old[t] + old[B]"),
    Exchange("v += __builtin_amdgcn_readlane(v, {lane});", "old[t] + old[B + {lane}]"),
    Exchange("v ^= __builtin_amdgcn_update_dpp(0, v, 0x111, 15, 15, 1);", "old[t] ^ ((t & 15) >= 1 ? old[t - 1] : 0)"),
    Exchange("v = __builtin_amdgcn_update_dpp({k}, v, 0x104, 15, 15, 0);", "((t & 15) < 12 ? old[t + 4] : {k}u)"),
    Exchange("v += __builtin_amdgcn_update_dpp(0, v, 0x1b, 15, 15, 1);", "old[t] + old[(t & ~3u) | (3 - (t & 3))]"),
    Exchange("v -= __builtin_amdgcn_update_dpp(0, v, 0x140, 15, 15, 1);", "old[t] - old[(t & ~15u) | (15 - (t & 15))]"),
    Exchange("v += __builtin_amdgcn_ds_swizzle(v, 0x401f) * 3;", "old[t] + old[t ^ 16] * 3"),
    Exchange(
        "{{ u64 m = __builtin_amdgcn_ballot_w64((v & {k}) != 0); v ^= fold(m >> (t & 31)); }}",
        "old[t] ^ fold(ballot(old + B, {k}u) >> (t & 31))",
    ),
    Exchange(
        "meet(); lds[t ^ {lane}] = v; meet(); v += lds[(t * {odd}) & 127];",
        "old[t] + old[((t * {odd}) & 127) ^ {lane}]",
    ),
    Exchange(
        "meet(); lds[t] = 0; meet(); __atomic_fetch_add(&lds[v & 7], v, __ATOMIC_RELAXED); meet(); v ^= lds[t & 15];",
        "old[t] ^ bins(old, t & 15)",
    ),
)

HOST = """
F u64 ballot(const u32* v, u32 k) {
  u64 m = 0;
  for (u32 l = 0; l < 64; ++l) m |= (u64)((v[l] & k) != 0) << l;
  return m;
}
F u32 bins(const u32* v, u32 bin) {
  u32 sum = 0;
  for (u32 l = 0; l < 128; ++l) sum += (v[l] & 7) == bin ? v[l] : 0;
  return sum;
}
"""


def _expression(random: Random, depth: int) -> str:
    if depth == 0 or random.random() < 0.1:
        return random.choice(("a", "b", "c", "a", "b", f"{random.choice((0, 1, 7, 64, 0x3F800000, 0x80000000))}u"))
    (templates,) = random.choices([kind for kind, _ in KINDS], [weight for _, weight in KINDS])
    parts = {name: _expression(random, depth - 1) for name in "abc"}
    return random.choice(templates).format(**parts, k=random.getrandbits(32))


def _statement(random: Random, depth: int) -> str:
    target = random.choice("abc")
    kind = random.random()
    if depth and kind < 0.2:
        condition = _expression(random, 1)
        return f"if ({condition} & 1) {{ {_statement(random, depth - 1)} }} else {{ {_statement(random, depth - 1)} }}"
    if depth and kind < 0.35:
        bound = _expression(random, 1)
        return f"for (u32 i = 0, n = {bound} & 7; i < n; ++i) {{ {_statement(random, depth - 1)} a += i; }}"
    if depth and kind < 0.4:
        size = random.choice((7, 40))
        return (
            f"{{ u32 x[{size}]; for (u32 i = 0; i < {size}; ++i) x[i] = a * i + b; x[c % {size}] += a; "
            f"{target} = x[b % {size}] ^ x[(a >> 3) % {size}]; }}"
        )
    return f"{target} = {_expression(random, 2)};"


@dataclass(frozen=True)
class Program:
    """The C functions of the stages, and the exchanges between them."""

    stages: list[str]
    device: list[str]
    host: list[str]


def program(random: Random, name: str) -> Program:
    """A random program whose functions begin with `name`."""
    stages, device, host = [], [], []
    count = random.randint(1, 3)
    for number in range(count):
        body = " ".join(_statement(random, 2) for _ in range(random.randint(2, 4)))
        stages.append(f"F u32 {name}_{number}(u32 a, u32 b, u32 c) {{ {body} return a ^ b * 3 ^ c * 5; }}")
        if number + 1 < count:
            exchange = random.choice(EXCHANGES)
            values = {"k": random.getrandbits(6), "odd": random.randrange(1, 64, 2), "lane": random.randrange(64)}
            device.append(exchange.device.format(**values))
            host.append(exchange.host.format(**values))
    return Program(stages, device, host)


def sources(seed: int, count: int) -> tuple[str, str]:
    """The device's and the host's source of `count` programs.

    Both read three numbers for each lane, and write one for each program and lane.
    """
    random = Random(seed)  # noqa: S311 - not for cryptography
    programs = [program(random, f"p{number}") for number in range(count)]
    stages = "\n".join(stage for one in programs for stage in one.stages)
    device = [HEADER, DEVICE, stages]
    device.append(
        "__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(128, 128)))\n"
        "void run(const G u32* in, G u32* out) {\n"
        "  const u32 t = __builtin_amdgcn_workitem_id_x();\n"
        "  const u32 x = in[3 * t], y = in[3 * t + 1], z = in[3 * t + 2];\n  u32 v;"
    )
    host = [HEADER, HOST, stages]
    host.append("void run(const u32* in, u32* out) {\n  u32 v[128], old[128];")
    for number, one in enumerate(programs):
        device.append(f"  v = p{number}_0(x, y, z);")
        host.append(f"  for (u32 t = 0; t < 128; ++t) v[t] = p{number}_0(in[3 * t], in[3 * t + 1], in[3 * t + 2]);")
        for stage, (there, here) in enumerate(zip(one.device, one.host, strict=True), start=1):
            device.append(f"  {there}\n  v = p{number}_{stage}(v, x, y);")
            host.append(
                "  for (u32 t = 0; t < 128; ++t) old[t] = v[t];\n"
                f"  for (u32 t = 0; t < 128; ++t) {{ const u32 B = t & ~63u; (void)B; "
                f"v[t] = p{number}_{stage}({here}, in[3 * t], in[3 * t + 1]); }}"
            )
        device.append(f"  out[{LANES * number} + t] = v;")
        host.append(f"  for (u32 t = 0; t < 128; ++t) out[{LANES * number} + t] = v[t];")
    device.append("}")
    host.append("}")
    return "\n".join(device), "\n".join(host)
