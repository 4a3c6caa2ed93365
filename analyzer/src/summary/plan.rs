//! The porting plan of a project: steps in the order in which a port makes them, with the files of each.
//!
//! Pure: the counts of a survey in, a [`Plan`] out. `output/plan.rs` writes it as text and as Markdown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::effort::EffortEstimate;
use crate::registry::rule;
use hipward_analyzer_core::rule::Family;
use hipward_analyzer_core::{Applicability, Effort, Finding, HandledBy, Severity, Target, sort};

/// The version of the plan's JSON.
const VERSION: u32 = 1;

/// A porting plan. Its JSON is the input of a later comparison ([`Progress`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The version of this format.
    pub version: u32,
    /// The target that the project was checked for.
    pub target: Target,
    /// The number of files that were checked.
    pub files: usize,
    /// What a person does, in order.
    pub steps: Vec<PlanStep>,
    /// Findings that PyTorch's hipify handles at build time, and their files.
    pub hipify: Vec<PlanFile>,
    /// The number of findings that the ROCm build of PyTorch handles.
    pub by_rocm_wheel: u32,
    /// The number of findings that are for information only.
    pub information: u32,
    /// The estimated time of the port.
    pub effort: Effort,
}

/// The findings of one rule that need a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanStep {
    /// The phase of the port.
    pub group: PlanGroup,
    /// The id of the rule.
    pub id: String,
    /// The name of the rule.
    pub rule: String,
    /// A description of the problem.
    pub title: String,
    /// What to do about the first finding.
    pub action: String,
    /// The least safe way in which one of the findings is fixed.
    pub applicability: Applicability,
    /// The worst severity.
    pub severity: Severity,
    /// The number of findings.
    pub findings: u32,
    /// The files, in the order in which to change them.
    pub files: Vec<PlanFile>,
    /// The minimum and maximum of the estimated time, in minutes.
    pub minutes: (u32, u32),
}

/// The findings of one rule in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFile {
    /// The path, relative to the project's root.
    pub path: String,
    /// The number of findings.
    pub findings: u32,
    /// The line of the first one.
    pub line: u32,
}

/// A phase of a port. Each depends on the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanGroup {
    /// A: without its packages nothing starts.
    Packages,
    /// B: variables that are read when the process starts.
    Environment,
    /// C: conditions that select code by NVIDIA's names and versions.
    Conditions,
    /// D: the Python of the image.
    Python,
    /// E: CUDA C++, its build and Triton kernels.
    Kernels,
    /// The rules of a team.
    Team,
    /// After the port: advice about speed and measurements.
    Performance,
}

impl PlanGroup {
    /// Every group, in order.
    pub const ALL: [PlanGroup; 7] = [
        PlanGroup::Packages,
        PlanGroup::Environment,
        PlanGroup::Conditions,
        PlanGroup::Python,
        PlanGroup::Kernels,
        PlanGroup::Team,
        PlanGroup::Performance,
    ];

    /// For a heading.
    pub fn title(self) -> &'static str {
        match self {
            PlanGroup::Packages => "A. Packages, images and libraries",
            PlanGroup::Environment => "B. Environment variables",
            PlanGroup::Conditions => "C. Conditions that only NVIDIA passes",
            PlanGroup::Python => "D. Python version",
            PlanGroup::Kernels => "E. CUDA C++ and Triton kernels",
            PlanGroup::Team => "Team rules",
            PlanGroup::Performance => "After the port: performance",
        }
    }

    /// The reason for its place in the order.
    pub fn reason(self) -> &'static str {
        match self {
            PlanGroup::Packages => {
                "First: nothing else can be tested before the program installs and imports its modules."
            }
            PlanGroup::Environment => "Needs A: most variables are read when the process starts.",
            PlanGroup::Conditions => {
                "Needs A: these conditions decide which of the remaining code runs."
            }
            PlanGroup::Python => "Needs the image of A, whose Python version decides.",
            PlanGroup::Kernels => {
                "Needs the build files of A. Headers come before the sources that include them."
            }
            PlanGroup::Team => "In the order of the rules' ids.",
            PlanGroup::Performance => "Needs a port with correct results and a recorded baseline.",
        }
    }

    fn of(finding: &Finding) -> PlanGroup {
        let Some(rule) = rule(&finding.id) else {
            return PlanGroup::Team;
        };
        match rule.family {
            _ if finding.severity == Severity::Advice => PlanGroup::Performance,
            Family::BuildFiles | Family::VendorLibraries => PlanGroup::Packages,
            Family::Environment => PlanGroup::Environment,
            // Options and libraries of an extension's build.
            Family::BackendCode if matches!(rule.name, "nvcc-flags" | "extension-libraries") => {
                PlanGroup::Kernels
            }
            Family::BackendCode => PlanGroup::Conditions,
            Family::PythonVersion => PlanGroup::Python,
            Family::CudaCpp | Family::Triton => PlanGroup::Kernels,
            Family::Compile | Family::ModelPerformance | Family::Measuring => {
                PlanGroup::Performance
            }
        }
    }
}

