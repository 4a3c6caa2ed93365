//! A team's own rules: data instead of code, judged by one engine.
//!
//! A rule names what it looks for (an import, a use or a call of a qualified name, a piece of Python with holes, a name
//! in CUDA C++, a package, an image, a variable), what to say and what to write instead. Files and TOML are the command line's affair: here rules come as JSON.

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
    MAX_FINDINGS, RawDiagnostic, Replacement, RuleRef, Suggestion,
};
use hipward_analyzer_core::rule::RuleMeta;
use hipward_analyzer_core::selection::RuleFilter;
use hipward_analyzer_core::{Applicability, HandledBy, Severity, Target};
use hipward_analyzer_python::checker::Checker;
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
    /// Reads after "allow": `acme-attention`.
    pub name: String,
    /// One sentence: what is wrong with it on the target.
    pub message: String,
    /// How bad its findings are.
    pub severity: Severity,
    /// Where the team explains it.
    pub link: Option<String>,
    when: Condition,
    matchers: Vec<Matcher>,
    fix: Option<TeamFix>,
}

impl TeamRule {
    fn rule_ref(&self, index: usize) -> RuleRef {
        RuleRef::Team {
            id: self.id.clone(),
            name: self.name.clone(),
            link: self.link.clone(),
            index,
        }
    }

    /// How freely its fix may be made; none for a rule that only reports.
    pub fn applicability(&self) -> Option<Applicability> {
        self.fix.as_ref().map(|fix| fix.applicability)
    }
}

/// One of the forms of code that a rule looks for.
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
    /// Empty for a fix that only describes.
    replace: Option<Writing>,
    /// A module that the replacement needs.
    import: Option<String>,
}

/// What a fix writes.
#[derive(Debug)]
enum Writing {
    Python(Template),
    /// Another name, outside of Python.
    Name(String),
}

/// A rule that does not read: which, where in it, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rule {}: `{key}`: {message}", index + 1)]
pub struct TeamRuleError {
    /// Its place among the rules, from 0.
    pub index: usize,
    /// The key's path: `match.call`. Empty for the rule as a whole.
    pub key: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl TeamRules {
    /// Reads rules: a JSON list of objects.
    ///
    /// # Errors
    /// At the first rule that does not read.
    pub fn parse(json: &str) -> Result<TeamRules, TeamRuleError> {
        parse::rules(json)
    }

    /// Each rule, in the order they were given.
    pub fn iter(&self) -> impl Iterator<Item = &TeamRule> {
        self.0.iter()
    }

    /// The rule in a place.
    pub fn get(&self, index: usize) -> Option<&TeamRule> {
        self.0.get(index)
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The rules that are selected and for the target, with their places among all.
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

/// What a team's selected rules find in a Python source, up to the number of findings that anyone reads.
#[doc(hidden)]
pub fn check_python(
    rules: &TeamRules,
    filter: &RuleFilter,
    cx: &Checker<'_>,
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

    fn find<'a>(&self, cx: &Checker<'a>, node: Node) -> Option<Match<'a>> {
        match self {
            Matcher::Name(name) => name.find(cx, node),
            Matcher::Pattern(pattern) => matching::find(cx, pattern, node),
            Matcher::Thing(_) => None,
        }
    }
}

impl TeamFix {
    /// The fix for a match; one for a person to carry out where the edit can't be made without harm.
    fn suggest(&self, cx: &Checker<'_>, found: &Match<'_>) -> Suggestion {
        let edits = match &self.replace {
            Some(Writing::Python(template)) => self.python_edits(template, cx, found),
            Some(Writing::Name(_)) | None => None,
        };
        self.suggestion(edits)
    }

    fn python_edits(
        &self,
        template: &Template,
        cx: &Checker<'_>,
        found: &Match<'_>,
    ) -> Option<Vec<Replacement>> {
        let mut edits = vec![(found.span.clone(), template.fill(cx.tree(), found)?)];
        if let Some(module) = &self.import {
            edits.extend(names::import(cx, module)?);
        }
        Some(edits)
    }

    /// The fix for a name outside of Python.
    fn replace_name(&self, span: Range<usize>) -> Suggestion {
        self.suggestion(match &self.replace {
            Some(Writing::Name(name)) => Some(vec![(span, name.clone())]),
            Some(Writing::Python(_)) | None => None,
        })
    }

    fn suggestion(&self, edits: Option<Vec<Replacement>>) -> Suggestion {
        match edits {
            Some(edits) if self.applicability != Applicability::DisplayOnly => Suggestion {
                title: self.title.clone(),
                applicability: self.applicability,
                edits,
            },
            _ => Suggestion::display_only(self.title.clone()),
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
