//! Before and after, for a page and for `git apply`.

use std::collections::HashMap;
use std::fmt::Write;

use similar::algorithms::{Capture, Replace, myers};
use similar::{DiffOp, DiffTag, group_diff_ops};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DiffLine {
    /// What became of it.
    pub kind: DiffKind,
    /// Its number before, from 1.
    pub old: Option<u32>,
    /// Its number after.
    pub new: Option<u32>,
    /// Its text, without the end of the line.
    pub text: String,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiffKind {
    /// In both.
    Equal,
    /// Only before.
    Removed,
    /// Only after.
    Added,
    /// Stands for equal lines that are left out.
    Gap,
}

/// Two texts by lines, and what turns one into the other.
struct Comparison<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    groups: Vec<Vec<DiffOp>>,
}

impl<'a> Comparison<'a> {
    fn new(before: &'a str, after: &'a str) -> Self {
        let old: Vec<_> = before.split_inclusive('\n').collect();
        let new: Vec<_> = after.split_inclusive('\n').collect();
        // Numbers in place of lines, and one algorithm by name: the crate's own entry points bring all of them, which
        // is half of the browser module.
        let mut seen = HashMap::new();
        let mut numbers = |lines: &[&'a str]| -> Vec<usize> {
            lines
                .iter()
                .map(|line| {
                    let next = seen.len();
                    *seen.entry(*line).or_insert(next)
                })
                .collect()
        };
        let (old_numbers, new_numbers) = (numbers(&old), numbers(&new));
        let mut hook = Replace::new(Capture::new());
        let done = myers::diff_deadline_raw(
            &mut hook,
            &old_numbers[..],
            0..old.len(),
            &new_numbers[..],
            0..new.len(),
            None,
        );
        let ops = match done {
            Ok(()) => hook.into_inner().into_ops(),
            Err(never) => match never {},
        };
        Comparison {
            old,
            new,
            groups: group_diff_ops(ops, CONTEXT),
        }
    }

    /// The lines of a group, the removed ones before those in their place.
    fn lines(&self, group: &[DiffOp]) -> Vec<(DiffKind, Option<usize>, Option<usize>, &'a str)> {
        let mut lines = Vec::new();
        for op in group {
            let (old, new) = (op.old_range(), op.new_range());
            if op.tag() == DiffTag::Equal {
                lines.extend(
                    old.zip(new)
                        .map(|(old, new)| (DiffKind::Equal, Some(old), Some(new), self.old[old])),
                );
            } else {
                lines.extend(
                    old.map(|index| (DiffKind::Removed, Some(index), None, self.old[index])),
                );
                lines
                    .extend(new.map(|index| (DiffKind::Added, None, Some(index), self.new[index])));
            }
        }
        lines
    }
}

/// The changed lines with some around them. Nothing when the texts are equal.
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
    for group in &comparison.groups {
        let start = group.first().map_or(0, |op| op.old_range().start);
        if start > end {
            result.push(gap(&count(start - end)));
        }
        end = group.last().map_or(end, |op| op.old_range().end);
        for (kind, old, new, text) in comparison.lines(group) {
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

/// A patch that `git apply` takes; empty when the texts are equal.
pub fn unified_diff(path: &str, before: &str, after: &str) -> String {
    let comparison = Comparison::new(before, after);
    let mut patch = String::new();
    for group in &comparison.groups {
        if patch.is_empty() {
            patch = format!("--- a/{path}\n+++ b/{path}\n");
        }
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let range = |start: usize, end: usize| match end - start {
            // An empty range names the line before it.
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            length => format!("{},{length}", start + 1),
        };
        let old = range(first.old_range().start, last.old_range().end);
        let new = range(first.new_range().start, last.new_range().end);
        // Writing to a string does not fail.
        let _ = writeln!(patch, "@@ -{old} +{new} @@");
        for (kind, _, _, text) in comparison.lines(group) {
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
