//! HW702: deep software pipelines tuned for NVIDIA GPUs.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::keyword;
use crate::rules::helpers::kernels::{is_named_after_nvidia, takes_launch_options};
use crate::semantic::integer;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds Triton launches with `num_stages` of 3 or more, and lists and comprehensions of `triton.Config` in which no
    /// entry has 2 or fewer.
    ///
    /// ## Why on ROCm
    ///
    /// `num_stages` is the number of tiles of a loop that are in flight. Each stage uses LDS: a workgroup has at most 64
    /// KB on most AMD GPUs, 160 KB on MI350 and 320 KB on gfx1250, while an H100 has more than 200 KB. AMD's guide recommends 2 for a
    /// kernel with one matrix product, and 1 for two fused ones, such as attention. A configuration that does not fit
    /// fails; one that fits may leave room for only one workgroup. An autotuner selects from its list of
    /// configurations: add 1 and 2 as well, and let it measure.
    ///
    /// ## Example
    ///
    /// ```python
    /// import triton
    ///
    /// CONFIGS = [
    ///     triton.Config({"BLOCK_M": 128, "BLOCK_N": 128}, num_stages=4, num_warps=8),
    ///     triton.Config({"BLOCK_M": 64, "BLOCK_N": 128}, num_stages=3, num_warps=4),
    /// ]
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import triton
    ///
    /// CONFIGS = [
    ///     triton.Config({"BLOCK_M": 128, "BLOCK_N": 128}, num_stages=2, num_warps=8),
    ///     triton.Config({"BLOCK_M": 64, "BLOCK_N": 128}, num_stages=3, num_warps=4),
    /// ]
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the best depth has to be measured.
    ///
    /// ## References
    ///
    /// * [MI300X workload optimization: Triton kernel performance](https://rocm.docs.amd.com/en/latest/how-to/rocm-for-ai/inference-optimization/workload.html)
    /// * [Optimizing Triton kernels (ROCm)](https://rocm.docs.amd.com/projects/ai-ecosystem/en/latest/optimization/optimize-triton-kernels.html)
    "HW702" "triton-num-stages" {
        title: "More pipeline stages than AMD's guide recommends",
        family: Triton,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "targets with less LDS than an H100: all but gfx1250",
        lesson: Some("optimize/wavefronts-and-loads"),
        visit: [KeywordArgument],
    }
}

/// The largest number of stages that AMD's guide recommends.
const MOST: i64 = 2;

/// Shared memory of a thread block on an H100, in KiB (CUDA programming guide: 227).
const LDS_OF_H100: u32 = 227;

fn check(cx: &PythonChecker<'_>, stages: Node) {
    let tree = cx.tree();
    let is_named = tree
        .child(stages, Field::Name)
        .is_some_and(|name| tree.text(name) == "num_stages");
    if !is_named
        || cx.target().arch.lds_kib() >= LDS_OF_H100
        || !tree
            .child(stages, Field::Value)
            .is_some_and(|value| is_deep(cx, value))
    {
        return;
    }
    let Some(call) = tree.parent(stages).and_then(|list| tree.parent(list)) else {
        return;
    };
    if !takes_launch_options(cx, call) || is_named_after_nvidia(cx, stages) {
        return;
    }
    let list = tree
        .parent(call)
        .filter(|parent| tree.kind(*parent) == Kind::List);
    if let Some(list) = list
        && !is_first_of_deep_list(cx, list, call)
    {
        return;
    }
    cx.report(
        &RULE,
        stages,
        format!(
            "AMD's guide recommends num_stages=2 for one matrix product and 1 for two; more stages need more LDS, of which a workgroup has {} KB on {}.",
            cx.target().arch.lds_kib(),
            cx.target().arch.name(),
        ),
        RawFix::display_only("Add 1 and 2 as well, and measure"),
    );
}

fn is_deep(cx: &PythonChecker<'_>, value: Node) -> bool {
    let is_deep = |value| integer(&cx.semantics, value).is_some_and(|stages| stages > MOST);
    is_deep(value)
        || values_of_loop(cx, value).is_some_and(|list| {
            let mut values = cx.tree().parts(list).peekable();
            values.peek().is_some() && values.all(is_deep)
        })
}

/// `(3, 4)` for the last `s` of `[triton.Config({}, num_stages=s) for s in (3, 4)]`.
fn values_of_loop(cx: &PythonChecker<'_>, name: Node) -> Option<Node> {
    let tree = cx.tree();
    if tree.kind(name) != Kind::Identifier {
        return None;
    }
    let clause = tree
        .ancestors(name)
        .take_while(|around| tree.kind(*around) != Kind::Block)
        .filter(|around| {
            matches!(
                tree.kind(*around),
                Kind::ListComprehension | Kind::GeneratorExpression
            )
        })
        .flat_map(|comprehension| tree.parts(comprehension))
        .filter(|part| tree.kind(*part) == Kind::ForInClause)
        .find(|clause| {
            tree.child(*clause, Field::Left)
                .is_some_and(|left| tree.text(left) == tree.text(name))
        })?;
    let list = cx.semantics.expression(tree.child(clause, Field::Right)?);
    matches!(tree.kind(list), Kind::List | Kind::Tuple).then_some(list)
}

/// Every configuration of the list is deep, and `call` is its first.
fn is_first_of_deep_list(cx: &PythonChecker<'_>, list: Node, call: Node) -> bool {
    let tree = cx.tree();
    let all_deep = tree.parts(list).all(|config| {
        tree.kind(config) == Kind::Call
            && keyword(cx, config, "num_stages").is_some_and(|value| is_deep(cx, value))
    });
    all_deep && tree.parts(list).next() == Some(call)
}
