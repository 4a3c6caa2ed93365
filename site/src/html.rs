//! HTML as text that cannot be injected into: markup is written in this program, everything
//! else is escaped.
//!
//! What is drawn both on the server and in the browser is written with this and not with
//! `view!`: typed views of that size would make the browser's module several times larger than
//! its budget.

use std::fmt::Write;

/// A piece of HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl Html {
    pub(crate) fn new() -> Self {
        Html::default()
    }

    /// Markup. Only what stands in the source can be markup.
    pub(crate) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text, or the value of a quoted attribute.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        escape_into(&mut self.0, text);
        self
    }

    /// Text in which backticks mark code, as in the analyzer's messages.
    pub(crate) fn prose(&mut self, text: &str) -> &mut Self {
        let parts: Vec<&str> = text.split('`').collect();
        // An odd backtick marks nothing.
        let paired = parts.len() % 2 == 1;
        for (at, part) in parts.iter().enumerate() {
            if at % 2 == 1 && (paired || at + 1 < parts.len()) {
                self.raw("<code>").text(part).raw("</code>");
            } else {
                self.text(if at % 2 == 1 { "`" } else { "" }).text(part);
            }
        }
        self
    }

    /// A whole number.
    pub(crate) fn number(&mut self, number: usize) -> &mut Self {
        // Writing to a String does not fail.
        let _ = write!(self.0, "{number}");
        self
    }

    /// HTML that was made the same way.
    pub(crate) fn html(&mut self, html: &Html) -> &mut Self {
        self.0.push_str(&html.0);
        self
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Escapes text for HTML, in elements and in double-quoted attributes.
pub(crate) fn escape_into(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_mark_code_in_pairs() {
        let prose = |text: &str| Html::new().prose(text).as_str().to_owned();
        assert_eq!(prose("use `a<b`."), "use <code>a&lt;b</code>.");
        assert_eq!(prose("5` of `x`"), "5<code> of </code>x`");
        assert_eq!(prose("plain"), "plain");
    }

    #[test]
    fn text_cannot_become_markup() {
        let mut html = Html::new();
        html.raw("<a title=\"").text("\"><script>&").raw("\">");
        assert_eq!(html.as_str(), "<a title=\"&quot;&gt;&lt;script&gt;&amp;\">");
    }
}
