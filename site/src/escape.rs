//! Escaping of text that is written as HTML without `view!`.

/// Escapes text for HTML, in elements and in double-quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + text.len() / 8);
    escape_into(&mut html, text);
    html
}

/// Appends the escaped text to `html`.
pub(crate) fn escape_into(html: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            c => html.push(c),
        }
    }
}
