//! `# hipward: ignore`, `# hipward: ignore[pynvml, HW102]` on a line, `# hipward: ignore-file[…]` at the top.
//!
//! In comments of any language. A string with the same text is not a suppression.

use std::ops::Range;

use crate::diagnostic::RuleRef;
use crate::position::LineIndex;

/// The suppression comments of a source.
pub struct Suppressions<'a> {
    file: Vec<Rules<'a>>,
    lines: Vec<(u32, Rules<'a>)>,
}

enum Rules<'a> {
    All,
    Only(Vec<&'a str>),
}

impl Rules<'_> {
    fn include(&self, rule: &RuleRef) -> bool {
        match self {
            Rules::All => true,
            Rules::Only(names) => names
                .iter()
                .any(|name| name.eq_ignore_ascii_case(rule.id()) || *name == rule.name()),
        }
    }
}

impl<'a> Suppressions<'a> {
    /// Collects the comments; those before `code_start` may apply to the whole file.
    pub fn new(
        source: &'a str,
        comments: &[Range<usize>],
        code_start: usize,
        lines: &LineIndex<'a>,
    ) -> Self {
        let mut found = Suppressions {
            file: Vec::new(),
            lines: Vec::new(),
        };
        for comment in comments {
            let text = source.get(comment.clone()).unwrap_or_default();
            match directive(text) {
                Some((true, rules)) if comment.start < code_start => found.file.push(rules),
                Some((false, rules)) => found.lines.push((lines.line(comment.start), rules)),
                _ => {}
            }
        }
        found
    }

    /// True if a finding of `rule` on those lines is suppressed.
    pub fn suppress(&self, rule: &RuleRef, first: u32, last: u32) -> bool {
        self.file.iter().any(|rules| rules.include(rule))
            || self
                .lines
                .iter()
                .any(|(line, rules)| (*line == first || *line == last) && rules.include(rule))
    }
}

/// Whether a comment applies to the whole file, and the rules that it names.
fn directive(comment: &str) -> Option<(bool, Rules<'_>)> {
    // Other tools' comments may be on the same line: `# noqa: F401  # hipward: ignore[pynvml]`.
    let (_, text) = comment.split_once("hipward:")?;
    let text = text.trim_start().strip_prefix("ignore")?;
    let (whole_file, text) = match text.strip_prefix("-file") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if let Some(list) = text.trim_start().strip_prefix('[') {
        let (names, _) = list.split_once(']')?;
        return Some((
            whole_file,
            Rules::Only(names.split(',').map(str::trim).collect()),
        ));
    }
    // `ignored`, `ignore-next` and similar words are not directives.
    text.chars()
        .next()
        .is_none_or(|next| next.is_whitespace() || next == '#')
        .then_some((whole_file, Rules::All))
}
