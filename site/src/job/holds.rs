//! What each rung holds: the lower rungs that are part of it, and what each step did to the model.

use crate::html::Html;
use hipward_protocol::{JobView, VariantView};

/// One rung's steps in words: `torch.compile; Fused ops: norm, mlp`.
pub(crate) fn held(view: &JobView, row: &VariantView) -> String {
    // A step says by itself what it did; the others are named.
    let named = row.stands_on.iter().map(|lower| view.label(lower));
    let named = named.filter(|label| !row.holds.iter().any(|words| words.starts_with(label)));
    let words: Vec<&str> = named.chain(row.holds.iter().map(String::as_str)).collect();
    words.join("; ")
}

/// The list, for the rungs that are made of something.
pub(crate) fn holds(view: &JobView) -> Html {
    let mut html = Html::new();
    if view.variants.iter().all(|row| row.holds.is_empty()) {
        return html;
    }
    html.raw("<details><summary>What each variant holds</summary><dl class=\"facts\">");
    for row in view.variants.iter().filter(|row| !row.holds.is_empty()) {
        html.raw("<div><dt>")
            .text(view.label(&row.variant))
            .raw("</dt><dd>")
            .text(&held(view, row))
            .raw("</dd></div>");
    }
    html.raw("</dl></details>");
    html
}
