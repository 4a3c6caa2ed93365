//! Text in which backticks mark code, such as the analyzer's messages, as a view.

use leptos::prelude::*;

/// Renders each pair of backticks as a `<code>` element. An unpaired backtick stays in the text.
pub(crate) fn inline_code(text: &str) -> Vec<AnyView> {
    pieces(text)
        .into_iter()
        .map(|(is_code, piece)| {
            let piece = piece.to_owned();
            if is_code {
                view! { <code>{piece}</code> }.into_any()
            } else {
                piece.into_any()
            }
        })
        .collect()
}

/// The non-empty pieces of a text, each with whether it is code.
fn pieces(text: &str) -> Vec<(bool, &str)> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        let Some((code, after)) = after.split_once('`') else {
            break;
        };
        pieces.push((false, before));
        pieces.push((true, code));
        rest = after;
    }
    pieces.push((false, rest));
    pieces.retain(|(_, piece)| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_mark_code_in_pairs() {
        assert_eq!(
            pieces("use `a<b`."),
            [(false, "use "), (true, "a<b"), (false, ".")]
        );
        assert_eq!(
            pieces("5` of `x`"),
            [(false, "5"), (true, " of "), (false, "x`")]
        );
        assert_eq!(pieces("plain"), [(false, "plain")]);
    }
}
