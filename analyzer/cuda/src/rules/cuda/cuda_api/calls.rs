//! Calls whose arguments differ between CUDA and HIP, by the number of arguments.
//!
//! `calls.txt` has a line for each function: its name, with `?` for both `cuda` and `cu`; then the edits for a call
//! with this number of arguments, with `*` for any number; then, after a `;`, a hint for calls without edits. Arguments
//! count from 0:
//!
//! * `=f`: HIP's function is `f`;
//! * `$0`: `HIP_SYMBOL(…)` around a device variable;
//! * `@0`: the name of a kernel becomes a pointer;
//! * `~3`: HIP has no such parameter, so that only a null argument can be removed;
//! * `<3x`: `x` is inserted before that argument;
//! * `+x`: `x` is appended after the last one.
//!
//! Functions that are not listed have the same parameters: a test compares the parameters in CUDA's headers with those
//! in HIP's.

use crate::{Source, Tokens};
use hipward_analyzer_core::diagnostic::Replacement;

/// Small, because the browser loads it.
const TABLE: &str = include_str!("calls.txt");

/// Suffixes of the cuSPARSE functions that return a size as an `int`.
const SIZES: &[&str] = &["csr2gebsr_bufferSize", "gebsr2gebsc_bufferSize"];

/// An upper limit for the tokens in the name of a kernel, template arguments included.
const MAX_TOKENS: usize = 200;

/// The replacement of a use of a function's name.
pub(super) enum Call {
    /// A different name than the usual one, if any, and edits of the arguments.
    Rewritten(Option<&'static str>, Vec<Replacement>),
    /// HIP's function has different parameters, and the author has to choose the arguments; with a hint.
    ByHand(&'static str),
}

/// The replacement for the use of `word` at `at`.
pub(super) fn rewrite(source: &Source<'_>, at: u32, word: &str) -> Call {
    if SIZES.iter().any(|end| word.ends_with(end)) {
        return Call::ByHand("a size_t for the size");
    }
    let Some((forms, hint)) = find(word) else {
        return Call::Rewritten(None, Vec::new());
    };
    let parentheses = source.call(at);
    let arguments = match &parentheses {
        Some(parentheses) => source.arguments(parentheses),
        None => Vec::new(),
    };
    // The number of arguments in a macro's `__VA_ARGS__` or in a pack is unknown.
    let is_pack = arguments.iter().any(|argument| {
        let last = argument.end.saturating_sub(1);
        matches!(source.token_text(last), "." | "..." | "__VA_ARGS__")
    });
    let changes = forms.split_whitespace().find_map(|form| {
        let end = form.find(MARKS).unwrap_or(form.len());
        let (number, changes) = form.split_at(end);
        let fits = match number {
            "*" => true,
            _ => !is_pack && parentheses.is_some() && number.parse() == Ok(arguments.len()),
        };
        fits.then_some(changes)
    });
    let end = parentheses.map_or(0, |parentheses| source.span(parentheses).end - 1);
    changes
        .and_then(|changes| change(source, &arguments, end, changes))
        .unwrap_or(Call::ByHand(hint))
}

const MARKS: [char; 6] = ['=', '$', '@', '~', '<', '+'];

/// The forms and the hint of a function.
fn find(word: &str) -> Option<(&'static str, &'static str)> {
    TABLE.lines().find_map(|line| {
        let (name, rest) = line.split_once(' ')?;
        let is_it = match name.strip_prefix('?') {
            Some(name) => word
                .strip_suffix(name)
                .is_some_and(|start| matches!(start, "cuda" | "cu")),
            None => name == word,
        };
        is_it.then(|| rest.split_once(';').unwrap_or((rest, "")))
    })
}

/// The call with `changes`; `None` if they do not apply to it. `end` is the position of its closing parenthesis.
fn change(
    source: &Source<'_>,
    arguments: &[Tokens],
    end: usize,
    changes: &'static str,
) -> Option<Call> {
    let mut name = None;
    let mut edits = Vec::new();
    let mut rest = changes;
    while let Some(mark) = rest.chars().next() {
        let text = rest.get(1..)?;
        let (text, after) = text.split_at(text.find(MARKS).unwrap_or(text.len()));
        rest = after;
        let index = text.get(..1).and_then(|digit| digit.parse::<usize>().ok());
        let argument = index.and_then(|index| arguments.get(index));
        let span = argument.map(|argument| source.span(argument.clone()));
        match (mark, argument, span) {
            ('=', ..) => name = Some(text),
            ('+', ..) => edits.push((end..end, format!(", {}", text.replace(',', ", ")))),
            ('<', _, Some(span)) => {
                edits.push((span.start..span.start, format!("{}, ", text.get(1..)?)));
            }
            ('~', Some(argument), Some(span)) => {
                if !matches!(source.slice(argument.clone()), "nullptr" | "NULL" | "0") {
                    return None;
                }
                let before = arguments.get(index?.checked_sub(1)?)?;
                edits.push((source.span(before.clone()).end..span.end, String::new()));
            }
            ('$', _, Some(span)) => wrap(span, "HIP_SYMBOL(", &mut edits),
            ('@', Some(argument), Some(span)) if is_a_name(source, argument) => {
                wrap(span, "reinterpret_cast<const void*>(", &mut edits);
            }
            // A name that is not called, or a kernel that is already a pointer.
            _ => {}
        }
    }
    Some(Call::Rewritten(name, edits))
}

fn wrap(span: std::ops::Range<usize>, before: &str, edits: &mut Vec<Replacement>) {
    edits.push((span.start..span.start, before.to_owned()));
    edits.push((span.end..span.end, ")".to_owned()));
}

/// `kernel`, `&kernel`, `kernel<float, 4>` and `ns::kernel`: CUDA accepts it as a kernel, but it is not a C pointer.
fn is_a_name(source: &Source<'_>, argument: &Tokens) -> bool {
    let is_address = source.token_text(argument.start) == "&";
    let mut tokens = argument.start + u32::from(is_address)..argument.end;
    // By tokens, because `true /* fast */` is a template argument too.
    let computes = |token: u32| {
        let text = source.token_text(token);
        // A member is a pointer already: `spec.kernel`
        matches!(text, "(" | "&" | "*" | "." | "->") || text.ends_with("_cast")
    };
    argument.len() < MAX_TOKENS && !tokens.any(computes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Name, name};

    #[test]
    fn every_line_is_valid_and_names_a_function_in_hip() {
        for line in TABLE.lines() {
            let (function, rest) = line.split_once(' ').expect("a name and more");
            let names = match function.strip_prefix('?') {
                Some(rest) => vec![format!("cuda{rest}"), format!("cu{rest}")],
                None => vec![function.to_owned()],
            };
            for function in names {
                assert!(
                    matches!(name(&function), Some(Name::Hip { .. })),
                    "{function} is not in the table of names"
                );
                assert!(find(&function).is_some(), "{function} is not found");
            }
            let forms = rest.split(';').next().unwrap_or_default();
            for form in forms.split_whitespace() {
                let number = form.split(MARKS).next().unwrap_or_default();
                assert!(number == "*" || number.parse::<usize>().is_ok(), "{line}");
                for mark in ['$', '@', '~', '<'] {
                    for part in form.split(mark).skip(1) {
                        assert!(part.starts_with(|c: char| c.is_ascii_digit()), "{line}");
                    }
                }
            }
        }
    }
}
