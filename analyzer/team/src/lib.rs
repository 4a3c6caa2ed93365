//! Team rules: defined as data instead of code, and evaluated by one engine.
//!
//! A rule contains a matcher (an import, a use or a call of a qualified name, a Python pattern with metavariables, a
//! name in CUDA C++, a package, an image, a variable), a message and a replacement. The command line reads files and
//! TOML; this module reads rules as JSON.
//!
//! ```
//! use hipward_analyzer_team::TeamRules;
//!
//! let rules = r#"[{"id": "ACME001", "name": "acme", "message": "Not on ROCm.", "match": {"call": "acme.f"}}]"#;
//! assert!(TeamRules::parse(rules).is_ok());
//! ```

mod condition;
mod exercise;
mod matching;
mod names;
mod non_python;
mod parse;
mod pattern;
mod template;

use std::ops::Range;
use std::sync::Arc;

use condition::Condition;
pub use exercise::{Exercise, ExerciseError};
use hipward_analyzer_core::diagnostic::{
    MAX_FINDINGS, RawDiagnostic, RawFix, Replacement, RuleRef, TeamRuleRef,
};
use hipward_analyzer_core::rule::RuleMeta;
use hipward_analyzer_core::selection::RuleFilter;
use hipward_analyzer_core::{Applicability, HandledBy, Severity, Target};
use hipward_analyzer_python::checker::PythonChecker;
use hipward_analyzer_python::semantic::never_runs_on_target;
use hipward_analyzer_python::syntax::{KIND_COUNT, Kind, Node};
use matching::Match;
use names::NameMatcher;
use non_python::ThingMatcher;
pub use non_python::{check_cuda, check_file};
use pattern::Pattern;
use template::Template;

/// The rules of a team. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct TeamRules(Arc<[TeamRule]>);

/// One rule of a team.
#[derive(Debug)]
pub struct TeamRule {
    /// `ACME001`; never begins with `HW` and a digit.
    pub id: String,
    /// The name in suppression comments: `acme-attention`.
    pub name: String,
    /// One sentence: the problem on the target.
    pub message: String,
    /// The severity of its findings.
    pub severity: Severity,
    /// The URL of the team's documentation.
    pub link: Option<String>,
    when: Condition,
    matchers: Vec<Matcher>,
    fix: Option<TeamFix>,
}

impl TeamRule {
    fn rule_ref(&self, index: usize) -> RuleRef {
        RuleRef::Team(Box::new(TeamRuleRef {
            id: self.id.clone(),
            name: self.name.clone(),
            link: self.link.clone(),
            index,
        }))
    }

    /// The applicability of its fix; `None` for a rule without a fix.
    pub fn applicability(&self) -> Option<Applicability> {
        self.fix.as_ref().map(|fix| fix.applicability)
    }
}

/// One of the matchers of a rule.
#[derive(Debug)]
enum Matcher {
    Name(NameMatcher),
    Pattern(Pattern),
    Thing(ThingMatcher),
}

#[derive(Debug)]
struct TeamFix {
    title: String,
    applicability: Applicability,
    /// Empty for a display-only fix.
    replace: Option<Writing>,
    /// A module that the replacement needs.
    import: Option<String>,
}

/// The replacement of a fix.
#[derive(Debug)]
enum Writing {
    Python(Template),
    /// Another name, outside of Python.
    Name(String),
}

/// An invalid rule: its index, the key, and the error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rule {}: `{key}`: {message}", index + 1)]
pub struct TeamRuleError {
    /// Its index among the rules, from 0.
    pub index: usize,
    /// The key's path: `match.call`. Empty for the rule as a whole.
    pub key: String,
    /// The error, and the valid values.
    pub message: String,
}

impl TeamRules {
    /// Parses rules: a JSON list of objects.
    ///
    /// # Errors
    /// Returns an error for the first invalid rule.
    pub fn parse(json: &str) -> Result<TeamRules, TeamRuleError> {
        parse::rules(json)
    }

    /// The rules, in their original order.
    pub fn iter(&self) -> impl Iterator<Item = &TeamRule> {
        self.0.iter()
    }

    /// The rule at an index.
    pub fn get(&self, index: usize) -> Option<&TeamRule> {
        self.0.get(index)
    }

