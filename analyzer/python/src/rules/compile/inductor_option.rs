//! HW507: Inductor options without effect.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, has_text};
use crate::semantic::{string, string_parts};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds Inductor options that have no effect, assigned to `torch._inductor.config`, patched, or in
    /// `torch.compile(options={…})`:
    ///
    /// * `max_autotune_gemm_backends` if nothing in the source enables `max_autotune`, and its entry `CUTLASS`;
    /// * values that are the default: `memory_planning=False`, `triton.cudagraphs=False`,
    ///   `triton.cudagraph_trees=True`, `epilogue_fusion=True`;
    /// * settings that do nothing according to PyTorch: `use_mixed_mm`, `mixed_mm_choice`;
    /// * settings for NVIDIA GPUs only: `cuda.*`, `triton.enable_persistent_tma_matmul`.
    ///
    /// ## Why on ROCm
    ///
    /// `max_autotune_gemm_backends="ATEN"` is often recommended as the way to force rocBLAS or hipBLASLt. It only
    /// selects the candidates that are tried *when* autotuning is on; without autotuning, Inductor uses ATen already.
    /// Inductor skips CUTLASS on ROCm. Options without effect make it hard to see which option has one. Check the
    /// environment too: some AMD container images set `TORCHINDUCTOR_MAX_AUTOTUNE=1`, and then the line has an effect.
    /// In this case suppress the finding with `# hipward: ignore[inductor-option]`.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// torch._inductor.config.max_autotune_gemm_backends = "ATEN"
    /// model = torch.compile(torch.nn.Linear(8, 8))
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// model = torch.compile(torch.nn.Linear(8, 8))
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the environment may enable autotuning when the source does not.
    ///
    /// ## References
    ///
    /// * [torch/_inductor/config.py](https://github.com/pytorch/pytorch/blob/main/torch/_inductor/config.py)
    /// * [torch/_inductor/utils.py: use_cutlass_template, use_triton_template](https://github.com/pytorch/pytorch/blob/main/torch/_inductor/utils.py)
    /// * [AMD's workload tuning guide](https://rocm.docs.amd.com/en/latest/how-to/rocm-for-ai/inference-optimization/workload.html)
    "HW507" "inductor-option" {
        title: "This Inductor option has no effect",
        family: Compile,
        severity: Info,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("optimize/compile-options"),
        visit: [Assignment, Pair, KeywordArgument],
    }
}

const CONFIG: &str = "torch._inductor.config";

fn check(cx: &PythonChecker<'_>, node: Node) {
    if !has_text(cx, "torch") {
        return;
    }
    let Some((option, value)) = option(cx, node) else {
        return;
    };
    let Some(why) = without_effect(cx, &option, value) else {
        return;
    };
    cx.report(&RULE, node, why, RawFix::display_only("Remove it"));
}

/// The option that `node` sets, such as `triton.cudagraphs`, and its value.
fn option(cx: &PythonChecker<'_>, node: Node) -> Option<(String, Node)> {
    let tree = cx.tree();
    if tree.kind(node) == Kind::Assignment {
        let left = tree.child(node, Field::Left)?;
        if tree.kind(left) != Kind::Attribute {
            return None;
        }
        let name = cx.resolve(left).filter(|name| name.is_in(CONFIG))?;
        return Some((name.parts()[3..].join("."), tree.child(node, Field::Right)?));
    }
    let value = tree.child(node, Field::Value)?;
    let holder = tree.parent(node)?;
    if tree.kind(node) == Kind::KeywordArgument {
        let is_patch = called(cx, tree.parent(holder)?) == "patch"
            && cx
                .callee(tree.parent(holder)?)?
                .is("torch._inductor.config.patch");
        let name = tree.child(node, Field::Name).filter(|_| is_patch)?;
        return Some((tree.text(name).to_owned(), value));
    }
    // `options={"…": …}` of torch.compile, or config.patch({"…": …})
    let around = tree.parent(holder)?;
    let call = match tree.kind(around) {
        Kind::KeywordArgument if tree.text(tree.child(around, Field::Name)?) == "options" => {
            tree.parent(tree.parent(around)?)?
        }
        Kind::ArgumentList => tree.parent(around)?,
        _ => return None,
    };
    let takes_options = cx
        .callee(call)
        .is_some_and(|name| name.is_any(&["torch.compile", "torch._inductor.config.patch"]));
    let key = tree.child(node, Field::Key).filter(|_| takes_options)?;
    // An option in `**others` may be the reason to turn this one off.
    if cx.any_within(holder, &|part| {
        tree.kind(part) == Kind::DictionarySplat && tree.parent(part) == Some(holder)
    }) {
        return None;
    }
    Some((string(&cx.semantics, key)?.to_owned(), value))
}

fn without_effect(cx: &PythonChecker<'_>, option: &str, value: Node) -> Option<&'static str> {
    let is_false = cx.tree().kind(value) == Kind::False;
    let is_true = cx.tree().kind(value) == Kind::True;
    match option {
        "max_autotune_gemm_backends" => {
            if !turns_autotune_on(cx) {
                return Some(
                    "This has no effect unless max_autotune or max_autotune_gemm is on; without them ATen (hipBLASLt, rocBLAS) is used already.",
                );
            }
            let names_cutlass = string_parts(&cx.semantics, value)
                .iter()
                .any(|part| part.to_ascii_uppercase().contains("CUTLASS"));
            names_cutlass.then_some("Inductor skips CUTLASS on ROCm; its AMD equivalent is CK.")
        }
        "memory_planning" | "triton.cudagraphs" if is_false => Some("This is the default."),
        "epilogue_fusion" if is_true => Some("This is the default."),
        "triton.cudagraph_trees" if is_true => {
            Some("This is the default, and has no effect if triton.cudagraphs is off.")
        }
        "use_mixed_mm" | "mixed_mm_choice" => {
            Some("PyTorch keeps this option for compatibility only; it has no effect.")
        }
        "triton.enable_persistent_tma_matmul" => {
            Some("This needs NVIDIA's tensor memory accelerator; Inductor ignores it on ROCm.")
        }
        _ if option.starts_with("cuda.") || option.starts_with("cutlass.") => {
            Some("This configures Inductor's CUTLASS backend, which it skips on ROCm.")
        }
        _ => None,
    }
}

/// True if anything in the source may enable autotuning: another option, a mode, an environment variable.
fn turns_autotune_on(cx: &PythonChecker<'_>) -> bool {
    let tree = cx.tree();
    let find = || {
        let is_switch = |text: &str| {
            matches!(text, "max_autotune" | "max_autotune_gemm")
                || text.starts_with("max-autotune")
                || text.starts_with("TORCHINDUCTOR_MAX_AUTOTUNE")
        };
        tree.nodes()
            .find(|node| {
                matches!(tree.kind(*node), Kind::Identifier | Kind::StringContent)
                    && is_switch(tree.text(*node))
            })
            .into_iter()
            .collect()
    };
    !cx.once("max_autotune", find).is_empty()
}
