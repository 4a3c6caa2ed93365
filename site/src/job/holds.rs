//! What each variant includes: the lower variants that are part of it, and what each step did to the model.

use hipward_protocol::{JobView, VariantView};

/// One variant's steps in words: `torch.compile; Fused ops: norm, mlp`.
pub(crate) fn held(view: &JobView, row: &VariantView) -> String {
    // A step says by itself what it did; the others are named.
    let named = row.based_on.iter().map(|lower| view.label(lower));
    let named = named.filter(|label| !row.includes.iter().any(|words| words.starts_with(label)));
    let words: Vec<&str> = named
        .chain(row.includes.iter().map(String::as_str))
        .collect();
    words.join("; ")
}
