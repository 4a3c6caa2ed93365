//! Adds suppression comments for the findings of a source: `# hipward: ignore[rule] reason`.

use std::collections::BTreeMap;

use crate::analysis::{Options, analyze};
use hipward_analyzer_core::{Finding, Language, Report};

/// The result of [`add_ignores`].
#[derive(Debug)]
pub struct Ignored {
    /// The source with the comments.
    pub source: String,
    /// The number of findings that the comments suppress.
    pub added: usize,
    /// The report of [`Ignored::source`]: its findings are those that no comment at the end of a line can suppress.
    pub report: Report,
}

/// The comments to add: the rules for each line, counted from 1.
type Comments = BTreeMap<u32, Vec<String>>;

/// Adds a comment with `reason` to each line with findings.
///
/// The result is analyzed again, and a comment that does not suppress its finding (in a string, for example) is removed.
/// Findings in languages without comments at the end of a line get none.
pub fn add_ignores(source: &str, options: &Options, reason: &str) -> Ignored {
    let before = analyze(source, options);
    let Some(mark) = mark(before.language) else {
        return Ignored {
            source: source.to_owned(),
            added: 0,
            report: before,
        };
    };
    let count = before.findings.len();
    let (mut text, mut report) = (source.to_owned(), before);
    // A comment belongs to the first or the last line of the finding.
    for line_of in [
        |finding: &Finding| finding.span.start.line,
        |finding: &Finding| finding.span.end.line,
    ] {
        let mut comments = Comments::new();
        for finding in &report.findings {
            let rules = comments.entry(line_of(finding)).or_default();
            if !rules.contains(&finding.rule) {
                rules.push(finding.rule.clone());
            }
        }
        if comments.is_empty() {
            break;
        }
        let left = analyze(&with_comments(&text, &comments, mark, reason), options);
        for finding in &left.findings {
            comments.remove(&line_of(finding));
        }
        let changed = with_comments(&text, &comments, mark, reason);
        let after = analyze(&changed, options);
        if after.findings.len() < report.findings.len() {
            (text, report) = (changed, after);
        }
    }
    Ignored {
        source: text,
        added: count - report.findings.len(),
        report,
    }
}

/// The beginning of a comment that ends with its line. None for languages in which code cannot be followed by one.
fn mark(language: Language) -> Option<&'static str> {
    match language {
        Language::Python
        | Language::Requirements
        | Language::Pyproject
        | Language::Cmake
        | Language::Shell
        | Language::Yaml => Some("#"),
        Language::CudaCpp => Some("//"),
        _ => None,
    }
}

/// `source` with `comments`. Lines that continue in the next one (`\`) get none.
fn with_comments(source: &str, comments: &Comments, mark: &str, reason: &str) -> String {
    let mut text = String::with_capacity(source.len());
    for (number, line) in (1..).zip(source.split_inclusive('\n')) {
        let code = line.trim_end_matches(['\n', '\r']);
        let end = &line[code.len()..];
        text.push_str(&match comments.get(&number) {
            Some(rules) if !code.trim_end().ends_with('\\') => {
                with_comment(code, rules, mark, reason)
            }
            _ => code.to_owned(),
        });
        text.push_str(end);
    }
    text
}

/// `code` with a comment. The rules are added to the list of a comment that is there already.
fn with_comment(code: &str, rules: &[String], mark: &str, reason: &str) -> String {
    const DIRECTIVE: &str = "hipward: ignore[";
    let rules = rules.join(", ");
    let list = code.find(DIRECTIVE).and_then(|at| {
        let list = at + DIRECTIVE.len();
        Some(list + code[list..].find(']')?)
    });
    match list {
        Some(end) => format!("{}, {rules}{}", &code[..end], &code[end..]),
        None => format!("{}  {mark} {DIRECTIVE}{rules}] {reason}", code.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(source: &str, language: Language) -> (String, usize, usize) {
        let options = Options {
            language: Some(language),
            ..Options::default()
        };
        let ignored = add_ignores(source, &options, "old cluster");
        (ignored.source, ignored.added, ignored.report.findings.len())
    }

    #[test]
    fn comment_with_the_reason_is_added_to_each_line() {
        let source = "import pynvml\r\nimport os  # a note\r\nimport apex, cupy  # hipward: ignore[cupy] why\r\n";
        let wanted = "import pynvml  # hipward: ignore[pynvml] old cluster\r\nimport os  # a note\r\n\
                      import apex, cupy  # hipward: ignore[cupy, apex] why\r\n";
        assert_eq!(added(source, Language::Python), (wanted.to_owned(), 2, 0));
        let source = "void f() { cudaFree(0); }";
        let wanted = "void f() { cudaFree(0); }  // hipward: ignore[cuda-api] old cluster";
        assert_eq!(added(source, Language::CudaCpp), (wanted.to_owned(), 1, 0));
    }

    #[test]
    fn string_and_continued_line_are_not_changed() {
        // The comment goes behind the call, because the first line ends within a string.
        let source = "import os\nos.system(\"\"\"nvidia-smi\n -q\"\"\")\n";
        let (text, ignored, left) = added(source, Language::Python);
        assert_eq!((ignored, left), (1, 0), "{text}");
        assert!(
            text.contains("smi\n -q\"\"\")  # hipward: ignore["),
            "{text}"
        );
        let source = "import pynvml, \\\n    os\n";
        assert_eq!(added(source, Language::Python), (source.to_owned(), 0, 1));
        let source = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n";
        let (text, ignored, left) = added(source, Language::Dockerfile);
        assert_eq!((&*text, ignored), (source, 0));
        assert!(left > 0);
    }
}
