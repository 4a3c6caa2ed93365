//! The steps that a variant includes: the lower variants it is based on, and what each step did to the model.

use hipward_protocol::{JobView, VariantView};

/// The steps of one variant: `torch.compile; Fused ops: norm, mlp`.
pub(crate) fn included_steps(view: &JobView, row: &VariantView) -> String {
    // A step that describes itself is not also listed by its label.
    let named = row.based_on.iter().map(|lower| view.label(lower));
    let named = named.filter(|label| !row.includes.iter().any(|words| words.starts_with(label)));
    let words: Vec<&str> = named
        .chain(row.includes.iter().map(String::as_str))
        .collect();
    words.join("; ")
}
