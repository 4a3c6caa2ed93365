//! Differences between two texts, for a page and for `git apply`.

use std::ops::Range;

use crate::report::{DiffKind, DiffLine};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// The maximum number of changed lines. Texts with more differences are shown as removed and added completely, which
/// limits the time for any pair of texts.
const MAX_CHANGES: usize = 1000;

/// A run of lines that are equal in both texts, or that replace each other.
#[derive(Clone)]
struct Run {
    equal: bool,
    old: Range<usize>,
    new: Range<usize>,
}

/// Two texts, split into lines, and the runs between them.
struct Comparison<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    runs: Vec<Run>,
}

impl<'a> Comparison<'a> {
    fn new(before: &'a str, after: &'a str) -> Self {
        let old: Vec<_> = before.split_inclusive('\n').collect();
        let new: Vec<_> = after.split_inclusive('\n').collect();
        let mut runs = Vec::new();
        let (mut x, mut y) = (0, 0);
        let end = (old.len(), new.len());
        for (from, to) in matches(&old, &new).into_iter().chain([end]) {
            // Up to this pair of equal lines, there are lines in only one of the texts.
            push(&mut runs, false, x..from, y..to);
            if (from, to) != end {
                push(&mut runs, true, from..from + 1, to..to + 1);
            }
            (x, y) = (from + 1, to + 1);
        }
        Comparison { old, new, runs }
    }

    /// The changes with their context; adjacent changes share one hunk.
    fn hunks(&self) -> Vec<Vec<Run>> {
        let mut hunks: Vec<Vec<Run>> = Vec::new();
        for (index, run) in self.runs.iter().enumerate() {
            let is_last = index + 1 == self.runs.len();
            if !run.equal {
                match hunks.last_mut() {
                    Some(hunk) => hunk.push(run.clone()),
                    None => hunks.push(vec![run.clone()]),
                }
                continue;
            }
            let length = run.old.len();
            let first = |count: usize| Run {
                equal: true,
                old: run.old.start..run.old.start + count,
                new: run.new.start..run.new.start + count,
            };
            let last = |count: usize| Run {
                equal: true,
                old: run.old.end - count..run.old.end,
                new: run.new.end - count..run.new.end,
            };
            match hunks.last_mut() {
                Some(hunk) if is_last => hunk.push(first(length.min(CONTEXT))),
                Some(hunk) if length <= 2 * CONTEXT => hunk.push(run.clone()),
                Some(hunk) => {
                    hunk.push(first(CONTEXT));
                    hunks.push(vec![last(CONTEXT)]);
                }
                None if is_last => {}
                None => hunks.push(vec![last(length.min(CONTEXT))]),
            }
        }
        hunks
    }

    /// The lines of a hunk, with removed lines before the lines that replace them.
    fn lines(&self, hunk: &[Run]) -> Vec<(DiffKind, Option<usize>, Option<usize>, &'a str)> {
        let mut lines = Vec::new();
        for run in hunk {
            let (old, new) = (run.old.clone(), run.new.clone());
            if run.equal {
                for (old, new) in old.zip(new) {
                    lines.push((DiffKind::Equal, Some(old), Some(new), self.old[old]));
                }
            } else {
                for old in old {
                    lines.push((DiffKind::Removed, Some(old), None, self.old[old]));
                }
                for new in new {
                    lines.push((DiffKind::Added, None, Some(new), self.new[new]));
                }
            }
        }
        lines
    }
}

/// Appends to the runs, or extends the last run if it has the same kind.
fn push(runs: &mut Vec<Run>, equal: bool, old: Range<usize>, new: Range<usize>) {
    if old.is_empty() && new.is_empty() {
        return;
    }
    match runs.last_mut() {
        Some(last) if last.equal == equal => {
            last.old.end = old.end;
            last.new.end = new.end;
        }
        _ => runs.push(Run { equal, old, new }),
    }
}

