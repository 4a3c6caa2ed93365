//! Lines as parts of messages.

use crate::CudaChecker;

/// ` Also in lines 4, 8-12.`: the lines of `tokens`, which follow `first` in order, without the line of `first`. Empty if there are none, and in a
/// string of another source, whose lines have other numbers.
pub(crate) fn also_in(
    cx: &CudaChecker<'_>,
    first: u32,
    tokens: impl Iterator<Item = u32>,
) -> String {
    const MAX: usize = 20;
    if cx.is_fragment {
        return String::new();
    }
    let source = cx.source;
    let start = |token: u32| source.span(token..token + 1).start;
    let newlines = |from: usize, to: usize| source.text[from..to].matches('\n').count();
    let mut last = start(first);
    let mut line = 1 + newlines(0, last);
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for token in tokens {
        let lines = newlines(last, start(token));
        line += lines;
        last = start(token);
        match ranges.last_mut() {
            _ if lines == 0 => {}
            Some((_, end)) if *end + 1 == line => *end = line,
            _ => ranges.push((line, line)),
        }
    }
    let mut text = String::new();
    for (start, end) in ranges.iter().take(MAX) {
        text += match ranges[..] {
            _ if !text.is_empty() => ", ",
            [(only, last)] if only == last => " Also in line ",
            _ => " Also in lines ",
        };
        text += &start.to_string();
        if end > start {
            text += "-";
            text += &end.to_string();
        }
    }
    match ranges.len() {
        0 => {}
        1..=MAX => text += ".",
        _ => text += " and further.",
    }
    text
}
