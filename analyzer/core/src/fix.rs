//! Applies fixes: selected ones, or all up to an applicability until nothing changes.

use crate::report::{Applicability, Edit, Report};
use crate::sort;

/// The maximum number of rounds. Each round applies all fixes that do not overlap, so real sources need two or three.
const MAX_ROUNDS: usize = 20;

/// A source with fixes applied.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Applied {
    /// The new source.
    pub source: String,
    /// The findings whose fix was applied; a fix that overlaps an earlier one was not.
    pub applied: Vec<usize>,
}

/// A source with every permitted fix applied.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FixedSource {
    /// The new source.
    pub source: String,
    /// The number of applied fixes.
    pub applied: usize,
}

/// Applies the fixes of the findings at `indices` of `report` to its source.
///
/// Overlapping fixes are never applied together: the first in `indices` has priority. Indices and spans outside of the
/// source are ignored.
pub fn apply_fixes(source: &str, report: &Report, indices: &[usize]) -> Applied {
    let mut taken: Vec<&Edit> = Vec::new();
    let mut applied = Vec::new();
    for index in indices {
        let fix = report
            .findings
            .get(*index)
            .and_then(|finding| finding.fix.as_ref());
        let Some(fix) = fix.filter(|fix| !fix.edits.is_empty()) else {
            continue;
        };
        let fits = fix.edits.iter().all(|edit| {
            source.get(range(edit)).is_some() && taken.iter().all(|other| !overlap(edit, other))
        });
        if fits && !applied.contains(index) {
            taken.extend(&fix.edits);
            applied.push(*index);
        }
    }
    let mut taken = sort::by_key(taken, |edit| {
        let range = range(edit);
        [range.start, range.end, 0]
    });
    // Two fixes may need the same import: it is added once.
    taken.dedup_by(|a, b| a == b && a.span.start == a.span.end);
    let mut fixed = String::with_capacity(source.len());
    let mut position = 0;
    for edit in taken {
        let range = range(edit);
        fixed.push_str(source.get(position..range.start).unwrap_or_default());
        fixed.push_str(&edit.text);
        position = range.end;
    }
    fixed.push_str(source.get(position..).unwrap_or_default());
    Applied {
        source: fixed,
        applied,
    }
}

/// Applies every fix that is at most `up_to`, analyzes the result again with `analyze`, and repeats until no fix is left.
#[doc(hidden)]
pub fn fix_until_stable(
    source: &str,
    up_to: Applicability,
    analyze: &mut dyn FnMut(&str) -> Report,
) -> FixedSource {
    let mut fixed = FixedSource {
        source: source.to_owned(),
        applied: 0,
    };
    for _ in 0..MAX_ROUNDS {
        let report = analyze(&fixed.source);
        let wanted: Vec<usize> = report
            .findings
            .iter()
            .enumerate()
            .filter(|(_, finding)| {
                finding
                    .fix
                    .as_ref()
                    .is_some_and(|fix| fix.applicability <= up_to)
            })
            .map(|(index, _)| index)
            .collect();
        let next = apply_fixes(&fixed.source, &report, &wanted);
        if next.applied.is_empty() || next.source == fixed.source {
            break;
        }
        fixed.applied += next.applied.len();
        fixed.source = next.source;
    }
    fixed
}

fn range(edit: &Edit) -> std::ops::Range<usize> {
    edit.span.start.byte as usize..edit.span.end.byte as usize
}

/// Two edits that cannot both be applied. Of equal insertions, one is applied for both.
fn overlap(a: &Edit, b: &Edit) -> bool {
    if a == b && a.span.start == a.span.end {
        return false;
    }
    let (a, b) = (range(a), range(b));
    if a.is_empty() || b.is_empty() {
        // The order of an insertion at the edge of another edit is undefined.
        return a.start <= b.end && b.start <= a.end;
    }
    a.start < b.end && b.start < a.end
}
