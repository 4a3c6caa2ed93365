//! Instructions of PTX, and what AMD has for each.

use hipward_analyzer_core::words::listed;

/// Prefixes of PTX instructions, the more specific ones first, and the AMD equivalents; a prefix with `;` is the whole
/// instruction. No text: HIP has nothing with the same result. `=`: the text applies without [`MODIFIERS`]. A single word: see
/// [`equivalent`].
const INSTRUCTIONS: &[(&str, &str)] = &[
    ("mma.", "MFMA: `__builtin_amdgcn_mfma_…`, or rocWMMA"),
    ("wmma.", "MFMA: `__builtin_amdgcn_mfma_…`, or rocWMMA"),
    (
        "wgmma.",
        "MFMA: `__builtin_amdgcn_mfma_…`, or Composable Kernel",
    ),
    (
        "tcgen05.",
        "MFMA: `__builtin_amdgcn_mfma_…`, or Composable Kernel",
    ),
    (
        "ldmatrix.",
        "plain loads from shared memory in the layout that MFMA needs",
    ),
    ("stmatrix.", "plain stores to shared memory"),
    (
        "cp.async.bulk",
        "plain loads and stores: there is no tensor memory accelerator",
    ),
    (
        "cp.async",
        "plain loads and stores, or `__builtin_amdgcn_global_load_lds`",
    ),
    ("cp.reduce", "atomics"),
    (
        "mbarrier.",
        "`__syncthreads()`, or counters in shared memory",
    ),
    ("fence.proxy", "nothing: there are no proxies"),
    ("fence.", "fence"),
    ("membar.", "fence"),
    ("bar.warp.", "`__syncwarp()`"),
    (
        "bar.red.",
        "`__syncthreads_count`, `__syncthreads_and` and `__syncthreads_or`",
    ),
    ("bar.", "`__syncthreads()`; there are no named barriers"),
    (
        "barrier.",
        "`__syncthreads()`; there are no clusters and named barriers",
    ),
    (
        "shfl.",
        "`__shfl` and related functions, with a width of 32 or less",
    ),
    (
        "vote.",
        "`__ballot`, `__any`, `__all`: over the whole wavefront",
    ),
    ("redux.", "a reduction over `__shfl_xor`"),
    (
        "match.",
        "`__match_any`, `__match_all`: over the whole wavefront",
    ),
    ("elect.", "the first set bit of `__ballot(1)`"),
    ("activemask.", "`__ballot(1)`"),
    (
        "prmt.b32;",
        "`__byte_perm`, for selectors that replicate no sign",
    ),
    ("prmt.", ""),
    (
        "lop3.",
        "`&`, `|` and `^`: the compiler generates `v_bfi`, `v_and_or` and similar",
    ),
    ("bfe.u32;", "`__bitextract_u32`, for fewer than 32 bits"),
    ("bfe.u64;", "`__bitextract_u64`, for fewer than 64 bits"),
    ("bfe.", ""),
    (
        "bfi.b32;",
        "`__bitinsert_u32`, for fewer than 32 bits, with the first two operands swapped",
    ),
    ("bfi.", ""),
    ("brev.b64;", "`__brevll`"),
    ("brev.", "`__brev`"),
    ("bfind.u32;", "`31 - __clz(x)`"),
    ("bfind.u64;", "`63 - __clzll(x)`"),
    ("bfind.", ""),
    ("clz.b64;", "`__clzll`"),
    ("clz.", "`__clz`"),
    ("popc.b64;", "`__popcll`"),
    ("popc.", "`__popc`"),
    ("shf.l.wrap", "`__funnelshift_l`"),
    ("shf.l.clamp", "`__funnelshift_lc`"),
    ("shf.r.wrap", "`__funnelshift_r`"),
    ("shf.r.clamp", "`__funnelshift_rc`"),
    ("shf.", ""),
    ("dp4a.s32.s32;", "`__builtin_amdgcn_sdot4`"),
    ("dp4a.u32.u32;", "`__builtin_amdgcn_udot4`"),
    ("dp4a.", ""),
    ("vabsdiff4.u32.u32.u32.add;", "`__builtin_amdgcn_sad_u8`"),
    ("vabsdiff4.", ""),
    ("ex2.approx.f32;", "`exp2f`"),
    ("ex2.approx.ftz.f32;", "`__builtin_amdgcn_exp2f`"),
    ("ex2.", ""),
    ("lg2.approx.f32;", "`log2f`"),
    ("lg2.approx.ftz.f32;", "`__builtin_amdgcn_logf`"),
    ("lg2.", ""),
    ("rcp.rn.f32;", "`1.0f / x`"),
    ("rcp.approx.f32;", "`1.0f / x`"),
    ("rcp.rn.f64;", "`1.0 / x`"),
    ("rcp.approx.ftz.f32;", "`__builtin_amdgcn_rcpf`"),
    ("rcp.", ""),
    ("rsqrt.approx.f32;", "`rsqrtf`"),
    ("rsqrt.approx.ftz.f32;", "`__builtin_amdgcn_rsqf`"),
    ("rsqrt.approx.f64;", "`rsqrt`"),
    ("rsqrt.", ""),
    ("sqrt.rn.f32;", "`sqrtf`"),
    ("sqrt.approx.f32;", "`sqrtf`"),
    ("sqrt.approx.ftz.f32;", "`__builtin_amdgcn_sqrtf`"),
    ("sqrt.rn.f64;", "`sqrt`"),
    ("sqrt.", ""),
    ("tanh.approx.f32;", "`tanhf`"),
    ("tanh.", ""),
    ("sin.", "`__sinf`"),
    ("cos.", "`__cosf`"),
    ("fma.rn.f32;", "`fmaf`"),
    ("fma.rn.f64;", "`fma`"),
    ("fma.rn.f16;", "`__hfma`"),
    ("fma.rn.f16x2;", "`__hfma2`"),
    ("fma.", ""),
    ("cvt.", "cvt"),
    ("cvta.", "nothing: a pointer needs no conversion"),
    ("isspacep.shared;", "`__builtin_amdgcn_is_shared`"),
    ("isspacep.local;", "`__builtin_amdgcn_is_private`"),
    ("isspacep.", ""),
    ("ld.", "load"),
    ("ldu.", "a plain load"),
    ("st.", "store"),
    (
        "atom.",
        "`atomicAdd` and related functions, or `__hip_atomic_…` with the same order and scope",
    ),
    (
        "red.",
        "`atomicAdd` and related functions, or `__hip_atomic_…` with the same order and scope",
    ),
    ("multimem.", "RCCL: there is no multicast memory"),
    ("prefetch.", "`__builtin_prefetch`"),
    ("discard.", "nothing: remove it"),
    ("applypriority.", "nothing: remove it"),
    ("createpolicy.", "nothing: remove the cache hint"),
    (
        "nanosleep.",
        "`__builtin_amdgcn_s_sleep`, in units of 64 cycles",
    ),
    (
        "setmaxnreg.",
        "nothing: the number of registers of a kernel is fixed",
    ),
    (
        "griddepcontrol.",
        "nothing: there are no programmatic dependent launches",
    ),
    ("clusterlaunchcontrol.", "nothing: there are no clusters"),
    ("mapa.", "nothing: there are no clusters"),
    (
        "mov.",
        "C++, or `__lane_id()`, `clock64()` and similar for special registers",
    ),
    (
        "add.cc.",
        "`__builtin_addc`, or `__builtin_addcll` for 64 bits",
    ),
    ("add.f16x2;", "`__hadd2`"),
    ("add.f16;", "`__hadd`"),
    ("add.", "=C++"),
    (
        "addc.",
        "`__builtin_addc`, or `__builtin_addcll` for 64 bits",
    ),
    (
        "sub.cc.",
        "`__builtin_subc`, or `__builtin_subcll` for 64 bits",
    ),
    ("sub.f16x2;", "`__hsub2`"),
    ("sub.f16;", "`__hsub`"),
    ("sub.", "=C++"),
    (
        "subc.",
        "`__builtin_subc`, or `__builtin_subcll` for 64 bits",
    ),
    ("mad.wide.", "C++, with operands of the wide type"),
    ("mad.rn.f32;", "`fmaf`"),
    ("mad.rn.f64;", "`fma`"),
    ("mad.", "=C++"),
    ("madc.", "`__builtin_addc` with a product"),
    ("mul.wide.", "C++, with operands of the wide type"),
    ("mul.hi.s32;", "`__mulhi`"),
    ("mul.hi.u32;", "`__umulhi`"),
    ("mul.hi.s64;", "`__mul64hi`"),
    ("mul.hi.u64;", "`__umul64hi`"),
    ("mul.f16x2;", "`__hmul2`"),
    ("mul.f16;", "`__hmul`"),
    ("mul.", "=C++"),
    ("mul24.lo.s32;", "`__mul24`"),
    ("mul24.lo.u32;", "`__umul24`"),
    ("mul24.", ""),
    ("mad24.lo.s32;", "`__mul24` and an addition"),
    ("mad24.lo.u32;", "`__umul24` and an addition"),
    ("mad24.", ""),
    ("div.rn.f32;", "C++"),
    ("div.rn.f64;", "C++"),
    ("div.approx.f32;", "C++"),
    ("div.full.f32;", "C++"),
    ("div.", "=C++"),
    ("max.", "=`max`, or `fmaxf`"),
    ("min.", "=`min`, or `fminf`"),
    ("abs.", "=`abs`, or `fabsf`"),
    ("neg.", "=C++"),
    ("and.", "C++"),
    ("or.", "C++"),
    ("xor.", "C++"),
    ("not.", "C++"),
    ("shl.", "C++, for amounts below the width"),
    ("shr.", "C++, for amounts below the width"),
    ("sad.s32;", "`__sad`"),
    ("sad.u32;", "`__usad`"),
    ("sad.", ""),
    ("setp.", "=C++"),
    ("set.", "set"),
    ("selp.", "C++: `?:`"),
    ("testp.", "`isnan` and related functions"),
    ("copysign.", "`copysignf`, with the operands swapped"),
    ("vadd2.", ""),
    ("vadd4.", ""),
    ("vsub2.", ""),
    ("vsub4.", ""),
    ("vset2.", ""),
    ("vset4.", ""),
    (
        "tex.",
        "nothing on CDNA: loads from a buffer, and the filter in C++",
    ),
    ("suld.", "nothing on CDNA: loads from a buffer"),
    ("sust.", "nothing on CDNA: stores to a buffer"),
    ("trap;", "`__builtin_trap()`"),
    ("brkpt;", "`__builtin_debugtrap()`"),
    ("exit;", "`return` from the kernel"),
    ("pmevent", "nothing: remove it"),
    (".reg", ""),
];

