//! Rules for languages other than Python: names and headers in CUDA C++; packages, images and variables in other files.

use std::ops::Range;

use super::{Matcher, TeamRule, TeamRules};
use hipward_analyzer_core::HandledBy;
use hipward_analyzer_core::Target;
use hipward_analyzer_core::diagnostic::RawDiagnostic;
use hipward_analyzer_core::selection::RuleFilter;
use hipward_analyzer_files::facts::{Facts, Installer};

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thing {
    /// A function, type, constant or macro of CUDA C++: `acme_gemm`, `acme::gemm`.
    Cuda,
    /// A header, or a folder of headers if it ends in `/`.
    Include,
    /// A required package, with the normalized name of package indexes.
    Package,
    /// A container image with any tag.
    Image,
    /// An environment variable that is set.
    Variable,
}

/// Matches a name.
#[derive(Debug)]
pub(super) struct ThingMatcher {
    pub(super) thing: Thing,
    pub(super) name: String,
}

impl ThingMatcher {
    /// Creates a matcher; on failure, returns a description of a valid name of this kind.
    pub(super) fn new(thing: Thing, name: &str) -> Result<ThingMatcher, &'static str> {
        let is_word = |text: &str| {
            !text.is_empty()
                && !text.starts_with(|first: char| first.is_ascii_digit())
                && text.chars().all(|c| c.is_alphanumeric() || c == '_')
        };
        let has_only = |more: &str| {
            name.chars()
                .all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        let (is_good, like) = match thing {
            Thing::Cuda => (
                name.split("::").all(is_word),
                "a C++ name such as acme::gemm",
            ),
            Thing::Include => (
                has_only("_-./+"),
                "a header such as acme/gemm.h, or a folder such as acme/",
            ),
            Thing::Package => (
                has_only("_-."),
                "a package's name such as acme-kernels, without a version",
            ),
            Thing::Image => (
                has_only("_-./:@"),
                "an image such as registry.acme.com/base",
            ),
            Thing::Variable => (is_word(name), "a variable such as ACME_HOME"),
        };
        if !is_good {
            return Err(like);
        }
        let name = match thing {
            Thing::Package => hipward_analyzer_files::facts::normalized(name),
            _ => name.to_owned(),
        };
        Ok(ThingMatcher { thing, name })
    }

    fn in_cuda(&self, cx: &hipward_analyzer_cuda::CudaChecker<'_>) -> Vec<Range<usize>> {
        match self.thing {
            Thing::Cuda => {
                let parts: Vec<&str> = self.name.split("::").collect();
                let Some((last, around)) = parts.split_last() else {
                    return Vec::new();
                };
                if around.is_empty() {
                    return cx.uses(last).map(|at| cx.source.span(at..at + 1)).collect();
                }
                let back = 2 * around.len() as u32;
                let mut tokens = vec![*last];
                for part in around.iter().rev() {
                    tokens.splice(0..0, [*part, "::"]);
                }
                let places = cx.source.places(last).iter();
                places
                    .filter_map(|at| Some(at.checked_sub(back)?..at + 1))
                    .filter(|name| cx.source.reads(name.start, &tokens))
                    .filter(|name| cx.is_for_both(name.start))
                    .map(|name| cx.source.span(name))
                    .collect()
            }
            Thing::Include => cx
                .source
                .includes()
                .filter(|(header, token)| {
                    let is_it = *header == self.name
                        || self.name.ends_with('/') && header.starts_with(&self.name);
                    is_it && cx.is_for_both(*token)
                })
                .filter_map(|(header, token)| {
                    // Without its quotes or angle brackets.
                    let span = cx.source.span(token..token + 1);
                    let at = span.start + cx.source.token_text(token).find(header)?;
                    Some(at..at + header.len())
                })
                .collect(),
            Thing::Package | Thing::Image | Thing::Variable => Vec::new(),
        }
    }

    /// Requirements with a marker for some machines, and the packages of a lock file, are not matched.
    fn in_file(&self, facts: &Facts<'_>) -> Vec<Range<usize>> {
        match self.thing {
            Thing::Package => {
                let packages = facts.requirements.iter();
                packages
                    .filter(|found| !found.guarded && found.installer != Installer::Lock)
                    .filter(|found| found.normalized() == self.name)
                    .map(|found| found.name.range())
                    .collect()
            }
            Thing::Image => {
                let is_it = |image: &str| {
                    image
                        .strip_prefix(&self.name)
                        .is_some_and(|tag| tag.is_empty() || tag.starts_with([':', '@']))
                };
                let images = facts.images.iter();
                images
                    .filter(|image| !image.guarded && is_it(image.name.as_str()))
                    .map(|image| image.name.range())
                    .collect()
            }
            Thing::Variable => {
                let settings = facts.settings.iter();
                settings
                    .filter(|found| !found.guarded && found.key.as_str() == self.name)
                    .map(|found| found.key.range())
                    .collect()
            }
            Thing::Cuda | Thing::Include => Vec::new(),
        }
    }
}

/// The findings of a team's selected rules in CUDA C++.
pub fn check_cuda(
    rules: &TeamRules,
    filter: &RuleFilter,
    cx: &hipward_analyzer_cuda::CudaChecker<'_>,
) -> Vec<RawDiagnostic> {
    diagnostics(rules, filter, cx.target, |matcher| matcher.in_cuda(cx))
}

/// The findings of a team's selected rules in a build file or script.
pub fn check_file(
    rules: &TeamRules,
    filter: &RuleFilter,
    target: &Target,
    facts: &Facts<'_>,
) -> Vec<RawDiagnostic> {
    diagnostics(rules, filter, target, |matcher| matcher.in_file(facts))
}

fn diagnostics(
    rules: &TeamRules,
    filter: &RuleFilter,
    target: &Target,
    find: impl Fn(&ThingMatcher) -> Vec<Range<usize>>,
) -> Vec<RawDiagnostic> {
    let mut diagnostics = Vec::new();
    for (index, rule) in super::wanted(rules, filter, target) {
        for matcher in &rule.matchers {
            if let Matcher::Thing(matcher) = matcher {
                let places = find(matcher).into_iter();
                diagnostics.extend(places.map(|span| diagnostic(index, rule, span)));
            }
        }
    }
    diagnostics
}

fn diagnostic(index: usize, rule: &TeamRule, span: Range<usize>) -> RawDiagnostic {
    RawDiagnostic {
        rule: rule.rule_ref(index),
        message: rule.message.clone(),
        severity: rule.severity,
        handled_by: HandledBy::You,
        fix: rule.fix.as_ref().map(|fix| fix.replace_name(span.clone())),
        span,
    }
}
