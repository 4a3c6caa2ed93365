//! A lesson's exercise: conditions on a source, each evaluated separately.
//!
//! `no_findings` names rules that must have no finding. `absent` and `present` match code in the language of team rules.
//! Suppression comments have no effect: suppressed findings count.

use std::ops::Range;

use super::parse::{Table, Wrong, read_match, wrong};
use super::{Matcher, built_in};
use hipward_analyzer_core::diagnostic::MAX_FINDINGS;
use hipward_analyzer_core::json::{Json, parse as parse_json};
use hipward_analyzer_core::rule::RuleMeta;
use hipward_analyzer_core::selection::RuleFilter;
use hipward_analyzer_core::{JudgedCondition, Judgement, Report, Target};
use hipward_analyzer_python::PythonOptions;
use hipward_analyzer_python::checker::PythonChecker;
use hipward_analyzer_python::semantic::{Semantics, never_runs_on_target};
use hipward_analyzer_python::syntax::{LastParse, Node, parse};

/// The conditions of an exercise.
#[derive(Debug)]
pub struct Exercise {
    no_findings: Vec<&'static RuleMeta>,
    searches: Vec<Search>,
}

/// Code that must be present, or absent.
#[derive(Debug)]
struct Search {
    /// The title of the condition, which is true once it is met.
    title: String,
    /// The message while it is not met.
    message: String,
    wanted: Wanted,
    matchers: Vec<Matcher>,
}

#[derive(Debug)]
enum Wanted {
    /// Anywhere, including branches for other GPUs.
    Present,
    /// Nowhere that runs on the target, except within a match of one of these.
    Absent { unless_inside: Vec<Matcher> },
}

/// An invalid exercise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {message}")]
pub struct ExerciseError {
    /// The key's path: `absent 2: match.pattern`.
    pub key: String,
    /// The error, and the valid values.
    pub message: String,
}

impl From<Wrong> for ExerciseError {
    fn from((key, message): Wrong) -> Self {
        ExerciseError { key, message }
    }
}

impl Exercise {
    /// Parses `{no_findings: […], absent: […], present: […]}`.
    ///
    /// # Errors
    /// Returns an error for the first invalid condition.
    pub fn parse(json: &str) -> Result<Exercise, ExerciseError> {
        let Ok(json) = parse_json(json) else {
            return wrong("exercise", "not valid JSON").map_err(ExerciseError::from);
        };
        let table = Table::new("", &json, &["no_findings", "absent", "present"])?;
        let mut exercise = Exercise {
            no_findings: Vec::new(),
            searches: Vec::new(),
        };
        let names = match table.get("no_findings") {
            Some(Json::List(names)) if names.is_empty() => Vec::new(),
            _ => table.texts("no_findings")?,
        };
        for name in names {
            match built_in(name) {
                Some(rule) => exercise.no_findings.push(rule),
                None => wrong("no_findings", format!("there is no rule `{name}`"))?,
            }
        }
        for key in ["present", "absent"] {
            let conditions = match table.get(key) {
                None => &[],
                Some(Json::List(conditions)) => &conditions[..],
                Some(_) => wrong(key, "expected a list of tables")?,
            };
            for (index, condition) in conditions.iter().enumerate() {
                let search = read_search(key, condition);
                exercise.searches.push(search.map_err(|(inner, message)| {
                    let key = format!("{key} {}: {inner}", index + 1);
                    ExerciseError { key, message }
                })?);
            }
        }
        let is_present = |search: &Search| matches!(search.wanted, Wanted::Present);
        if !exercise.searches.iter().any(is_present) {
            wrong(
                "present",
                "add at least one condition for code that must be present, so that an empty text is not a solution",
            )?;
        }
        Ok(exercise)
    }

    /// The rules that must have no finding.
    pub fn rules(&self) -> &[&'static RuleMeta] {
        &self.no_findings
    }