    /// True if there are no rules.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The rules that are selected and apply to the target, with their indices.
fn wanted<'r>(
    rules: &'r TeamRules,
    filter: &RuleFilter,
    target: &Target,
) -> impl Iterator<Item = (usize, &'r TeamRule)> {
    rules
        .iter()
        .enumerate()
        .filter(move |(_, rule)| rule.when.holds(target) && filter.includes(&rule.id, false))
}

/// The findings of a team's selected rules in a Python source, up to the maximum number of findings.
#[doc(hidden)]
pub fn check_python(
    rules: &TeamRules,
    filter: &RuleFilter,
    cx: &PythonChecker<'_>,
) -> Vec<RawDiagnostic> {
    let mut by_kind: [Vec<(usize, &TeamRule, &Matcher)>; KIND_COUNT] =
        [const { Vec::new() }; KIND_COUNT];
    let mut diagnostics = Vec::new();
    for (index, rule) in wanted(rules, filter, cx.target()) {
        for matcher in &rule.matchers {
            for kind in matcher.kinds() {
                by_kind[*kind as usize].push((index, rule, matcher));
            }
        }
    }
    if by_kind.iter().all(Vec::is_empty) {
        return diagnostics;
    }
    for node in cx.tree().nodes() {
        for (index, rule, matcher) in &by_kind[cx.tree().kind(node) as usize] {
            let Some(found) = matcher.find(cx, node) else {
                continue;
            };
            if never_runs_on_target(&cx.semantics, node) {
                continue;
            }
            diagnostics.push(RawDiagnostic {
                rule: rule.rule_ref(*index),
                span: found.span.clone(),
                message: rule.message.clone(),
                severity: rule.severity,
                handled_by: HandledBy::You,
                fix: rule.fix.as_ref().map(|fix| fix.suggest(cx, &found)),
            });
        }
        if diagnostics.len() >= MAX_FINDINGS {
            break;
        }
    }
    diagnostics
}

impl Matcher {
    /// The kinds of nodes that it can match.
    fn kinds(&self) -> &[Kind] {
        match self {
            Matcher::Name(name) => name.kinds(),
            Matcher::Pattern(pattern) => &pattern.kinds,
            Matcher::Thing(_) => &[],
        }
    }

    fn find<'a>(&self, cx: &PythonChecker<'a>, node: Node) -> Option<Match<'a>> {
        match self {
            Matcher::Name(name) => name.find(cx, node),
            Matcher::Pattern(pattern) => matching::find(cx, pattern, node),
            Matcher::Thing(_) => None,
        }
    }
}

impl TeamFix {
    /// The fix for a match; display-only if the edit would break the code.
    fn suggest(&self, cx: &PythonChecker<'_>, found: &Match<'_>) -> RawFix {
        let edits = match &self.replace {
            Some(Writing::Python(template)) => self.python_edits(template, cx, found),
            Some(Writing::Name(_)) | None => None,
        };
        self.suggestion(edits)
    }

    fn python_edits(
        &self,
        template: &Template,
        cx: &PythonChecker<'_>,
        found: &Match<'_>,
    ) -> Option<Vec<Replacement>> {
        let mut edits = vec![(found.span.clone(), template.fill(cx.tree(), found)?)];
        if let Some(module) = &self.import {
            edits.extend(names::import(cx, module)?);
        }
        Some(edits)
    }

    /// The fix for a name in languages other than Python.
    fn replace_name(&self, span: Range<usize>) -> RawFix {
        self.suggestion(match &self.replace {
            Some(Writing::Name(name)) => Some(vec![(span, name.clone())]),
            Some(Writing::Python(_)) | None => None,
        })
    }

    fn suggestion(&self, edits: Option<Vec<Replacement>>) -> RawFix {
        match edits {
            Some(edits) if self.applicability != Applicability::DisplayOnly => RawFix {
                title: self.title.clone(),
                applicability: self.applicability,
                edits,
            },
            _ => RawFix::display_only(self.title.clone()),
        }
    }
}

/// The built-in rule with that id or name.
fn built_in(id_or_name: &str) -> Option<&'static RuleMeta> {
    let tables = [
        hipward_analyzer_python::rules::METADATA,
        hipward_analyzer_files::rules::METADATA,
        hipward_analyzer_cuda::rules::METADATA,
    ];
    tables
        .into_iter()
        .flatten()
        .find(|rule| rule.id.eq_ignore_ascii_case(id_or_name) || rule.name == id_or_name)
        .copied()
}
