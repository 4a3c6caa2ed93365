//! HW909: NVIDIA assembly in `asm`.

use crate::{CudaChecker, Kind, Source, Tokens};
use hipward_analyzer_core::diagnostic::RawFix;

declare_rule! {
    /// ## What it does
    ///
    /// Finds PTX in `asm` statements, and names the first instruction and its AMD equivalent. Empty `asm` barriers and
    /// CPU assembly are not reported.
    ///
    /// ## Why on ROCm
    ///
    /// PTX is NVIDIA's assembly language. The compiler passes the text to the assembler of the AMD GPU, which does not
    /// support it. No converter translates it, including PyTorch's hipify.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __device__ unsigned lane_id() {
    ///     unsigned lane;
    ///     asm volatile("mov.u32 %0, %laneid;" : "=r"(lane));
    ///     return lane;
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __device__ unsigned lane_id() {
    ///     return __lane_id();
    /// }
    /// ```
    ///
    /// For both vendors, put the PTX in the `#else` branch of `#ifdef USE_ROCM`; it is not reported there.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the author has to translate operands and memory order.
    ///
    /// ## References
    ///
    /// * [PTX instruction set](https://docs.nvidia.com/cuda/parallel-thread-execution/)
    /// * [LLVM AMDGPU builtins](https://clang.llvm.org/docs/AMDGPUBuiltinReference.html)
    "HW909" "inline-ptx" {
        title: "PTX is NVIDIA's assembly",
        family: CudaCpp,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

/// Prefixes of PTX instructions, the more specific ones first, and the AMD equivalents.
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
    ("fence.", "`__threadfence()` or `__threadfence_block()`"),
    ("membar.", "`__threadfence()` or `__threadfence_block()`"),
    ("bar.", "`__syncthreads()`; there are no named barriers"),
    (
        "barrier.",
        "`__syncthreads()`; there are no clusters and named barriers",
    ),
    ("shfl.", "`__shfl` and related functions"),
    ("vote.", "`__ballot`, `__any`, `__all`"),
    ("redux.", "a reduction over `__shfl_xor`"),
    ("match.", "`__match_any`"),
    ("elect.", "the first set bit of `__ballot(1)`"),
    ("activemask.", "`__ballot(1)`"),
    ("prmt.", "`__builtin_amdgcn_perm`"),
    (
        "lop3.",
        "`&`, `|` and `^`: the compiler generates `v_bfi`, `v_and_or` and similar",
    ),
    ("bfe.", "`__bitextract_u32`"),
    ("bfi.", "`__bitinsert_u32`"),
    ("brev.", "`__brev`"),
    ("bfind.", "`__clz`"),
    ("clz.", "`__clz`"),
    ("popc.", "`__popc`"),
    ("shf.", "`__funnelshift_l` or `__funnelshift_r`"),
    ("dp4a.", "`__builtin_amdgcn_sdot4`"),
    ("vabsdiff4.", "`__builtin_amdgcn_sad_u8`"),
    ("ex2.", "`exp2f`, or `__builtin_amdgcn_exp2f`"),
    ("lg2.", "`log2f`, or `__builtin_amdgcn_logf`"),
    ("rcp.", "`__frcp_rn`, or `__builtin_amdgcn_rcpf`"),
    ("rsqrt.", "`rsqrtf`, or `__builtin_amdgcn_rsqf`"),
    ("sqrt.", "`sqrtf`"),
    ("tanh.", "`tanhf`"),
    ("sin.", "`__sinf`"),
    ("cos.", "`__cosf`"),
    ("fma.", "`fmaf`, or `__hfma2` for packed halves"),
    (
        "cvt.",
        "a C++ conversion, or HIP's for `__half`, `__hip_bfloat16` and fp8",
    ),
    ("cvta.", "nothing: a pointer needs no conversion"),
    ("isspacep.", "`__builtin_amdgcn_is_shared`"),
    ("ld.", "a plain load, or `__builtin_nontemporal_load`"),
    ("ldu.", "a plain load"),
    ("st.", "a plain store, or `__builtin_nontemporal_store`"),
    (
        "atom.",
        "`atomicAdd` and related functions, or `__hip_atomic_…`",
    ),
    (
        "red.",
        "`atomicAdd` and related functions, or `__hip_atomic_…`",
    ),
    ("multimem.", "RCCL: there is no multicast memory"),
    ("prefetch.", "`__builtin_prefetch`"),
    ("discard.", "nothing: remove it"),
    ("applypriority.", "nothing: remove it"),
    ("createpolicy.", "nothing: remove the cache hint"),
    ("nanosleep.", "`__builtin_amdgcn_s_sleep`"),
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
        "C++, or `__lane_id()`, `wall_clock64()` and similar for special registers",
    ),
    ("add.", "C++; `__builtin_addc` carries"),
    ("addc.", "`__builtin_addc`"),
    ("sub.", "C++; `__builtin_subc` borrows"),
    ("subc.", "`__builtin_subc`"),
    ("mad.", "C++"),
    ("madc.", "`__builtin_addc` with a product"),
    ("mul.", "C++; `__umulhi` for the upper half"),
    ("mul24.", "`__mul24`"),
    ("mad24.", "`__mul24` and an addition"),
    ("div.", "C++"),
    ("max.", "`max`, `fmaxf`, `__hmax2`"),
    ("min.", "`min`, `fminf`, `__hmin2`"),
    ("abs.", "`fabsf`"),
    ("neg.", "C++"),
    ("and.", "C++"),
    ("or.", "C++"),
    ("xor.", "C++"),
    ("not.", "C++"),
    ("shl.", "C++"),
    ("shr.", "C++"),
    ("sad.", "`__sad`"),
    ("setp.", "C++"),
    ("set.", "C++"),
    ("selp.", "C++: `?:`"),
    ("testp.", "`isnan` and related functions"),
    ("copysign.", "`copysignf`"),
    ("vadd2.", "C++"),
    ("vadd4.", "C++"),
    ("vsub2.", "C++"),
    ("vsub4.", "C++"),
    ("vset2.", "C++"),
    ("vset4.", "C++"),
    ("tex.", "nothing on CDNA: loads from a buffer"),
    ("suld.", "nothing on CDNA: loads from a buffer"),
    ("sust.", "nothing on CDNA: stores to a buffer"),
    ("trap;", "`__builtin_trap()`"),
    ("brkpt;", "`__builtin_debugtrap()`"),
    ("exit;", "`return`, or `__builtin_amdgcn_endpgm()`"),
    ("pmevent", "nothing: remove it"),
    (".reg", "C++"),
];

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    for keyword in ["asm", "__asm__", "__asm"] {
        for at in source.places(keyword) {
            if !cx.is_for_both(*at) {
                continue;
            }
            let Some(template) = template(source, *at) else {
                continue;
            };
            if let Some((name, amd)) = instruction(source, template.clone()) {
                cx.report(
                    &RULE,
                    *at..template.end.max(at + 1),
                    format!("`{name}` is PTX, which no AMD GPU supports."),
                    RawFix::display_only(format!("AMD has: {}", for_matrix_units(cx, amd))),
                );
            }
        }
    }
}

