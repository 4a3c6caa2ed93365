//! A lesson's exercise: what its text asks of a source, as conditions that are judged one by one.
//!
//! `gone` names rules that must have no finding. `absent` and `present` look for code in the language of team rules.
//! Comments that silence findings do not help: what they silence counts.

use std::ops::Range;

use super::parse::{Table, Wrong, read_match, wrong};
use super::{Matcher, built_in};
use hipward_analyzer_core::diagnostic::MAX_FINDINGS;
use hipward_analyzer_core::json::{Json, parse as parse_json};
use hipward_analyzer_core::rule::RuleMeta;
use hipward_analyzer_core::selection::RuleFilter;
use hipward_analyzer_core::{JudgedCondition, Judgement, Report, Target};
use hipward_analyzer_python::PythonOptions;
use hipward_analyzer_python::checker::Checker;
use hipward_analyzer_python::semantic::{Semantics, never_runs_on_target};
use hipward_analyzer_python::syntax::{LastParse, Node, parse};

/// What an exercise asks for.
#[derive(Debug)]
pub struct Exercise {
    gone: Vec<&'static RuleMeta>,
    searches: Vec<Search>,
}

/// Code that has to be there, or must not be.
#[derive(Debug)]
struct Search {
    /// The condition, as it reads when it is met.
    title: String,
    /// What to do about it while it is not.
    message: String,
    wanted: Wanted,
    matchers: Vec<Matcher>,
}

#[derive(Debug)]
enum Wanted {
    /// Somewhere, if only on a path for other GPUs.
    Present,
    /// Nowhere that runs on the target, but within a match of one of these.
    Absent { unless_inside: Vec<Matcher> },
}

/// An exercise that does not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {message}")]
pub struct ExerciseError {
    /// The key's path: `absent 2: match.pattern`.
    pub key: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl From<Wrong> for ExerciseError {
    fn from((key, message): Wrong) -> Self {
        ExerciseError { key, message }
    }
}

impl Exercise {
    /// Reads `{gone: […], absent: […], present: […]}`.
    ///
    /// # Errors
    /// At the first condition that does not read.
    pub fn parse(json: &str) -> Result<Exercise, ExerciseError> {
        let Ok(json) = parse_json(json) else {
            return wrong("exercise", "it is not JSON").map_err(ExerciseError::from);
        };
        let table = Table::new("", &json, &["gone", "absent", "present"])?;
        let mut exercise = Exercise {
            gone: Vec::new(),
            searches: Vec::new(),
        };
        let names = match table.get("gone") {
            Some(Json::List(names)) if names.is_empty() => Vec::new(),
            _ => table.texts("gone")?,
        };
        for name in names {
            match built_in(name) {
                Some(rule) => exercise.gone.push(rule),
                None => wrong("gone", format!("there is no rule `{name}`"))?,
            }
        }
        for key in ["present", "absent"] {
            let conditions = match table.get(key) {
                None => &[],
                Some(Json::List(conditions)) => &conditions[..],
                Some(_) => wrong(key, "it is a list of tables")?,
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
                "an exercise says what has to be there, so that an empty text is no solution",
            )?;
        }
        Ok(exercise)
    }

    /// The rules that must have no finding.
    pub fn rules(&self) -> &[&'static RuleMeta] {
        &self.gone
    }

    /// Judges a Python source for the target. `report` is that of [`Exercise::rules`], or of every rule if there are none.
    pub fn judge(&self, source: &str, target: &Target, report: &Report) -> Judgement {
        let mut conditions = vec![is_python(report)];
        conditions.extend(self.gone.iter().map(|rule| no_finding(rule, report)));
        if report.suppressed > 0 && !self.gone.is_empty() {
            conditions.push(JudgedCondition {
                title: "No finding is silenced.".to_owned(),
                met: false,
                message: "A `hipward: ignore` comment hides a finding; change the code instead."
                    .to_owned(),
            });
        }
        let tree = parse(source, &mut LastParse::default());
        let options = PythonOptions {
            target,
            rules: &[],
            filter: &RuleFilter::default(),
            first_party_modules: &[],
            extensions: &[],
        };
        let checker = tree.map(|tree| Checker::run(Semantics::new(tree, target.clone()), &options));
        for search in &self.searches {
            let is_present = matches!(search.wanted, Wanted::Present);
            let found = checker.as_ref().map(|checker| search.is_found(checker));
            conditions.push(JudgedCondition {
                title: search.title.clone(),
                // Nothing is true of a text that the parser gave up on.
                met: found == Some(is_present),
                message: search.message.clone(),
            });
        }
        Judgement { conditions }
    }
}

impl Search {
    fn is_found(&self, cx: &Checker<'_>) -> bool {
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

/// Each place where one of the matchers finds its code, up to the number of findings that anyone reads.
fn matches_of(matchers: &[Matcher], cx: &Checker<'_>) -> Vec<(Node, Range<usize>)> {
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
            "an exercise is in Python, and looks for import, use, call or pattern",
        )?;
    }
    Ok(matchers)
}