    /// Judges a Python source for the target. `report` is that of [`Exercise::rules`], or of every rule if there are none.
    pub fn judge(&self, source: &str, target: &Target, report: &Report) -> Judgement {
        let mut conditions = vec![is_python(report)];
        conditions.extend(self.no_findings.iter().map(|rule| no_finding(rule, report)));
        if report.suppressed > 0 && !self.no_findings.is_empty() {
            conditions.push(JudgedCondition {
                title: "No finding is suppressed.".to_owned(),
                met: false,
                message:
                    "A `hipward: ignore` comment suppresses a finding; change the code instead."
                        .to_owned(),
            });
        }
        let tree = parse(source, &mut LastParse::default());
        let options = PythonOptions {
            target,
            rules: &[],
            filter: &RuleFilter::default(),
            first_party_modules: &[],
            false_on_amd: "",
            saved_with_arguments: &[],
            release_limits: &[],
            extensions: &[],
        };
        let checker =
            tree.map(|tree| PythonChecker::run(Semantics::new(tree, target.clone()), &options));
        for search in &self.searches {
            let is_present = matches!(search.wanted, Wanted::Present);
            let found = checker.as_ref().map(|checker| search.is_found(checker));
            conditions.push(JudgedCondition {
                title: search.title.clone(),
                // No condition is met by a text that the parser rejected.
                met: found == Some(is_present),
                message: search.message.clone(),
            });
        }
        Judgement { conditions }
    }
}

impl Search {
    fn is_found(&self, cx: &PythonChecker<'_>) -> bool {
        let mut found = matches_of(&self.matchers, cx);
        if let Wanted::Absent { unless_inside } = &self.wanted {
            found.retain(|(node, _)| !never_runs_on_target(&cx.semantics, *node));
            for (_, outer) in matches_of(unless_inside, cx) {
                found.retain(|(_, span)| span.start < outer.start || outer.end < span.end);
            }
        }
        !found.is_empty()
    }
}

/// The positions at which one of the matchers matches, up to the maximum number of findings.
fn matches_of(matchers: &[Matcher], cx: &PythonChecker<'_>) -> Vec<(Node, Range<usize>)> {
    let mut found = Vec::new();
    for matcher in matchers {
        for node in cx.tree().nodes() {
            if found.len() < MAX_FINDINGS
                && matcher.kinds().contains(&cx.tree().kind(node))
                && let Some(place) = matcher.find(cx, node)
            {
                found.push((node, place.span));
            }
        }
    }
    found
}

fn is_python(report: &Report) -> JudgedCondition {
    JudgedCondition {
        title: "The code is Python.".to_owned(),
        met: report.notes.is_empty(),
        message: report
            .notes
            .first()
            .map(|note| note.message.clone())
            .unwrap_or_default(),
    }
}

fn no_finding(rule: &RuleMeta, report: &Report) -> JudgedCondition {
    let found = report
        .findings
        .iter()
        .find(|finding| finding.rule == rule.name);
    JudgedCondition {
        title: format!("No finding of `{}`.", rule.name),
        met: found.is_none(),
        message: found
            .map(|finding| format!("Line {}: {}", finding.span.start.line, finding.message))
            .unwrap_or_default(),
    }
}

fn read_search(kind: &str, json: &Json) -> Result<Search, Wrong> {
    let is_absent = kind == "absent";
    let known: &[&str] = if is_absent {
        &["title", "message", "match", "unless_inside"]
    } else {
        &["title", "message", "match"]
    };
    let table = Table::new("", json, known)?;
    let wanted = if is_absent {
        let unless_inside = match table.get("unless_inside") {
            Some(_) => read_python(&table, "unless_inside")?,
            None => Vec::new(),
        };
        Wanted::Absent { unless_inside }
    } else {
        Wanted::Present
    };
    Ok(Search {
        title: table.needed("title")?.to_owned(),
        message: table.needed("message")?.to_owned(),
        wanted,
        matchers: read_python(&table, "match")?,
    })
}

fn read_python(table: &Table<'_>, path: &'static str) -> Result<Vec<Matcher>, Wrong> {
    let matchers = read_match(table, path)?;
    if matchers
        .iter()
        .any(|matcher| matches!(matcher, Matcher::Thing(_)))
    {
        wrong(
            path,
            "an exercise only supports Python, with import, use, call or pattern",
        )?;
    }
    Ok(matchers)
}
