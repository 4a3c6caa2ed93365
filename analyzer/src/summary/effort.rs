//! The estimate of a port's effort: a table of minutes, and how findings are counted in it.

use crate::registry::rule;
use hipward_analyzer_core::rule::Family;
use hipward_analyzer_core::{Applicability, Effort, EffortItem, Finding, HandledBy, Severity};

/// A kind of work, and the minutes that one finding takes: the minimum with experience, the maximum without.
struct Kind {
    title: &'static str,
    least: u32,
    most: u32,
}

/// Estimates of the authors, not measurements. The summary shows the table with its sums, so that a team can use its
/// own figures.
const KINDS: [Kind; 7] = [
    Kind {
        title: "Fixed by `hipward check --fix`; review the diff",
        least: 0,
        most: 1,
    },
    Kind {
        title: "A fix is available; review and apply it",
        least: 2,
        most: 10,
    },
    Kind {
        title: "By hand: does not run on the target",
        least: 15,
        most: 60,
    },
    Kind {
        title: "By hand: wrong or slow on the target",
        least: 10,
        most: 45,
    },
    Kind {
        title: "By hand, in CUDA C++ that no converter supports",
        least: 60,
        most: 480,
    },
    Kind {
        title: "Done by PyTorch's hipify or the ROCm wheel; only check the build",
        least: 0,
        most: 1,
    },
    Kind {
        title: "For information",
        least: 0,
        most: 2,
    },
];

/// Setting up, building and running the tests once; no finding represents this work.
const BASE: Kind = Kind {
    title: "Set up ROCm, build, and run the tests once",
    least: 120,
    most: 480,
};

/// The second finding of a rule in a file is the same kind of work, so it counts only in part.
const REPEAT: u32 = 4;

/// A description of the figures.
const NOTE: &str = "Estimated from a table, not measured: minutes for each kind of finding, the minimum with experience, the maximum without. \
Further findings of one rule in one file count as a quarter. Performance advice and problems found by tests are not included.";

/// Findings by kind of work: those that count in full, and those that count in part.
#[derive(Clone, Copy, Default)]
pub(super) struct EffortEstimate {
    kinds: [[u32; 2]; KINDS.len()],
}

impl EffortEstimate {
    /// Adds a file's findings.
    pub(super) fn add(&mut self, findings: &[Finding]) {
        let mut seen: Vec<&str> = Vec::new();
        for finding in findings {
            let Some(kind) = kind(finding) else {
                continue;
            };
            let is_repeat = seen.contains(&finding.id.as_str());
            if !is_repeat {
                seen.push(&finding.id);
            }
            self.kinds[kind][usize::from(is_repeat)] += 1;
        }
    }

    /// Adds another finding of a rule in a file.
    pub(super) fn repeat(&mut self, finding: &Finding) {
        if let Some(kind) = kind(finding) {
            self.kinds[kind][1] += 1;
        }
    }

    pub(super) fn join(&mut self, other: &EffortEstimate) {
        let sums = self.kinds.iter_mut().flatten();
        sums.zip(other.kinds.iter().flatten())
            .for_each(|(sum, count)| *sum += count);
    }

    /// The minimum and maximum in minutes, without the work that no finding represents.
    pub(super) fn minutes(&self) -> (u32, u32) {
        KINDS
            .iter()
            .zip(self.kinds)
            .fold((0, 0), |(least, most), (kind, counts)| {
                let [from, to] = [kind.least, kind.most].map(|each| minutes(counts, each));
                (least + from, most + to)
            })
    }

    pub(super) fn finish(self) -> Effort {
        let mut items: Vec<EffortItem> = KINDS
            .iter()
            .zip(self.kinds)
            .filter(|(_, [first, repeats])| first + repeats > 0)
            .map(|(kind, [first, repeats])| {
                let minutes = |each: u32| minutes([first, repeats], each);
                EffortItem {
                    kind: kind.title.to_owned(),
                    findings: first + repeats,
                    minutes_each: (kind.least, kind.most),
                    minutes: (minutes(kind.least), minutes(kind.most)),
                }
            })
            .collect();
        if !items.is_empty() {
            items.push(EffortItem {
                kind: BASE.title.to_owned(),
                findings: 0,
                minutes_each: (BASE.least, BASE.most),
                minutes: (BASE.least, BASE.most),
            });
        }
        Effort {
            minutes: items.iter().fold((0, 0), |sum, item| {
                (sum.0 + item.minutes.0, sum.1 + item.minutes.1)
            }),
            items,
            note: NOTE.to_owned(),
        }
    }
}

/// Rounded up, so that a small sum is not zero.
fn minutes([first, repeats]: [u32; 2], each: u32) -> u32 {
    first * each + (repeats * each).div_ceil(REPEAT)
}

/// The kind of work of a finding; `None` for advice, which is optional in a port.
fn kind(finding: &Finding) -> Option<usize> {
    if finding.handled_by != HandledBy::You {
        return Some(5);
    }
    let fix = finding.fix.as_ref().filter(|fix| !fix.edits.is_empty());
    let is_cuda = rule(&finding.id).is_some_and(|rule| rule.family == Family::CudaCpp);
    match (finding.severity, fix.map(|fix| fix.applicability)) {
        (Severity::Advice, _) => None,
        (_, Some(Applicability::Safe)) => Some(0),
        (Severity::Info, _) => Some(6),
        (_, Some(Applicability::Unsafe)) => Some(1),
        _ if is_cuda => Some(4),
        (Severity::Error, _) => Some(2),
        _ => Some(3),
    }
}
