//! HW201: configuring the caching allocator.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::contains_any;
use crate::semantic::{Access, environment_variable, string_parts};
use crate::syntax::{Kind, Node};
use hipward_analyzer_core::{Severity, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds three mistakes in configuring PyTorch's caching allocator from Python: a variable's former name, an option
    /// that the target does not support, and a setting after the first tensor on a GPU, or of `backend` after `import torch`.
    ///
    /// ## Why on ROCm
    ///
    /// A ROCm build still reads `PYTORCH_CUDA_ALLOC_CONF`, before the other names, so the severity is info. Since
    /// PyTorch 2.9 the primary name is `PYTORCH_ALLOC_CONF`, for every backend, and some versions warned about the old
    /// one. Before 2.9, ROCm builds have a name of their own, `PYTORCH_HIP_ALLOC_CONF`. `expandable_segments:True`
    /// works on ROCm from ROCm 7 with PyTorch 2.12 on; older versions print a warning and ignore it. The variable is
    /// read once, when the allocator starts, so a line after the first use of a GPU has no effect. `backend` is read by `import torch`.
    ///
    /// ## Example
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:512"
    ///
    /// import torch
    /// ```
    ///
    /// ```dockerfile
    /// FROM rocm/pytorch:latest
    /// ENV PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["PYTORCH_ALLOC_CONF"] = "max_split_size_mb:512"
    ///
    /// import torch
    /// ```
    ///
    /// It is better to set the variable where the process is started.
    ///
    /// ```dockerfile
    /// FROM rocm/pytorch:latest
    /// ENV PYTORCH_ALLOC_CONF=max_split_size_mb:512
    /// ```
    ///
    /// ## Fix safety
    ///
    /// As a replacement for the CUDA name, the new name is safe from PyTorch 2.9 on, because it means the same on every
    /// backend. It is unsafe in a source that also reads the old name. As a replacement for the HIP name it is unsafe,
    /// because a CUDA build then reads it too. For an older target the fix is unsafe: `PYTORCH_HIP_ALLOC_CONF` does
    /// nothing on a CUDA build. The fixes of the other two mistakes are display-only.
    ///
    /// ## References
    ///
    /// * [CUDA semantics: memory management](https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf)
    /// * [HIP (ROCm) semantics](https://docs.pytorch.org/docs/stable/notes/hip.html)
    /// * [Expandable segments on ROCm: pytorch#177974](https://github.com/pytorch/pytorch/pull/177974)
    "HW201" "cuda-alloc-conf" {
        title: "The allocator's variable depends on the version",
        family: Environment,
        severity: Warning,
        also: [Info "for a name that still works"],
        applicability: Safe,
        targets: "every ROCm target; the message depends on the PyTorch and ROCm versions",
        lesson: Some("port/environment"),
        visit: [Subscript, Call, Pair, KeywordArgument],
        files: [Dockerfile, Shell, Yaml],
    }
}

const NAMES: &[&str] = &[
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    let Some(variable) = environment_variable(&cx.semantics, node, NAMES) else {
        return;
    };
    if variable.access == Access::Read {
        return;
    }
    let tree = cx.tree();
    let torch = cx.target().torch;
    let current = if torch >= Version::new(2, 9) {
        "PYTORCH_ALLOC_CONF"
    } else {
        "PYTORCH_HIP_ALLOC_CONF"
    };
    let is_nvidias = variable.name == "PYTORCH_CUDA_ALLOC_CONF";
    let is_former = variable.name != "PYTORCH_ALLOC_CONF" && torch >= Version::new(2, 9);
    if is_nvidias || is_former {
        let name = &variable.name;
        let why = if is_former {
            format!(
                "{name} still works on ROCm; since PyTorch 2.9 {current} is the name on every backend."
            )
        } else {
            format!("{name} works on ROCm too; PyTorch {torch} also reads {current} there.")
        };
        let title = format!("Rename it to {current}");
        let fix = match tree.kind(variable.key) {
            Kind::String => {
                let name = tree.text(variable.key).replace(&*variable.name, current);
                let edits = vec![(tree.span(variable.key), name)];
                // A CUDA build did not read the HIP name, but reads the common one.
                if is_nvidias && is_former && !is_tested(cx, &variable.name) {
                    RawFix::safe_edits(title, edits)
                } else {
                    RawFix::unsafe_edits(title, edits)
                }
            }
            // The name is a constant defined elsewhere, which other code may use too, or a keyword.
            _ => RawFix::display_only(title),
        };
        cx.report_as(&RULE, Severity::Info, variable.key, why, fix);
    }
    if let Some(value) = variable.value {
        let supported = cx.target().rocm >= Version::new(7, 0) && torch >= Version::new(2, 12);
        let wants = string_parts(&cx.semantics, value)
            .iter()
            .any(|part| part.contains("expandable_segments:True"));
        if wants && !supported {
            cx.report(
                &RULE,
                value,
                "expandable_segments needs ROCm 7 and PyTorch 2.12; this target prints a warning and ignores it.",
                RawFix::display_only("Remove the option for this target"),
            );
        }
    }
    let names_backend = variable.value.is_some_and(|value| {
        let parts = string_parts(&cx.semantics, value);
        parts.iter().any(|part| part.contains("backend:"))
    });
    if variable.access == Access::Set && comes_too_late(cx, node, names_backend) {
        cx.report(
            &RULE,
            tree.statement(node),
            format!(
                "{} is set too late; the allocator reads it once, when it starts.",
                variable.name
            ),
            RawFix::display_only("Set it before Python starts, or before the first use of a GPU"),
        );
    }
}

/// `if os.getenv("PYTORCH_CUDA_ALLOC_CONF") is None:`: after a new name alone, a user's own setting would be overwritten.
fn is_tested(cx: &PythonChecker<'_>, name: &str) -> bool {
    let tree = cx.tree();
    let reads = |node: &Node| match tree.kind(*node) {
        Kind::Call | Kind::Subscript => environment_variable(&cx.semantics, *node, NAMES)
            .is_some_and(|variable| variable.access == Access::Read),
        // A short test: a long one would be read for each of its parts.
        Kind::ComparisonOperator => {
            let text = tree.text(*node);
            text.len() < 120 && text.contains("_ALLOC_CONF")
        }
        _ => false,
    };
    cx.once(RULE.id, || tree.nodes().filter(reads).collect())
        .iter()
        .any(|read| tree.text(*read).contains(name))
}

/// True if a statement of the module before `node` puts a tensor or a module on a GPU. Importing torch only reads the backend.
fn comes_too_late(cx: &PythonChecker<'_>, node: Node, names_backend: bool) -> bool {
    let tree = cx.tree();
    // `run_in_subprocess(function)`: another process runs the function.
    let is_passed_on = tree.ancestors(node).skip(1).any(|around| {
        tree.kind(around) == Kind::FunctionDefinition && tree.text(around).contains("subprocess")
    });
    !is_passed_on
        && tree
            .parts(tree.root())
            .take_while(|statement| *statement < node && !tree.contains(*statement, node))
            .any(|statement| match tree.kind(statement) {
                Kind::ExpressionStatement | Kind::WithStatement | Kind::ForStatement => {
                    contains_any(
                        tree.text(statement),
                        &[
                            ".cuda()",
                            "device=\"cuda",
                            "device='cuda",
                            ".to(\"cuda",
                            ".to('cuda",
                        ],
                    )
                }
                Kind::ImportStatement => {
                    names_backend && tree.text(statement).starts_with("import torch")
                }
                _ => false,
            })
}