/// The findings of one rule in a file, as a survey stores them.
pub(super) struct FileRule {
    id: String,
    rule: String,
    group: PlanGroup,
    handled_by: HandledBy,
    severity: Severity,
    applicability: Applicability,
    action: String,
    count: u32,
    line: u32,
    estimate: EffortEstimate,
}

/// The findings of a file by rule and by who handles them.
pub(super) fn rules_of(findings: &[Finding]) -> Vec<FileRule> {
    let mut rules: Vec<FileRule> = Vec::new();
    for finding in findings {
        let is_same = |known: &&mut FileRule| {
            known.id == finding.id
                && known.handled_by == finding.handled_by
                // Information about a rule is no step.
                && (known.severity == Severity::Info) == (finding.severity == Severity::Info)
        };
        let applicability = finding
            .fix
            .as_ref()
            .map_or(Applicability::DisplayOnly, |fix| fix.applicability);
        match rules.iter_mut().find(is_same) {
            Some(known) => {
                known.count += 1;
                known.severity = known.severity.min(finding.severity);
                known.applicability = known.applicability.max(applicability);
                known.estimate.repeat(finding);
            }
            None => {
                let mut estimate = EffortEstimate::default();
                estimate.add(std::slice::from_ref(finding));
                rules.push(FileRule {
                    id: finding.id.clone(),
                    rule: finding.rule.clone(),
                    group: PlanGroup::of(finding),
                    handled_by: finding.handled_by,
                    severity: finding.severity,
                    applicability,
                    action: finding
                        .fix
                        .as_ref()
                        .map_or_else(|| finding.message.clone(), |fix| fix.title.clone()),
                    count: 1,
                    line: finding.span.start.line,
                    estimate,
                });
            }
        }
    }
    rules
}

impl Plan {
    pub(super) fn new(
        target: &Target,
        files: usize,
        found: &[(&str, &[FileRule])],
        effort: Effort,
    ) -> Plan {
        let mut plan = Plan {
            version: VERSION,
            target: target.clone(),
            files,
            steps: Vec::new(),
            hipify: Vec::new(),
            by_rocm_wheel: 0,
            information: 0,
            effort,
        };
        let mut steps: BTreeMap<(PlanGroup, &str), (PlanStep, EffortEstimate)> = BTreeMap::new();
        for (path, rules) in found {
            for found in *rules {
                let file = PlanFile {
                    path: (*path).to_owned(),
                    findings: found.count,
                    line: found.line,
                };
                match found.handled_by {
                    HandledBy::Hipify => plan.add_hipified(file),
                    HandledBy::RocmWheel => plan.by_rocm_wheel += found.count,
                    HandledBy::You if found.severity == Severity::Info => {
                        plan.information += found.count;
                    }
                    HandledBy::You => {
                        let step = || (PlanStep::new(found), EffortEstimate::default());
                        let (step, estimate) = steps
                            .entry((found.group, found.id.as_str()))
                            .or_insert_with(step);
                        step.severity = step.severity.min(found.severity);
                        step.applicability = step.applicability.max(found.applicability);
                        step.findings += found.count;
                        step.files.push(file);
                        estimate.join(&found.estimate);
                    }
                }
            }
        }
        plan.steps = steps
            .into_values()
            .map(|(mut step, estimate)| {
                step.minutes = estimate.minutes();
                if step.group == PlanGroup::Kernels {
                    step.files = sort::by_key(step.files, |file| {
                        [usize::from(!is_header(&file.path)), 0, 0]
                    });
                }
                step
            })
            .collect();
        // What does not run comes before what runs slowly.
        plan.steps = sort::by_key(plan.steps, |step| {
            [step.group as usize, step.severity as usize, 0]
        });
        plan
    }

