//! HW709: NVIDIA's assembly inside a Triton kernel.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{argument, called, contains_any};
use crate::semantic::string_parts;
use crate::syntax::{Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `tl.inline_asm_elementwise` with PTX, NVIDIA's assembly language, and names the equivalent on an AMD GPU.
    ///
    /// ## Why on ROCm
    ///
    /// Triton passes the text to the target's assembler, and AMD's assembler does not support PTX. Triton 3.9 prints
    /// "could not allocate output register" and may continue with a kernel that computes a different result. Most such
    /// lines have an equivalent in Triton, which also runs on NVIDIA.
    ///
    /// ## Example
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def fast_exp2(x):
    ///     return tl.inline_asm_elementwise("ex2.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def fast_exp2(x):
    ///     return tl.exp2(x)
    /// ```
    ///
    /// If assembly is necessary, write both versions, and select one by a `tl.constexpr` that the host sets from
    /// `torch.version.hip`. AMD's constraints are `v` and `s` registers in place of PTX's `f`, `r`, `h`, `l`.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the author has to check what the assembly computes.
    ///
    /// ## References
    ///
    /// * [triton.language.inline_asm_elementwise](https://triton-lang.org/main/python-api/generated/triton.language.inline_asm_elementwise.html)
    /// * [LLVM: AMDGPU inline assembly constraints](https://llvm.org/docs/LangRef.html#supported-constraint-code-list)
    /// * [AMD Instinct MI300 instruction set architecture](https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/instruction-set-architectures/amd-instinct-mi300-cdna3-instruction-set-architecture.pdf)
    "HW709" "triton-inline-ptx" {
        title: "PTX inside a Triton kernel",
        family: Triton,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("optimize/fused-rmsnorm"),
        visit: [Call],
    }
}

/// Prefixes of PTX instructions, and the AMD equivalents.
const EQUIVALENTS: &[(&str, &str)] = &[
    ("tanh", "Write it as 2 * tl.sigmoid(2 * x) - 1"),
    ("ex2", "Use tl.exp2, which becomes v_exp_f32"),
    ("lg2", "Use tl.log2, which becomes v_log_f32"),
    ("rcp", "Write 1 / x; AMD's instruction is v_rcp_f32"),
    ("rsqrt", "Use tl.rsqrt, which becomes v_rsq_f32"),
    (
        "cvt",
        "Convert with .to(dtype), which truncates: round with libdevice.rint and clamp before",
    ),
    ("fma", "Use tl.fma, which rounds to nearest"),
    ("prmt", "Shift and mask; AMD's instruction is v_perm_b32"),
    (
        "lop3",
        "Write it with & | ^; LLVM finds v_bfi_b32 and v_and_or_b32",
    ),
    (
        "shfl",
        "Reduce with tl.sum, tl.max or tl.reduce, which use DPP instructions",
    ),
    ("ld", "Use tl.load with cache_modifier and volatile"),
    ("st", "Use tl.store with cache_modifier"),
    ("atom", "Use tl.atomic_add or similar"),
    ("red", "Use tl.atomic_add or similar"),
    ("bar", "Use tl.debug_barrier"),
    ("membar", "Use an atomic with sem=\"acq_rel\""),
    ("fence", "Use an atomic with sem=\"acq_rel\""),
    (
        "griddepcontrol",
        "There is no equivalent: AMD GPUs have no dependent launch",
    ),
    (
        "cp",
        "There is no equivalent; tl.load pipelines by num_stages",
    ),
    ("mma", "Use tl.dot, which becomes matrix instructions"),
];

fn check(cx: &PythonChecker<'_>, call: Node) {
    if called(cx, call) != "inline_asm_elementwise" {
        return;
    }
    let is_triton = cx
        .callee(call)
        .is_some_and(|name| name.is_in("triton.language"));
    let Some(text) = argument(cx, call, 0, "asm").filter(|_| is_triton) else {
        return;
    };
    let parts = string_parts(&cx.semantics, text);
    let assembly = parts.concat();
    // `v_exp_f32`, `s_memrealtime`, `global_load_dword`, `ds_read`: AMD instructions.
    if assembly.is_empty() || contains_any(&assembly, &["v_", "s_", "ds_", "buffer_", "global_"]) {
        return;
    }
    let tree = cx.tree();
    let first = instruction(&assembly);
    let special = [
        ("%smid", "Read it with triton.language.extra.hip's smid"),
        (
            "%globaltimer",
            "Read the clock with triton.language.extra.hip's memrealtime",
        ),
    ]
    .iter()
    .find(|(register, _)| assembly.contains(register));
    let stem = first.split('.').next().unwrap_or_default();
    let known = EQUIVALENTS.iter().find(|(name, _)| *name == stem);
    let title = special.or(known).map_or(
        "Write it in plain Triton, or select assembly by target",
        |(_, title)| title,
    );
    let what = if first.is_empty() { "this" } else { first };
    let place = if tree.kind(text) == Kind::Identifier {
        call
    } else {
        text
    };
    cx.report(
        &RULE,
        place,
        format!("{what} is PTX, which AMD's assembler does not support."),
        RawFix::display_only(title),
    );
}

/// The first instruction: `cvt.rn.bf16x2.f32`; declarations such as `.reg` are not.
fn instruction(assembly: &str) -> &str {
    assembly
        .split([' ', '\t', '\n', '\r', ';', '{', '}', ','])
        .find(|word| {
            word.contains('.')
                && word.starts_with(|first: char| first.is_ascii_lowercase())
                && word
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '_'))
        })
        .unwrap_or_default()
}
