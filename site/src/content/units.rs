//! Keeps a number and its unit on one line.

use std::borrow::Cow;

/// Signs and symbols of units that follow a number after a space.
const UNITS: &[&str] = &[
    "%", "×", "ns", "µs", "ms", "s", "bits", "bytes", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB",
    "GB/s", "TB/s", "MHz", "GHz", "GFLOPS", "TFLOPS", "TFLOP/s", "W",
];

const NO_BREAK_SPACE: char = '\u{a0}';

/// The text with a no-break space between each number and its unit.
pub(super) fn unbroken(text: &str) -> Cow<'_, str> {
    let is_before_unit = |at: usize| {
        let (before, after) = (&text[..at], &text[at + 1..]);
        let end = after
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '%' | '×' | '/')))
            .unwrap_or(after.len());
        before.ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&&after[..end])
    };
    let mut spaces = text.match_indices(' ').map(|(at, _)| at);
    let Some(first) = spaces.find(|&at| is_before_unit(at)) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len() + 8);
    let mut done = 0;
    for at in std::iter::once(first).chain(spaces.filter(|&at| is_before_unit(at))) {
        out.push_str(&text[done..at]);
        out.push(NO_BREAK_SPACE);
        done = at + 1;
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::unbroken;

    #[test]
    fn numbers_stay_with_their_units() {
        for (text, expected) in [
            (
                "347.6 µs, 1.27 × faster",
                "347.6\u{a0}µs, 1.27\u{a0}× faster",
            ),
            ("5.3 TB/s.", "5.3\u{a0}TB/s."),
            ("64 lanes, 2 steps", "64 lanes, 2 steps"),
            ("ms 5", "ms 5"),
            ("5 ", "5 "),
        ] {
            assert_eq!(unbroken(text), expected);
        }
    }
}