/// Parts of a name that C++ operators and functions do not have: rounding, flushed subnormals, saturation, carry, half
/// products, and types of several numbers.
const MODIFIERS: &str = "rn rz rm rp approx full ftz sat relu NaN xorsign cc hi \
    f16 bf16 f16x2 bf16x2 f32x2 s16x2 u16x2 v2 v4 v8";

/// The rank and the text of an instruction's row; the lowest rank is the most specific.
pub(super) fn row_of(name: &str) -> Option<(usize, &'static str)> {
    let ended = format!("{name};");
    let mut rows = INSTRUCTIONS.iter().enumerate();
    rows.find(|(_, (begin, _))| ended.starts_with(begin) && name.is_ascii())
        .map(|(rank, (_, row))| (rank, *row))
}

/// The equivalent with the same result as the instruction, from its row of the table.
pub(super) fn equivalent(name: &str, row: &str) -> Option<String> {
    let has = |words: &str| name.split(['.', ':']).any(|part| listed(words, part));
    let text = match row {
        "" => return None,
        "cvt" => return conversion(name),
        "fence" if has("cta") => "`__threadfence_block()`",
        "fence" if has("sys") => "`__threadfence_system()`",
        "fence" => "`__threadfence()`",
        "load" | "store" if has("cluster") => "nothing: there are no clusters",
        "load" if has("volatile mmio") => "a load through a volatile pointer",
        "store" if has("volatile mmio") => "a store through a volatile pointer",
        "load" | "store" if has("relaxed acquire release") => {
            return Some(format!(
                "`__hip_atomic_{row}` with the same order and scope"
            ));
        }
        "load" => "a plain load, or `__builtin_nontemporal_load`",
        "store" => "a plain store, or `__builtin_nontemporal_store`",
        // All bits of an integer.
        "set" if !has("ftz f16x2 bf16x2") && (name.contains(".u32.") || name.contains(".s32.")) => {
            "C++: `? ~0u : 0`"
        }
        "set" => return None,
        _ => match row.strip_prefix('=') {
            Some(_) if has(MODIFIERS) => return None,
            plain => plain.unwrap_or(row),
        },
    };
    Some(text.to_owned())
}

