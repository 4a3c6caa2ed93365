//! Counts over many files, by rule and by family, without storing the reports.

use std::collections::BTreeMap;

use crate::registry::rule;
use hipward_analyzer_core::{Applicability, Report, Severity};

/// The counts so far.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Analyzed files.
    pub files: usize,
    /// Files with findings.
    pub files_with_findings: usize,
    /// Findings suppressed by comments.
    pub suppressed: usize,
    /// Findings in the baseline.
    pub known: usize,
    rules: BTreeMap<String, Count>,
}

/// A rule and its counts.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Count {
    /// `HW101`.
    pub id: String,
    /// `pynvml`.
    pub name: String,
    /// The family of the rule, for a heading.
    pub family: &'static str,
    /// The number of findings.
    pub findings: usize,
    /// The number of findings with a safe fix.
    pub safe_fixes: usize,
    /// The number of findings with an unsafe fix.
    pub unsafe_fixes: usize,
    /// The number of findings with a severity above info.
    #[serde(skip)]
    failing: usize,
}

impl Statistics {
    /// Counts one file.
    pub fn add(&mut self, report: &Report) {
        self.files += 1;
        self.files_with_findings += usize::from(!report.findings.is_empty());
        self.suppressed += report.suppressed;
        for finding in &report.findings {
            let count = self
                .rules
                .entry(finding.id.clone())
                .or_insert_with(|| Count {
                    id: finding.id.clone(),
                    name: finding.rule.clone(),
                    family: rule(&finding.id).map_or("Team rules", |rule| rule.family.title()),
                    findings: 0,
                    safe_fixes: 0,
                    unsafe_fixes: 0,
                    failing: 0,
                });
            count.findings += 1;
            count.failing += usize::from(finding.severity != Severity::Info);
            match finding.fix.as_ref().map(|fix| fix.applicability) {
                Some(Applicability::Safe) => count.safe_fixes += 1,
                Some(Applicability::Unsafe) => count.unsafe_fixes += 1,
                Some(Applicability::DisplayOnly) | None => {}
            }
        }
    }

    /// True if there are no findings.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// True if there is a finding with a severity above info.
    pub fn is_failure(&self) -> bool {
        self.rules.values().any(|count| count.failing > 0)
    }

    /// The rules with findings, the most frequent first.
    pub fn by_rule(&self) -> Vec<&Count> {
        let mut counts: Vec<_> = self.rules.values().collect();
        counts.sort_by(|a, b| b.findings.cmp(&a.findings).then(a.id.cmp(&b.id)));
        counts
    }

    fn by_family(&self) -> BTreeMap<&'static str, usize> {
        let mut families = BTreeMap::new();
        for count in self.rules.values() {
            *families.entry(count.family).or_default() += count.findings;
        }
        families
    }

    fn sum(&self, what: impl Fn(&Count) -> usize) -> usize {
        self.rules.values().map(what).sum()
    }

    /// A few lines for the end of a report.
    pub fn summary(&self) -> String {
        let findings = self.sum(|count| count.findings);
        let mut text = format!(
            "{} in {}",
            counted(findings, "finding", "findings"),
            counted(self.files, "file", "files")
        );
        if self.suppressed > 0 {
            text.push_str(&format!(", {} suppressed", self.suppressed));
        }
        if self.known > 0 {
            text.push_str(&format!(", {} in the baseline", self.known));
        }
        text.push_str(".\n");
        let safe = self.sum(|count| count.safe_fixes);
        if safe > 0 {
            let fixes = counted(safe, "safe fix", "safe fixes");
            text.push_str(&format!("{fixes} can be made with --fix.\n"));
        }
        let not_safe = self.sum(|count| count.unsafe_fixes);
        if not_safe > 0 {
            text.push_str(&format!(
                "{not_safe} more with --fix --unsafe-fixes; look at them with --diff first.\n"
            ));
        }
        text
    }

    /// The counts as a table for a terminal, by rule and by family.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for count in self.by_rule() {
            let fixes = match (count.safe_fixes, count.unsafe_fixes) {
                (0, 0) => String::new(),
                (safe, 0) => format!("{safe} safe"),
                (0, not_safe) => format!("{not_safe} unsafe"),
                (safe, not_safe) => format!("{safe} safe, {not_safe} unsafe"),
            };
            let line = format!(
                "{:>6}  {:<8} {:<26} {:<18} {fixes}",
                count.findings, count.id, count.name, count.family
            );
            text.push_str(line.trim_end());
            text.push('\n');
        }
        if !self.is_empty() {
            text.push('\n');
        }
        for (family, findings) in self.by_family() {
            text.push_str(&format!("{findings:>6}  {family}\n"));
        }
        if !self.is_empty() {
            text.push('\n');
        }
        text.push_str(&self.summary());
        text
    }

    /// The counts as JSON.
    pub fn json(&self) -> String {
        let value = serde_json::json!({
            "files": self.files,
            "files_with_findings": self.files_with_findings,
            "findings": self.sum(|count| count.findings),
            "suppressed": self.suppressed,
            "known": self.known,
            "rules": self.by_rule(),
            "families": self.by_family(),
        });
        // Strings, numbers and lists always have a JSON form.
        let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
