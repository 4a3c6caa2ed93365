//! HW801: reading a clock around GPU work without waiting for the GPU.

use crate::checker::{PythonChecker, RawFix, Replacement};
use crate::rules::helpers::edits::indentation;
use crate::rules::helpers::timing::{MAX_DEPTH, clock_readings, last_gpu_work, waits, waits_after};
use crate::semantic::Value;
use crate::syntax::{Kind, Node};
use hipward_analyzer_core::position::newline;

declare_rule! {
    /// ## What it does
    ///
    /// Finds two readings of a clock with GPU work between them and no operation that waits for the GPU.
    ///
    /// ## Why on ROCm
    ///
    /// Kernels are launched asynchronously, on ROCm as on CUDA: `model(x)` returns when the work is queued. The clock
    /// then measures how long Python took to queue it, which is mostly unrelated to the speed of the GPU, and a
    /// comparison of two such numbers is meaningless.
    ///
    /// ## Example
    ///
    /// ```python
    /// import time
    ///
    /// import torch
    ///
    /// model = torch.nn.Linear(1024, 1024).to("cuda")
    /// x = torch.randn(64, 1024, device="cuda")
    ///
    /// start = time.perf_counter()
    /// y = model(x)
    /// elapsed = time.perf_counter() - start
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import time
    ///
    /// import torch
    ///
    /// model = torch.nn.Linear(1024, 1024).to("cuda")
    /// x = torch.randn(64, 1024, device="cuda")
    ///
    /// torch.cuda.synchronize()
    /// start = time.perf_counter()
    /// y = model(x)
    /// torch.cuda.synchronize()
    /// elapsed = time.perf_counter() - start
    /// ```
    ///
    /// For short work, `torch.cuda.Event(enable_timing=True)` measures on the GPU itself. Nothing is reported if the
    /// code in between already waits: `.item()`, `.cpu()`, `print(loss)`, an event, or a helper function that
    /// synchronizes.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: waiting changes the timing of the program. This is intended.
    ///
    /// ## References
    ///
    /// * [CUDA semantics: asynchronous execution](https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution)
    /// * [torch.cuda.synchronize](https://docs.pytorch.org/docs/stable/generated/torch.cuda.synchronize.html)
    "HW801" "unsynchronized-timing" {
        title: "The clock stops before the GPU finishes",
        family: Measuring,
        severity: Advice,
        applicability: Unsafe,
        targets: "every GPU target",
        lesson: Some("baseline/honest-timing"),
        visit: [BinaryOperator],
    }
}

fn check(cx: &PythonChecker<'_>, difference: Node) {
    let Some((start, end)) = clock_readings(cx, difference) else {
        return;
    };
    let Some(work) = last_gpu_work(cx, start, end) else {
        return;
    };
    if waits_after(cx, work, end) {
        return;
    }
    let title = "Synchronize before each reading of the clock";
    let fix = match synchronizing_edits(cx, start, end) {
        Some(edits) => RawFix::unsafe_edits(title, edits),
        None => RawFix::display_only(title),
    };
    let line = cx
        .tree()
        .text(work)
        .lines()
        .next()
        .unwrap_or_default()
        .trim_end_matches('(');
    cx.report(
        &RULE,
        difference,
        format!("{line} only queues GPU work; nothing waits for it before the clock is read."),
        fix,
    );
}

/// `torch.cuda.synchronize()` on a line of its own before each reading.
fn synchronizing_edits(cx: &PythonChecker<'_>, start: Node, end: Node) -> Option<Vec<Replacement>> {
    let tree = cx.tree();
    let source = tree.source();
    let torch = cx
        .semantics
        .names
        .at_top_level("torch")
        .iter()
        .any(|binding| binding.value == Value::Module("torch"));
    if !torch {
        return None;
    }
    let mut edits = Vec::new();
    for reading in [start, end] {
        let statement = tree.statement(reading);
        let is_simple = matches!(
            tree.kind(statement),
            Kind::ExpressionStatement | Kind::ReturnStatement | Kind::AssertStatement
        );
        let indent = indentation(source, tree.start(statement)).filter(|_| is_simple)?;
        let before = tree
            .parts(tree.block(statement))
            .take_while(|sibling| *sibling != statement)
            .last();
        let waits_already = before.is_some_and(|before| {
            tree.subtree(before)
                .any(|node| tree.kind(node) == Kind::Call && waits(cx, node, MAX_DEPTH))
        });
        if reading == end || !waits_already {
            let at = tree.start(statement);
            edits.push((
                at..at,
                format!("torch.cuda.synchronize(){}{indent}", newline(source)),
            ));
        }
    }
    Some(edits)
}
