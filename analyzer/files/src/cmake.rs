//! CMake: calls with their arguments, and the calls behind a condition on a vendor. Calls for other systems than Linux are
//! left out.

use super::facts::{CmakeCall, Facts, names_a_vendor};
use super::text::Text;
use hipward_analyzer_core::words::listed;

/// Parses a `CMakeLists.txt` into `facts`.
pub(super) fn read<'a>(source: Text<'a>, facts: &mut Facts<'a>) {
    let bytes = source.as_str().as_bytes();
    let mut conditions: Vec<Branch> = Vec::new();
    let mut at = 0;
    let mut unclosed_bracket = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'#' => at = comment(source, at, &mut unclosed_bracket, facts),
            b if b.is_ascii_alphabetic() || *b == b'_' => {
                let length = bytes[at..]
                    .iter()
                    .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
                    .count();
                let name = source.part(at..at + length);
                at += length;
                at += bytes[at..]
                    .iter()
                    .take_while(|b| matches!(b, b' ' | b'\t'))
                    .count();
                if bytes.get(at) == Some(&b'(') {
                    let (arguments, end) = arguments(source, at + 1, &mut unclosed_bracket, facts);
                    at = end;
                    keep(name, arguments, &mut conditions, facts);
                }
            }
            _ => at += 1,
        }
    }
}

/// The branch of a condition.
#[derive(Clone, Copy, Default)]
struct Branch {
    /// It depends on the vendor.
    guarded: bool,
    /// Linux does not run it.
    elsewhere: bool,
}

/// Stores a call, and tracks the conditions.
fn keep<'a>(
    name: Text<'a>,
    arguments: Vec<Text<'a>>,
    conditions: &mut Vec<Branch>,
    facts: &mut Facts<'a>,
) {
    let asks = arguments
        .iter()
        .any(|argument| names_a_vendor(argument.as_str()));
    // `if(WIN32)`
    let elsewhere = arguments.len() == 1
        && arguments
            .iter()
            .any(|argument| listed("WIN32 MSVC MINGW APPLE", argument.as_str()));
    let outer = conditions.last().copied().unwrap_or_default();
    match name.as_str().to_ascii_lowercase().as_str() {
        "if" => conditions.push(Branch {
            guarded: asks || outer.guarded,
            elsewhere: elsewhere || outer.elsewhere,
        }),
        word @ ("elseif" | "else") => {
            let above = conditions.iter().rev().nth(1).copied().unwrap_or_default();
            if let Some(condition) = conditions.last_mut() {
                condition.guarded |= asks && word == "elseif";
                condition.elsewhere = above.elsewhere || (elsewhere && word == "elseif");
            }
        }
        "endif" => drop(conditions.pop()),
        _ if outer.elsewhere => {}
        _ => facts.cmake_calls.push(CmakeCall {
            name,
            arguments,
            guarded: outer.guarded,
        }),
    }
}

/// The end of the comment at `at`.
fn comment<'a>(
    source: Text<'a>,
    at: usize,
    unclosed_bracket: &mut bool,
    facts: &mut Facts<'a>,
) -> usize {
    let rest = source.from(at + 1).as_str();
    let end = match bracket_end(rest, unclosed_bracket) {
        Some(length) => at + 1 + length,
        None => at + 1 + rest.find('\n').unwrap_or(rest.len()),
    };
    facts.comments.push(source.part(at..end).range());
    end
}

/// The length of the bracket argument `[==[…]==]` at the start of `text`. The search for a missing end runs only once.
fn bracket_end(text: &str, unclosed: &mut bool) -> Option<usize> {
    let equals = text
        .strip_prefix('[')?
        .bytes()
        .take_while(|byte| *byte == b'=')
        .count();
    if *unclosed || text.as_bytes().get(equals + 1) != Some(&b'[') {
        return None;
    }
    let close = format!("]{}]", "=".repeat(equals));
    let end = text.find(&close).map(|at| at + close.len());
    *unclosed = end.is_none();
    end
}

/// The arguments from `at` on, and the end of the call.
fn arguments<'a>(
    source: Text<'a>,
    at: usize,
    unclosed: &mut bool,
    facts: &mut Facts<'a>,
) -> (Vec<Text<'a>>, usize) {
    let bytes = source.as_str().as_bytes();
    let mut arguments = Vec::new();
    let mut depth = 1_usize;
    let mut at = at;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'(' => {
                depth += 1;
                at += 1;
            }
            b')' => {
                depth -= 1;
                at += 1;
                if depth == 0 {
                    break;
                }
            }
            b'#' => at = comment(source, at, unclosed, facts),
            b'"' => {
                let end = quoted_end(bytes, at + 1);
                arguments.push(source.part(at + 1..end));
                at = end + 1;
            }
            b'[' if bracket_end(source.from(at).as_str(), unclosed).is_some() => {
                let length = bracket_end(source.from(at).as_str(), unclosed).unwrap_or(1);
                arguments.push(source.part(at..at + length));
                at += length;
            }
            byte if byte.is_ascii_whitespace() || *byte == b';' => at += 1,
            _ => {
                let length = word_length(&bytes[at..]);
                arguments.push(source.part(at..at + length));
                at += length;
            }
        }
    }
    (arguments, at)
}

fn quoted_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// An unquoted argument may contain quotes: `-DX="a b"`.
fn word_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = quoted_end(bytes, at + 1) + 1,
            b'\\' => at += 2,
            b'(' | b')' | b'#' | b';' => break,
            byte if byte.is_ascii_whitespace() => break,
            _ => at += 1,
        }
    }
    at.clamp(1, bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(source: &str) -> Vec<String> {
        let mut facts = Facts::default();
        read(Text::whole(source), &mut facts);
        facts
            .cmake_calls
            .iter()
            .map(|call| {
                let arguments: Vec<_> = call
                    .arguments
                    .iter()
                    .map(|argument| argument.as_str())
                    .collect();
                format!(
                    "{}{}({})",
                    if call.guarded { "?" } else { "" },
                    call.name.as_str(),
                    arguments.join("|")
                )
            })
            .collect()
    }

    #[test]
    fn calls_have_arguments() {
        assert_eq!(
            calls("a(b \"c d\" e;f # g\n [[h]] -DX=\"y z\" $<$<X:Y>:z>)\n#[[ i() ]] j ()"),
            ["a(b|c d|e|f|[[h]]|-DX=\"y z\"|$<$<X:Y>:z>)", "j()"]
        );
    }

    #[test]
    fn calls_for_other_systems_are_left_out() {
        assert_eq!(
            calls(
                "if(WIN32)\n foreach(x)\n a()\n if(y)\n b()\n else()\n c()\n endif()\nelseif(APPLE)\n d()\nelse()\n e()\nendif()\nf()"
            ),
            ["e()", "f()"]
        );
    }

    #[test]
    fn vendor_conditions_guard_calls() {
        assert_eq!(
            calls("if(USE_CUDA)\n a()\nelse()\n b()\nendif()\nif(UNIX)\n c()\nendif()"),
            ["?a()", "?b()", "c()"]
        );
    }

    #[test]
    fn pathological_files_are_parsed_in_linear_time() {
        for piece in ["a(", "\"", "#[[", "[[", "[=[", "\\", "if(cuda)", "é"] {
            calls(&piece.repeat(200_000));
            calls(&format!("a({}", piece.repeat(200_000)));
        }
    }
}