/// The conversion with the same rounding and range: `cvt.rni.s32.f32` is `__float2int_rn`.
fn conversion(name: &str) -> Option<String> {
    let mut parts: Vec<&str> = name.split('.').skip(1).collect();
    let (from, to) = (parts.pop()?, parts.pop()?);
    let mut takes = |word: &str| {
        let at = parts.iter().position(|part| *part == word);
        at.map(|at| parts.remove(at)).is_some()
    };
    let (flushes, saturates) = (takes("ftz"), takes("sat"));
    let rounding = parts.pop().unwrap_or_default();
    let bits = |kind: &str| kind.trim_start_matches(['s', 'u', 'f']).parse::<u32>().ok();
    let is_integer = |kind: &str| kind.starts_with(['s', 'u']) && bits(kind).is_some();
    // The range of a type that is smaller than an int.
    let limits = match to {
        "u8" => Some("0), 255"),
        "s8" => Some("-128), 127"),
        "u16" => Some("0), 65535"),
        "s16" => Some("-32768), 32767"),
        _ => None,
    };
    let clamped = |value: &str| limits.map(|limits| format!("`min(max({value}, {limits})`"));
    // `.relu`, `.satfinite`, `.pack`
    if !parts.is_empty() {
        return None;
    }
    const CAST: &str = "a C++ conversion";
    let text = match (is_integer(from), is_integer(to)) {
        (true, true) if saturates => {
            return clamped("x").filter(|_| from == "s32" && rounding.is_empty());
        }
        (true, true) if rounding.is_empty() => CAST,
        (true, false) => {
            let is_exact = bits(from)? < if to == "f64" { 64 } else { 24 };
            let is_cast = !saturates && (rounding == "rn" || is_exact);
            return (matches!(to, "f32" | "f64") && is_cast).then(|| CAST.to_owned());
        }
        (false, true) => {
            let mode = match rounding {
                "rni" => "rn",
                "rzi" => "rz",
                // A subnormal number rounds to 1 or -1 if it is not flushed.
                "rmi" if !flushes => "rd",
                "rpi" if !flushes => "ru",
                _ => return None,
            };
            let value = match from {
                "f32" => "x",
                "f16" => "__half2float(x)",
                _ => return None,
            };
            let integer = match to {
                "u32" => "uint",
                _ if limits.is_some() || to == "s32" => "int",
                _ => return None,
            };
            let call = format!("__float2{integer}_{mode}({value})");
            return clamped(&call).or(Some(format!("`{call}`")));
        }
        _ if saturates => return None,
        _ => match (from, to, rounding) {
            ("f16", "f32", "") => "`__half2float`",
            ("bf16", "f32", "") => "`__bfloat162float`",
            ("f32", "f16", "rn") => "`__float2half_rn`",
            ("f32", "bf16", "rn") => "`__float2bfloat16`",
            ("f32", "f16x2", "rn") => "`__floats2half2_rn`, with the operands swapped",
            ("f32", "bf16x2", "rn") => "`__float22bfloat162_rn`, with the operands swapped",
            _ if flushes => return None,
            ("f32", "f64", "") | ("f64", "f32", "rn") => CAST,
            ("f32", "f32", "rni") => "`rintf`",
            ("f32", "f32", "rzi") => "`truncf`",
            ("f32", "f32", "rmi") => "`floorf`",
            ("f32", "f32", "rpi") => "`ceilf`",
            _ => return None,
        },
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalents_have_the_same_result() {
        let amds = |name: &str| {
            let (_, row) = row_of(name).expect(name);
            equivalent(name, row).unwrap_or_default()
        };
        for (name, wanted) in [
            ("cvt.rni.s32.f32", "`__float2int_rn(x)`"),
            ("cvt.rzi.u32.f32", "`__float2uint_rz(x)`"),
            ("cvt.rmi.s32.f32", "`__float2int_rd(x)`"),
            ("cvt.rmi.ftz.s32.f32", ""),
            ("cvt.rni.ftz.s32.f32", "`__float2int_rn(x)`"),
            ("cvt.rni.sat.s32.f16", "`__float2int_rn(__half2float(x))`"),
            (
                "cvt.rni.sat.u8.f32",
                "`min(max(__float2int_rn(x), 0), 255)`",
            ),
            (
                "cvt.rzi.sat.s8.f32",
                "`min(max(__float2int_rz(x), -128), 127)`",
            ),
            ("cvt.rni.s64.f32", ""),
            ("cvt.rzi.s32.f64", ""),
            ("cvt.sat.u8.s32", "`min(max(x, 0), 255)`"),
            ("cvt.sat.u8.u32", ""),
            ("cvt.u64.u32", "a C++ conversion"),
            ("cvt.pack.sat.u8.s32.b32", ""),
            ("cvt.rn.f32.s32", "a C++ conversion"),
            ("cvt.rz.f32.s32", ""),
            ("cvt.rz.f32.u16", "a C++ conversion"),
            ("cvt.rn.sat.f32.u32", ""),
            ("cvt.f32.f16", "`__half2float`"),
            ("cvt.rn.f16.f32", "`__float2half_rn`"),
            ("cvt.rz.f16.f32", ""),
            ("cvt.rn.relu.f16.f32", ""),
            ("cvt.rn.ftz.f32.f64", ""),
            ("cvt.rmi.f32.f32", "`floorf`"),
            ("cvt.sat.f32.f32", ""),
            ("cvt.rna.tf32.f32", ""),
            ("cvt.rn.satfinite.e4m3x2.f32", ""),
            (
                "cvt.rn.bf16x2.f32",
                "`__float22bfloat162_rn`, with the operands swapped",
            ),
            ("fma.rn.f32", "`fmaf`"),
            ("fma.rn.ftz.f32", ""),
            ("fma.rm.f32", ""),
            ("fma.rz.f64", ""),
            ("fma.rn.f16x2", "`__hfma2`"),
            ("fma.rn.bf16x2", ""),
            ("add.u64", "C++"),
            ("add.rz.f32", ""),
            ("add.sat.s32", ""),
            ("sub.f16x2", "`__hsub2`"),
            ("mul.f16", "`__hmul`"),
            ("mul.sat.f16x2", ""),
            ("mul.hi.s32", "`__mulhi`"),
            ("mul.lo.u32", "C++"),
            ("mul.rn.f32", ""),
            ("max.NaN.f32", ""),
            ("min.s32", "`min`, or `fminf`"),
            ("rcp.approx.ftz.f64", ""),
            ("rcp.rn.f32", "`1.0f / x`"),
            ("sqrt.rz.f32", ""),
            ("div.rn.ftz.f32", ""),
            ("bfe.s32", ""),
            ("popc.b64", "`__popcll`"),
            ("shf.r.clamp.b32", "`__funnelshift_rc`"),
            ("set.ge.u32.s32", "C++: `? ~0u : 0`"),
            ("set.ge.f32.s32", ""),
            ("setp.lt.ftz.f32", ""),
            ("membar.cta", "`__threadfence_block()`"),
            ("fence.acq_rel.sys", "`__threadfence_system()`"),
            (
                "ld.global.acquire.gpu.b32",
                "`__hip_atomic_load` with the same order and scope",
            ),
            (
                "st.volatile.global.u32",
                "a store through a volatile pointer",
            ),
            (
                "ld.global.nc.b32",
                "a plain load, or `__builtin_nontemporal_load`",
            ),
        ] {
            assert_eq!(amds(name), wanted, "{name}");
        }
    }
}