    fn add_hipified(&mut self, file: PlanFile) {
        match self.hipify.last_mut() {
            Some(last) if last.path == file.path => last.findings += file.findings,
            _ => self.hipify.push(file),
        }
    }

    /// The steps of a group.
    pub fn steps_of(&self, group: PlanGroup) -> impl Iterator<Item = &PlanStep> {
        self.steps.iter().filter(move |step| step.group == group)
    }

    /// The number of findings that need a person.
    pub fn by_you(&self) -> u32 {
        self.steps.iter().map(|step| step.findings).sum()
    }

    /// Reads a plan that was written as JSON. The error is a sentence.
    pub fn read(json: &str) -> Result<Plan, String> {
        let plan: Plan = serde_json::from_str(json)
            .map_err(|error| format!("not a plan of `hipward plan --format json`: {error}"))?;
        if plan.version == VERSION {
            Ok(plan)
        } else {
            Err(format!(
                "a plan of version {}; this program reads version {VERSION}",
                plan.version
            ))
        }
    }
}

impl PlanStep {
    fn new(found: &FileRule) -> PlanStep {
        PlanStep {
            group: found.group,
            id: found.id.clone(),
            rule: found.rule.clone(),
            title: rule(&found.id).map_or_else(|| found.rule.clone(), |rule| rule.title.to_owned()),
            action: found.action.clone(),
            applicability: found.applicability,
            severity: found.severity,
            findings: 0,
            files: Vec::new(),
            minutes: (0, 0),
        }
    }
}

fn is_header(path: &str) -> bool {
    [".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl"]
        .iter()
        .any(|ending| path.ends_with(ending))
}

/// The difference between two plans of a project. Findings are compared by rule and file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Findings that a person had to handle, in the earlier plan.
    pub before: u32,
    /// Those that are no longer found.
    pub done: u32,
    /// Findings that were not in the earlier plan.
    pub new: u32,
    /// The rules of the earlier plan without a finding now: id, name and number of findings.
    pub finished: Vec<(String, String, u32)>,
}

impl Progress {
    /// The progress from an earlier plan to a later one.
    pub fn between(before: &Plan, after: &Plan) -> Progress {
        let counts = |plan: &Plan| {
            let mut counts: BTreeMap<(String, String), u32> = BTreeMap::new();
            for step in &plan.steps {
                for file in &step.files {
                    *counts
                        .entry((step.id.clone(), file.path.clone()))
                        .or_default() += file.findings;
                }
            }
            counts
        };
        let (old, new) = (counts(before), counts(after));
        let lost = |from: &BTreeMap<(String, String), u32>, to: &BTreeMap<_, u32>| {
            from.iter()
                .map(|(key, count)| count.saturating_sub(*to.get(key).unwrap_or(&0)))
                .sum()
        };
        let mut finished: Vec<(String, String, u32)> = Vec::new();
        for step in &before.steps {
            let is_left = after.steps.iter().any(|other| other.id == step.id);
            match finished.iter_mut().find(|(id, ..)| *id == step.id) {
                _ if is_left => {}
                Some((.., findings)) => *findings += step.findings,
                None => finished.push((step.id.clone(), step.rule.clone(), step.findings)),
            }
        }
        Progress {
            before: before.by_you(),
            done: lost(&old, &new),
            new: lost(&new, &old),
            finished,
        }
    }
}
