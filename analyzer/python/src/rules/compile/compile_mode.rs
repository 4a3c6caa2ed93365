//! HW501: `torch.compile` modes with mixed results on ROCm.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::first;
use crate::semantic::string;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `torch.compile(mode="reduce-overhead")` and `mode="max-autotune"`: as a call, as a decorator, through
    /// `functools.partial`, and in a module's own `compile` method.
    ///
    /// ## Why on ROCm
    ///
    /// Both modes work on ROCm, but neither is reliably faster. `reduce-overhead` captures HIP graphs: there are
    /// reports of wrong losses and crashes, and reports of large speedups. `max-autotune` compiles for much longer.
    /// Reports found it slower than the default, while AMD's own tuning guide recommends it. Start with `"default"`,
    /// measure, and use a mode that is faster on your model with your versions.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// model = torch.compile(torch.nn.Linear(8, 8), mode="reduce-overhead")
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// model = torch.compile(torch.nn.Linear(8, 8), mode="default")
    /// ```
    ///
    /// If you have measured the mode, suppress the finding on its line: `# hipward: ignore[compile-mode]`.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: results stay within rounding, but the code can become faster or slower. Benchmark both modes.
    ///
    /// ## References
    ///
    /// * [pytorch#187715: reduce-overhead, worse loss on MI300X](https://github.com/pytorch/pytorch/issues/187715)
    /// * [pytorch#193735: max-autotune](https://github.com/pytorch/pytorch/issues/193735)
    /// * [AMD's workload tuning guide](https://rocm.docs.amd.com/en/latest/how-to/rocm-for-ai/inference-optimization/workload.html)
    /// * [torch.compile](https://docs.pytorch.org/docs/stable/generated/torch.compile.html)
    "HW501" "compile-mode" {
        title: "Measure this compile mode first",
        family: Compile,
        severity: Advice,
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("optimize/compile-options"),
        visit: [KeywordArgument],
    }
}

fn check(cx: &PythonChecker<'_>, argument: Node) {
    let tree = cx.tree();
    let Some((name, value)) = tree
        .child(argument, Field::Name)
        .zip(tree.child(argument, Field::Value))
    else {
        return;
    };
    if tree.text(name) != "mode" || !is_compile(cx, argument) {
        return;
    }
    let message = match string(&cx.semantics, value) {
        Some("reduce-overhead") => {
            "mode=\"reduce-overhead\" captures HIP graphs, with reports of wrong results and of large gains: measure it."
        }
        Some("max-autotune") => {
            "mode=\"max-autotune\" compiles for long, and is slower for some on ROCm: measure it."
        }
        _ => return,
    };
    let edits = vec![(tree.span(value), "\"default\"".to_owned())];
    cx.report(
        &RULE,
        argument,
        message,
        RawFix::unsafe_edits("Start with mode=\"default\" and measure", edits),
    );
}

/// True if `argument` is passed to `torch.compile`.
fn is_compile(cx: &PythonChecker<'_>, argument: Node) -> bool {
    let tree = cx.tree();
    let Some(call) = tree
        .parent(argument)
        .and_then(|arguments| tree.parent(arguments))
        .filter(|call| tree.kind(*call) == Kind::Call)
    else {
        return false;
    };
    let Some(function) = tree.child(call, Field::Function) else {
        return false;
    };
    match cx.resolve(function) {
        Some(name) if name.is("functools.partial") => first(cx, call)
            .and_then(|first| cx.resolve(first))
            .is_some_and(|first| first.is("torch.compile")),
        Some(name) => name.is("torch.compile"),
        // `model.compile(mode=…)`: only nn.Module's method accepts these two strings.
        None => tree
            .child(function, Field::Attribute)
            .is_some_and(|method| tree.text(method) == "compile"),
    }
}
