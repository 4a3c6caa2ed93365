//! Source code to HTML with a handful of classes; the colours are in site/css.
//!
//! Runs when pages are made, never in the browser.

use crate::escape::{escape, escape_into};
use std::sync::LazyLock;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

/// TextMate scopes and the class of what they cover. The first match wins, so that the more
/// special scope stands first; an empty class leaves the text plain.
static CLASSES: LazyLock<Vec<(Scope, &str)>> = LazyLock::new(|| {
    [
        ("comment", "h-comment"),
        ("string", "h-string"),
        ("constant", "h-number"),
        ("keyword.operator.logical", "h-keyword"),
        ("keyword.operator", ""),
        ("keyword", "h-keyword"),
        ("storage", "h-keyword"),
        ("entity.name", "h-name"),
        ("variable.function", "h-name"),
        ("meta.annotation", "h-builtin"),
        ("support", "h-builtin"),
        ("variable.language", "h-builtin"),
    ]
    .into_iter()
    .filter_map(|(scope, class)| Some((Scope::new(scope).ok()?, class)))
    .collect()
});

/// The inside of `<code>`: highlighted where the language is known, escaped in any case.
pub(crate) fn highlight(source: &str, language: &str) -> String {
    let Some(syntax) = SYNTAXES.find_syntax_by_token(language) else {
        return escape(source);
    };
    let mut parser = ParseState::new(syntax);
    let mut stack = ScopeStack::new();
    let mut out = Spans::default();
    for line in source.split_inclusive('\n') {
        let Ok(operations) = parser.parse_line(line, &SYNTAXES) else {
            return escape(source);
        };
        let mut from = 0;
        for (at, operation) in &operations {
            out.push(&line[from..*at], class(&stack));
            from = *at;
            if stack.apply(operation).is_err() {
                return escape(source);
            }
        }
        out.push(&line[from..], class(&stack));
    }
    out.finish()
}

/// The class of the innermost scope that has one.
fn class(stack: &ScopeStack) -> &'static str {
    stack
        .scopes
        .iter()
        .rev()
        .find_map(|scope| {
            CLASSES
                .iter()
                .find(|(known, _)| known.is_prefix_of(*scope))
                .map(|(_, class)| *class)
        })
        .unwrap_or_default()
}

/// Collects text, one `<span>` for each run of one class.
#[derive(Default)]
struct Spans {
    html: String,
    class: &'static str,
}

impl Spans {
    fn push(&mut self, text: &str, class: &'static str) {
        if text.is_empty() {
            return;
        }
        // White space has no colour: it may stay in whatever span is open.
        if class != self.class && !text.trim().is_empty() {
            self.close();
            if !class.is_empty() {
                self.html.push_str("<span class=\"");
                self.html.push_str(class);
                self.html.push_str("\">");
            }
            self.class = class;
        }
        escape_into(&mut self.html, text);
    }

    fn close(&mut self) {
        if !self.class.is_empty() {
            self.html.push_str("</span>");
        }
        self.class = "";
    }

    fn finish(mut self) -> String {
        self.close();
        self.html
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_gets_classes_and_keeps_its_text() {
        let html = highlight("import torch  # <here>\nx = \"a & b\"\n", "python");
        assert!(html.contains("<span class=\"h-keyword\">import"), "{html}");
        assert!(
            html.contains("h-comment\"># &lt;here&gt;") || html.contains("# &lt;here&gt;"),
            "{html}"
        );
        assert!(html.contains("a &amp; b"), "{html}");
        assert_eq!(
            html.matches("<span").count(),
            html.matches("</span>").count()
        );
    }

    #[test]
    fn an_unknown_language_is_escaped() {
        assert_eq!(highlight("a < b", "no-such-language"), "a &lt; b");
    }
}
