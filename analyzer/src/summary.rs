//! The summary of a project's reports: findings by kind, who handles them, and an estimate of the effort.
//!
//! Pure: paths and reports in, a [`Summary`] out.

mod effort;
mod plan;
mod ported_siblings;

use std::collections::BTreeMap;

use crate::registry::rule;
use effort::EffortEstimate;
use hipward_analyzer_core::rule::Family;
use hipward_analyzer_core::{
    FamilyCount, Finding, HandledBy, PortedFile, Report, Severity, Summary, Target,
};
use plan::FileRule;
pub use plan::{Plan, PlanFile, PlanGroup, PlanStep, Progress};

/// Adds up reports one at a time; only numbers of a report are stored.
#[derive(Default)]
pub struct Survey {
    files: Vec<File>,
}

/// The groups in which findings are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Family(Family),
    Team,
}

impl Group {
    fn of(finding: &Finding) -> Group {
        rule(&finding.id).map_or(Group::Team, |rule| Group::Family(rule.family))
    }

    fn title(self) -> &'static str {
        match self {
            Group::Family(family) => family.title(),
            Group::Team => "Team rules",
        }
    }
}

/// The numbers stored for a file.
struct File {
    path: String,
    families: BTreeMap<Group, [usize; 4]>,
    handled: [usize; 3],
    estimate: EffortEstimate,
    rules: Vec<FileRule>,
}

impl Survey {
    /// Adds the report of the file at `path`, which is relative to the project's root.
    pub fn add(&mut self, path: &str, report: &Report) {
        let mut file = File {
            path: path.to_owned(),
            families: BTreeMap::new(),
            handled: [0; 3],
            estimate: EffortEstimate::default(),
            rules: plan::rules_of(&report.findings),
        };
        for finding in &report.findings {
            let counts = file.families.entry(Group::of(finding)).or_default();
            counts[severity(finding.severity)] += 1;
            file.handled[match finding.handled_by {
                HandledBy::You => 0,
                HandledBy::Hipify => 1,
                HandledBy::RocmWheel => 2,
            }] += 1;
        }
        file.estimate.add(&report.findings);
        self.files.push(file);
    }

    /// The porting plan of all added reports, for a target. Files with a ported version are left out.
    pub fn plan(&self, target: &Target) -> Plan {
        let paths: Vec<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
        let mut estimate = EffortEstimate::default();
        let mut files: Vec<(&str, &[FileRule])> = Vec::new();
        for (file, port) in self.files.iter().zip(ported_siblings::find(&paths)) {
            if port.is_none() {
                estimate.join(&file.estimate);
                files.push((&file.path, &file.rules));
            }
        }
        Plan::new(target, self.files.len(), &files, estimate.finish())
    }

    /// The summary of all added reports.
    pub fn finish(self) -> Summary {
        let paths: Vec<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
        let ports = ported_siblings::find(&paths);
        let mut families: BTreeMap<Group, [usize; 4]> = BTreeMap::new();
        let mut handled = [0; 3];
        let mut ported = Vec::new();
        let mut estimate = EffortEstimate::default();
        let mut with_findings = 0;
        for (file, port) in self.files.iter().zip(ports) {
            let findings: usize = file.families.values().flatten().sum();
            with_findings += usize::from(findings > 0);
            if let Some(port) = port.filter(|_| findings > 0) {
                ported.push(PortedFile {
                    path: file.path.clone(),
                    port: port.to_owned(),
                    findings,
                });
                continue;
            }
            for (family, counts) in &file.families {
                let sums = families.entry(*family).or_default();
                sums.iter_mut()
                    .zip(counts)
                    .for_each(|(sum, count)| *sum += count);
            }
            handled
                .iter_mut()
                .zip(file.handled)
                .for_each(|(sum, count)| *sum += count);
            estimate.join(&file.estimate);
        }
        let [by_you, by_hipify, by_rocm_wheel] = handled;
        Summary {
            files: self.files.len(),
            files_with_findings: with_findings,
            families: families
                .into_iter()
                .map(|(group, [error, warning, advice, info])| FamilyCount {
                    family: group.title().to_owned(),
                    error,
                    warning,
                    advice,
                    info,
                })
                .collect(),
            by_you,
            by_hipify,
            by_rocm_wheel,
            ported,
            effort: estimate.finish(),
        }
    }
}

fn severity(severity: Severity) -> usize {
    match severity {
        Severity::Error => 0,
        Severity::Warning => 1,
        Severity::Advice => 2,
        Severity::Info => 3,
    }
}
