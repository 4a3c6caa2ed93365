//! HW611: a DataLoader that does not load ahead of the GPU.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    argument, called, contains_any, function_around, has_text, name_of, unpacks_arguments,
};
use crate::syntax::{Field, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds a `torch.utils.data.DataLoader` without `num_workers` in a source that uses a GPU, and one with workers but
    /// without `pin_memory` in a source that copies with `non_blocking=True`.
    ///
    /// ## Why on ROCm
    ///
    /// By default the process that launches the kernels also loads each batch: the GPU is idle meanwhile. With
    /// `num_workers` above 0, other processes prepare the next batches. A copy to the GPU is asynchronous only from
    /// pinned memory, so `non_blocking=True` has no effect without `pin_memory=True`. Both are the same on ROCm and CUDA;
    /// a faster GPU waits for a larger part of the time.
    ///
    /// ## Example
    ///
    /// ```python
    /// from torch.utils.data import DataLoader
    ///
    /// def batches(dataset):
    ///     for batch in DataLoader(dataset, batch_size=32):
    ///         yield batch.to("cuda", non_blocking=True)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// from torch.utils.data import DataLoader
    ///
    /// def batches(dataset):
    ///     for batch in DataLoader(dataset, batch_size=32, num_workers=4, pin_memory=True):
    ///         yield batch.to("cuda", non_blocking=True)
    /// ```
    ///
    /// `num_workers=0` states that loading in the process is intended, and is not reported. Neither is a `TensorDataset`,
    /// whose samples are in memory already.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the best number of workers depends on the host, and workers need a dataset that can be pickled.
    ///
    /// ## References
    ///
    /// * [PyTorch performance tuning guide: asynchronous data loading](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html)
    /// * [torch.utils.data: memory pinning](https://docs.pytorch.org/docs/stable/data.html#memory-pinning)
    "HW611" "loader-workers" {
        title: "The GPU waits for the data loader",
        family: ModelPerformance,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every GPU target",
        lesson: Some("baseline/where-the-time-goes"),
        visit: [Call],
    }
}

/// The position of `num_workers`.
const WORKERS: usize = 5;

fn check(cx: &PythonChecker<'_>, call: Node) {
    let tree = cx.tree();
    if called(cx, call) != "DataLoader" || !has_text(cx, "cuda") {
        return;
    }
    let is_loader = cx.callee(call).is_some_and(|name| {
        name.is_any(&[
            "torch.utils.data.DataLoader",
            "torch.utils.data.dataloader.DataLoader",
        ])
    });
    let is_in_test = function_around(cx, call)
        .is_some_and(|function| contains_any(name_of(cx, function), &["test", "example"]));
    if !is_loader || unpacks_arguments(cx, call) || is_in_test || is_in_memory(cx, call) {
        return;
    }
    let (message, title) = if argument(cx, call, WORKERS, "num_workers").is_none() {
        (
            "The process that launches the kernels also loads each batch: the GPU waits for it.",
            "Pass num_workers and pin_memory=True",
        )
    } else if !has_text(cx, "pin_memory") && has_text(cx, "non_blocking=True") {
        (
            "The batches are not in pinned memory, so that non_blocking=True has no effect.",
            "Pass pin_memory=True",
        )
    } else {
        return;
    };
    let loader = tree.child(call, Field::Function).unwrap_or(call);
    cx.report(&RULE, loader, message, RawFix::display_only(title));
}

/// `DataLoader(TensorDataset(x, y))`, also through a name.
fn is_in_memory(cx: &PythonChecker<'_>, call: Node) -> bool {
    argument(cx, call, 0, "dataset")
        .is_some_and(|dataset| called(cx, cx.semantics.expression(dataset)) == "TensorDataset")
}