/// An equivalent that names MFMA, with the matrix instructions of the target.
fn for_matrix_units(cx: &CudaChecker<'_>, equivalent: &str) -> String {
    let name = cx.target.arch.matrix_instructions();
    equivalent
        .replace("MFMA", name)
        .replace("mfma", &name.to_ascii_lowercase())
}

/// The strings of an `asm` statement up to its first operand.
fn template(source: &Source<'_>, asm: u32) -> Option<Tokens> {
    let mut open = asm + 1;
    while matches!(
        source.token_text(open),
        "volatile" | "__volatile__" | "goto" | "inline"
    ) {
        open += 1;
    }
    if source.token_text(open) != "(" {
        return None;
    }
    let end = source.partner(open).unwrap_or(open);
    // Longer than any template; limits the search so that nested `asm` takes linear time.
    let end = end.min(open + 2_000);
    let stop = (open + 1..end)
        .find(|at| matches!(source.token_text(*at), ":" | "::"))
        .unwrap_or(end);
    Some(open + 1..stop)
}

/// The most specific instruction of the strings.
fn instruction(source: &Source<'_>, template: Tokens) -> Option<(String, &'static str)> {
    let mut best: Option<(usize, String)> = None;
    for at in template.filter(|at| source.kind(*at) == Kind::Text) {
        let text = source.token_text(at);
        let inside = text
            .trim_start_matches(['R', 'L', 'u', 'U', '8'])
            .trim_matches('"');
        // A statement begins after `;`, a brace or a line break, and may have a predicate.
        for statement in inside.split([';', '{', '}', '\n']) {
            for statement in statement.split("\\n") {
                let statement = statement
                    .trim_start_matches("\\t")
                    .trim_start_matches('(')
                    .trim();
                let statement = match statement.strip_prefix('@') {
                    Some(rest) => rest
                        .split_once([' ', '\t'])
                        .map_or("", |(_, rest)| rest)
                        .trim(),
                    None => statement,
                };
                let name = statement
                    .split([' ', '\t', '\\', ',', '"'])
                    .next()
                    .unwrap_or_default();
                let ended = format!("{name};");
                let known = INSTRUCTIONS
                    .iter()
                    .position(|(begin, _)| ended.starts_with(begin) && name.is_ascii());
                if let Some(rank) = known
                    && best.as_ref().is_none_or(|(best, _)| rank < *best)
                {
                    best = Some((rank, name.to_owned()));
                }
            }
        }
    }
    let (rank, name) = best?;
    Some((name, INSTRUCTIONS[rank].1))
}