/// The pairs of lines that a shortest edit script preserves, in order (E. W. Myers, "An O(ND) Difference Algorithm and
/// Its Variations", 1986). Only the common prefix and suffix if more than [`MAX_CHANGES`] lines differ.
fn matches(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (rest_old, rest_new) = (&old[prefix..], &new[prefix..]);
    let suffix = rest_old
        .iter()
        .rev()
        .zip(rest_new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (n, m) = (rest_old.len() - suffix, rest_new.len() - suffix);
    let mut pairs: Vec<_> = (0..prefix).map(|line| (line, line)).collect();
    for (x, y) in shortest_edit(&rest_old[..n], &rest_new[..m]) {
        pairs.push((prefix + x, prefix + y));
    }
    for line in 0..suffix {
        pairs.push((prefix + n + line, prefix + m + line));
    }
    pairs
}

fn shortest_edit(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let (n, m) = (old.len(), new.len());
    let middle = MAX_CHANGES + 1;
    // The furthest position on each diagonal, for every number of changes so far. A diagonal is `x - y`, shifted by
    // `middle`.
    let mut reached = vec![0; 2 * middle + 1];
    let mut history = Vec::new();
    for changes in 0..=(n + m).min(MAX_CHANGES) {
        history.push(reached[middle - changes..=middle + changes].to_vec());
        for diagonal in (middle - changes..=middle + changes).step_by(2) {
            let mut x = step(&reached, diagonal, middle, changes).1;
            let mut y = x + middle - diagonal;
            while x < n && y < m && old[x] == new[y] {
                (x, y) = (x + 1, y + 1);
            }
            reached[diagonal] = x;
            if x == n && y == m {
                return trace(&history, n, m, middle);
            }
        }
    }
    Vec::new()
}

/// The previous diagonal of the `changes`-th change to `diagonal`, and its `x`: down (a line is added) or right (a line
/// is removed), whichever reaches further.
fn step(reached: &[usize], diagonal: usize, middle: usize, changes: usize) -> (usize, usize) {
    if changes == 0 {
        return (diagonal, 0);
    }
    let is_lowest = diagonal == middle - changes;
    let is_highest = diagonal == middle + changes;
    if is_lowest || !is_highest && reached[diagonal - 1] < reached[diagonal + 1] {
        (diagonal + 1, reached[diagonal + 1])
    } else {
        (diagonal - 1, reached[diagonal - 1] + 1)
    }
}

/// Follows the recorded steps back from the ends of both texts.
fn trace(history: &[Vec<usize>], n: usize, m: usize, middle: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (mut x, mut y) = (n, m);
    for (changes, row) in history.iter().enumerate().rev() {
        // The rows contain the diagonals from `middle - changes` on.
        let mut reached = vec![0; 2 * middle + 1];
        reached[middle - changes..=middle + changes].copy_from_slice(row);
        let diagonal = x + middle - y;
        let (from, start) = step(&reached, diagonal, middle, changes);
        let start_y = start + middle - diagonal;
        while x > start && y > start_y {
            (x, y) = (x - 1, y - 1);
            pairs.push((x, y));
        }
        if changes > 0 {
            x = reached[from];
            y = x + middle - from;
        }
    }
    pairs.reverse();
    pairs
}

/// The changed lines with context. `None` if the texts are equal.
pub fn diff(before: &str, after: &str) -> Vec<DiffLine> {
    let comparison = Comparison::new(before, after);
    let mut result = Vec::new();
    let gap = |text: &str| DiffLine {
        kind: DiffKind::Gap,
        old: None,
        new: None,
        text: text.to_owned(),
    };
    let mut end = 0;
    for hunk in &comparison.hunks() {
        let start = hunk.first().map_or(0, |run| run.old.start);
        if start > end {
            result.push(gap(&count(start - end)));
        }
        end = hunk.last().map_or(end, |run| run.old.end);
        for (kind, old, new, text) in comparison.lines(hunk) {
            result.push(DiffLine {
                kind,
                old: old.map(|index| index as u32 + 1),
                new: new.map(|index| index as u32 + 1),
                text: text.trim_end_matches(['\n', '\r']).to_owned(),
            });
        }
    }
    let rest = comparison.old.len().saturating_sub(end);
    if rest > 0 && !result.is_empty() {
        result.push(gap(&count(rest)));
    }
    result
}

fn count(lines: usize) -> String {
    match lines {
        1 => "1 equal line".to_owned(),
        _ => format!("{lines} equal lines"),
    }
}

/// A patch for `git apply`; empty if the texts are equal.
pub fn unified_diff(path: &str, before: &str, after: &str) -> String {
    let comparison = Comparison::new(before, after);
    let mut patch = String::new();
    for hunk in &comparison.hunks() {
        if patch.is_empty() {
            let (old, new) = (quoted("a/", path), quoted("b/", path));
            patch = format!("--- {old}\n+++ {new}\n");
        }
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
            continue;
        };
        patch.push_str("@@");
        for (sign, start, end) in [
            (" -", first.old.start, last.old.end),
            (" +", first.new.start, last.new.end),
        ] {
            let length = end - start;
            patch.push_str(sign);
            // An empty range names the line before it.
            patch.push_str(&(start + length.min(1)).to_string());
            if length != 1 {
                patch.push(',');
                patch.push_str(&length.to_string());
            }
        }
        patch.push_str(" @@\n");
        for (kind, _, _, text) in comparison.lines(hunk) {
            patch.push(match kind {
                DiffKind::Removed => '-',
                DiffKind::Added => '+',
                DiffKind::Equal | DiffKind::Gap => ' ',
            });
            patch.push_str(text);
            if !text.ends_with('\n') {
                patch.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    patch
}

/// A path in git's patch format: in quotes if a header line cannot contain it.
fn quoted(side: &str, path: &str) -> String {
    let is_special = |c: char| c.is_ascii_control() || matches!(c, '"' | '\\');
    if !path.contains(is_special) {
        return format!("{side}{path}");
    }
    let mut text = format!("\"{side}");
    for c in path.chars() {
        match c {
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '"' | '\\' => text.extend(['\\', c]),
            _ if c.is_ascii_control() => {
                text.push('\\');
                text.extend([6, 3, 0].map(|shift| char::from(b'0' + (c as u8 >> shift & 7))));
            }
            _ => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Length of the longest common subsequence, computed in the direct, slow way.
    fn common(old: &[&str], new: &[&str]) -> usize {
        let mut row = vec![0; new.len() + 1];
        for a in old {
            let mut diagonal = 0;
            for (j, b) in new.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if a == b {
                    diagonal + 1
                } else {
                    above.max(row[j])
                };
                diagonal = above;
            }
        }
        row[new.len()]
    }

    #[test]
    fn diff_is_minimal_and_contains_both_texts() {
        let mut state: u64 = 7;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..500 {
            let mut text = || {
                (0..random(12))
                    .map(|_| format!("{}\n", random(4)))
                    .collect::<String>()
            };
            let (before, after) = (text(), text());
            let comparison = Comparison::new(&before, &after);
            let lines = comparison.lines(&comparison.runs);
            let side = |without: DiffKind| {
                lines
                    .iter()
                    .filter(|line| line.0 != without)
                    .map(|line| line.3)
                    .collect::<String>()
            };
            assert_eq!(
                (side(DiffKind::Added), side(DiffKind::Removed)),
                (before.clone(), after.clone())
            );
            let equal = lines
                .iter()
                .filter(|line| line.0 == DiffKind::Equal)
                .count();
            assert_eq!(
                equal,
                common(&comparison.old, &comparison.new),
                "{before:?} {after:?}"
            );
        }
    }

    #[test]
    fn unrelated_texts_are_replaced_entirely() {
        let before: String = (0..20_000).map(|line| format!("a{line}\n")).collect();
        let after: String = (0..20_000).map(|line| format!("b{line}\n")).collect();
        assert_eq!(Comparison::new(&before, &after).runs.len(), 1);
    }
}
