//! HW104: importing NVIDIA's apex.

use super::cuda_wheels::installed;
use crate::checker::{PythonChecker, RawFix, Replacement};
use crate::rules::helpers::calls::has_text;
use crate::rules::helpers::edits::{import_item_range, module_expression};
use crate::rules::helpers::table_rules::is_unguarded_import;
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds unguarded imports of NVIDIA's `apex`, and Python code that installs it from NVIDIA's repository.
    ///
    /// ## Why on ROCm
    ///
    /// apex is a set of CUDA extensions. NVIDIA's source does not build for ROCm, although AMD maintains a fork that
    /// does. Most of its features have been in PyTorch for years: mixed precision in `torch.amp`, fused optimizers as
    /// `fused=True` in `torch.optim`, `LayerNorm` and `RMSNorm` in `torch.nn`, as well as `DistributedDataParallel` and
    /// `SyncBatchNorm`. They run on ROCm and need no build.
    ///
    /// ## Example
    ///
    /// ```python
    /// from torch import nn
    /// from apex.normalization import FusedRMSNorm
    ///
    /// norm = FusedRMSNorm(4096, eps=1e-6)
    /// ```
    ///
    /// ```requirements
    /// git+https://github.com/NVIDIA/apex
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// from torch import nn
    ///
    /// norm = nn.RMSNorm(4096, eps=1e-6)
    /// ```
    ///
    /// ```requirements
    /// git+https://github.com/ROCm/apex
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe, and offered only for `FusedLayerNorm` and `FusedRMSNorm` of `apex.normalization`. The results agree up
    /// to rounding, but the default `eps` of `RMSNorm` is the machine epsilon of its dtype in PyTorch and 1e-5 in apex.
    /// For everything else the finding names the PyTorch equivalent.
    ///
    /// ## References
    ///
    /// * [torch.amp](https://docs.pytorch.org/docs/stable/amp.html)
    /// * [torch.optim](https://docs.pytorch.org/docs/stable/optim.html)
    /// * [torch.nn.RMSNorm](https://docs.pytorch.org/docs/stable/generated/torch.nn.RMSNorm.html)
    /// * [AMD's fork of apex](https://github.com/ROCm/apex)
    "HW104" "apex" {
        title: "apex is built for CUDA",
        family: VendorLibraries,
        severity: Error,
        also: [Warning "for a requirement of the package"],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/vendor-libraries"),
        visit: [ImportStatement, ImportFromStatement, Call],
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml],
    }
}

/// Top-level extension modules that apex builds.
const EXTENSIONS: &[&str] = &[
    "amp_C",
    "apex_C",
    "fused_layer_norm_cuda",
    "fused_weight_gradient_mlp_cuda",
    "scaled_masked_softmax_cuda",
    "scaled_upper_triang_masked_softmax_cuda",
];

fn check(cx: &PythonChecker<'_>, statement: Node) {
    let tree = cx.tree();
    if tree.kind(statement) == Kind::Call {
        return installed(cx, &RULE, statement);
    }
    // Megatron's folder of kernels, which it builds on ROCm too.
    let is_built = has_text(cx, "fused_kernels");
    let is_apex = |name: Node| {
        let root = tree.text(name).split('.').next().map(str::trim);
        root.is_some_and(|root| root == "apex" || EXTENSIONS.contains(&root) && !is_built)
    };
    let from = tree.kind(statement) == Kind::ImportFromStatement;
    let import = if from {
        tree.child(statement, Field::ModuleName)
            .filter(|module| is_apex(*module))
    } else {
        tree.children_in(statement, Field::Name)
            .find(|item| is_apex(tree.child(*item, Field::Name).unwrap_or(*item)))
    };
    let Some(import) = import else {
        return;
    };
    // Megatron imports its extensions in each function: only the first import is reported.
    let module = tree.text(import);
    if !module.starts_with("apex") && cx.has_reported(&RULE, &|text, _| text == module) {
        return;
    }
    if !is_unguarded_import(cx, statement, module) {
        return;
    }
    let fix = from
        .then(|| norm_edits(cx, statement))
        .flatten()
        .map_or_else(
            || RawFix::display_only(counterpart(tree.text(statement))),
            |edits| RawFix::unsafe_edits("Use PyTorch's own norm", edits),
        );
    cx.report(
        &RULE,
        import,
        "NVIDIA's apex is a CUDA extension that does not build for ROCm; PyTorch has most of it.",
        fix,
    );
}

