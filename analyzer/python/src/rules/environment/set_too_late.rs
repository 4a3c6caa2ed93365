//! HW211: a variable that is set after HIP has read it.

use crate::checker::{PythonChecker, RawFix};
use crate::semantic::{Access, environment_variable};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds variables of the HIP and HSA runtimes that are set after the first call that starts the runtime, in the
    /// same block of code. For the allocator's variable see [cuda-alloc-conf](/rules/cuda-alloc-conf/).
    ///
    /// ## Why on ROCm
    ///
    /// The runtimes read their environment once, when a call first needs a device. `torch.cuda.is_available()` is such
    /// a call. A later setting has no effect in this process, although `os.environ` shows it.
    ///
    /// ## Example
    ///
    /// ```python
    /// import os
    ///
    /// import torch
    ///
    /// if torch.cuda.is_available():
    ///     os.environ["HIP_VISIBLE_DEVICES"] = "0"
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["HIP_VISIBLE_DEVICES"] = "0"
    ///
    /// import torch
    /// ```
    ///
    /// It is better to set the variable where the process is started.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the author has to decide which line can move up.
    ///
    /// ## References
    ///
    /// * [GPU isolation techniques](https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html)
    /// * [HIP environment variables](https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html)
    "HW211" "set-too-late" {
        title: "HIP has already read this variable",
        family: Environment,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/environment"),
        visit: [Subscript, Call, Pair, KeywordArgument],
    }
}
/// The variables that the runtimes read when they start.
const VARIABLES: &[&str] = &[
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION",
    "HSA_XNACK",
    "HSA_ENABLE_SDMA",
    "HSA_NO_SCRATCH_RECLAIM",
    "GPU_MAX_HW_QUEUES",
    "AMD_SERIALIZE_KERNEL",
    "AMD_SERIALIZE_COPY",
    "AMD_LOG_LEVEL",
    "HIP_LAUNCH_BLOCKING",
    "HIP_FORCE_DEV_KERNARG",
];

/// Calls that start the runtime. `torch.cuda.device_count()` does not have to: it can query the driver's library
/// instead.
const STARTS: &[&str] = &[
    "torch.cuda.init",
    "torch.cuda.is_available",
    "torch.cuda.current_device",
    "torch.cuda.set_device",
    "torch.cuda.get_device_name",
    "torch.cuda.get_device_properties",
    "torch.cuda.get_device_capability",
    "torch.cuda.mem_get_info",
    "torch.cuda.synchronize",
    "torch.cuda.Stream",
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    let Some(variable) = environment_variable(&cx.semantics, node, VARIABLES) else {
        return;
    };
    if variable.access != Access::Set {
        return;
    }
    let names = &cx.semantics.names;
    let tree = cx.tree();
    let scope = names.scope_of(node);
    let starts = cx.once(RULE.id, || {
        tree.nodes()
            .filter(|call| tree.kind(*call) == Kind::Call && starts_runtime(cx, *call))
            .collect()
    });
    let is_started = cx.may_look_at(starts.len())
        && starts
            .iter()
            .take_while(|start| **start < node)
            .any(|start| names.scope_of(*start) == scope && runs_before(cx, *start, node));
    if is_started {
        let name = &variable.name;
        cx.report(
            &RULE,
            tree.statement(node),
            format!("HIP reads {name} once, when it starts, and an earlier call has started it: this line has no effect."),
            RawFix::display_only("Set it before the first use of the GPU, or before Python starts"),
        );
    }
}

fn starts_runtime(cx: &PythonChecker<'_>, call: Node) -> bool {
    cx.callee(call).is_some_and(|name| name.is_any(STARTS))
}

/// True unless the two are in different branches of one `if` or `try`.
fn runs_before(cx: &PythonChecker<'_>, start: Node, node: Node) -> bool {
    let tree = cx.tree();
    // The branch of `start` has to contain `node` too; a condition is evaluated for every branch.
    let mut child = start;
    for parent in tree.ancestors(start) {
        if tree.contains(parent, node) {
            return !matches!(tree.field(child), Field::Consequence | Field::Alternative);
        }
        let is_branch = match tree.kind(parent) {
            Kind::IfStatement | Kind::TryStatement => tree.field(child) != Field::Condition,
            // Its condition is the middle one of three.
            Kind::ConditionalExpression => tree.parts(parent).nth(1) != Some(child),
            _ => false,
        };
        if is_branch {
            return false;
        }
        child = parent;
    }
    true
}
