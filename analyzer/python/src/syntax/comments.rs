//! Long blocks of comment lines, which the parser does not read.
//!
//! At each comment, the scanner of the grammar reads ahead to the end of the block, so its time grows with the square of
//! the block's length. Only the first and the last line of a long block are left for the parser; the lines between are
//! blank. Positions stay the same.

use std::borrow::Cow;
use std::ops::Range;

/// The blocks that are left as they are. The scanner is fast enough on them.
const MOST_LINES: usize = 32;

/// The text for the parser, and the comments that it does not contain.
pub(super) fn without_long_blocks(source: &str) -> (Cow<'_, str>, Vec<Range<usize>>) {
    let mut hidden = Vec::new();
    let mut block: Vec<Range<usize>> = Vec::new();
    let mut end_block = |block: &mut Vec<Range<usize>>| {
        if block.len() > MOST_LINES {
            hidden.extend_from_slice(&block[1..block.len() - 1]);
        }
        block.clear();
    };
    let mut quote = None;
    let mut at = 0;
    for line in source.split('\n') {
        let code = line.trim_ascii_start();
        let end = at + line.len();
        if quote.is_none() && code.starts_with('#') {
            block.push(end - code.len()..end);
        } else if quote.is_some() || !code.is_empty() {
            end_block(&mut block);
            quote = open_string(code.as_bytes(), quote);
        }
        at = end + 1;
    }
    end_block(&mut block);
    if hidden.is_empty() {
        return (Cow::Borrowed(source), hidden);
    }
    let mut text = String::with_capacity(source.len());
    for comment in &hidden {
        text.push_str(&source[text.len()..comment.start]);
        text.extend(std::iter::repeat_n(' ', comment.len()));
    }
    text.push_str(&source[text.len()..]);
    (Cow::Owned(text), hidden)
}

/// The quotes of the string of several lines that is open after a line, given those before it.
fn open_string(line: &[u8], mut open: Option<u8>) -> Option<u8> {
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        let is_quote = matches!(byte, b'"' | b'\'');
        let is_triple = is_quote && line.get(at..at + 3) == Some(&[byte; 3]);
        match open {
            Some(_) if byte == b'\\' => at += 1,
            Some(quote) if byte == quote && is_triple => {
                open = None;
                at += 2;
            }
            Some(_) => {}
            None if byte == b'#' => break,
            None if is_triple => {
                open = Some(byte);
                at += 2;
            }
            None if is_quote => {
                at += 1;
                while line.get(at).is_some_and(|next| *next != byte) {
                    at += 1 + usize::from(line[at] == b'\\');
                }
            }
            None => {}
        }
        at += 1;
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of comments that are hidden.
    fn hidden(source: &str) -> usize {
        let (text, hidden) = without_long_blocks(source);
        assert_eq!(text.len(), source.len());
        for ((at, shown), original) in text.bytes().enumerate().zip(source.bytes()) {
            let is_hidden = hidden.iter().any(|comment| comment.contains(&at));
            assert_eq!(shown, if is_hidden { b' ' } else { original });
        }
        assert!(
            hidden
                .iter()
                .all(|comment| source[comment.clone()].starts_with('#'))
        );
        hidden.len()
    }

    #[test]
    fn inner_lines_of_long_blocks_are_hidden() {
        let block = "    # é \"\"\"\n\n".repeat(100);
        assert_eq!(
            hidden(&format!("def f():\n    x = 1\n{block}    y = 2\n")),
            98
        );
        assert_eq!(hidden(&block.replace('\n', "\r\n")), 98);
        assert_eq!(hidden(&format!("{block}x\n{block}")), 196);
        assert_eq!(hidden(&"# a\n".repeat(MOST_LINES)), 0);
        assert_eq!(hidden(""), 0);
    }

    #[test]
    fn lines_of_strings_are_left() {
        let lines = "# a\n".repeat(100);
        for (source, wanted) in [
            (format!("x = '''\n{lines}'''\n"), 0),
            (format!("x = f\"\"\"'''\n{lines}{{y}}\"\"\"\n{lines}"), 98),
            (format!("x = r'\\'\n{lines}"), 98),
            (format!("x = \"'''\"\n{lines}"), 98),
            (
                format!("x = '\\'' + \"\"\"\n{lines}# \\\"\"\"\n{lines}\"\"\"\n"),
                0,
            ),
            (format!("x = 1  # '''\n{lines}"), 98),
        ] {
            assert_eq!(hidden(&source), wanted, "{source}");
        }
    }
}