/// The PyTorch equivalent of the names that a statement imports.
fn counterpart(statement: &str) -> &'static str {
    let mentions = |word: &str| statement.contains(word);
    if mentions("amp") {
        "Use torch.amp.autocast and torch.amp.GradScaler"
    } else if mentions("optimizers") || mentions("FusedAdam") || mentions("FusedSGD") {
        "Use torch.optim with fused=True; FusedAdam is AdamW with weight_decay=0.0, or Adam with adam_w_mode=False"
    } else if mentions("SyncBatchNorm") || mentions("parallel") {
        "Use torch.nn.parallel.DistributedDataParallel and torch.nn.SyncBatchNorm"
    } else if mentions("normalization") {
        "Use torch.nn.LayerNorm, or RMSNorm for FusedRMSNorm"
    } else if mentions("multihead_attn") {
        "Use torch.nn.functional.scaled_dot_product_attention"
    } else {
        "Use PyTorch's equivalent, or build AMD's fork of apex"
    }
}

/// Edits for `from apex.normalization import …` if every imported name has an exact equivalent.
fn norm_edits(cx: &PythonChecker<'_>, statement: Node) -> Option<Vec<Replacement>> {
    let tree = cx.tree();
    if tree.text(tree.child(statement, Field::ModuleName)?) != "apex.normalization" {
        return None;
    }
    let items: Vec<_> = tree.children_in(statement, Field::Name).collect();
    if items.is_empty() || tree.block(statement) != tree.root() {
        return None;
    }
    let (nn, new_import) = module_expression(cx, "torch.nn", statement);
    let mut edits = Vec::new();
    for item in &items {
        if tree.kind(*item) != Kind::DottedName {
            return None;
        }
        let class = match tree.text(*item) {
            "FusedLayerNorm" => "LayerNorm",
            "FusedRMSNorm" => "RMSNorm",
            _ => return None,
        };
        edits.extend(uses(cx, tree.text(*item), &format!("{nn}.{class}"))?);
    }
    if new_import.is_some() {
        edits.push((tree.span(statement), "import torch".to_owned()));
    } else {
        let range = import_item_range(cx, *items.first()?).filter(|_| items.len() == 1);
        let line = range.or_else(|| {
            // The statement imports several names, and all of them are replaced: the whole line is removed.
            let end = tree.source().get(tree.end(statement)..)?.find('\n')?;
            Some(tree.start(statement)..tree.end(statement) + end + 1)
        })?;
        edits.push((line, String::new()));
    }
    Some(edits)
}

/// Replaces every use of an imported name; `None` if one of the uses cannot be replaced.
fn uses<'a>(cx: &PythonChecker<'a>, name: &'a str, replacement: &str) -> Option<Vec<Replacement>> {
    let tree = cx.tree();
    let mut edits = Vec::new();
    if cx.semantics.names.at_top_level(name).len() != 1 {
        return None;
    }
    for node in tree.nodes() {
        if tree.kind(node) != Kind::Identifier || tree.text(node) != name {
            continue;
        }
        let parent = tree.parent(node)?;
        let is_read = !matches!(tree.kind(parent), Kind::DottedName | Kind::AliasedImport)
            && tree.field(node) != Field::Attribute;
        if !is_read {
            continue;
        }
        match cx.semantics.binding(node).map(|binding| binding.value) {
            Some(Value::Member("apex.normalization", _)) => {}
            _ => return None,
        }
        let unknown_option = tree.kind(parent) == Kind::Call
            && tree.subtree(parent).any(|part| {
                tree.kind(part) == Kind::KeywordArgument
                    && tree.text(part).starts_with("memory_efficient")
            });
        if unknown_option {
            return None;
        }
        edits.push((tree.span(node), replacement.to_owned()));
    }
    Some(edits)
}
