//! The rules for requirements, containers, build files and scripts.
//!
//! A rule is one file in `build/`: its doc comment is its page, its `check` its code. Adding one is that file and its
//! line in `build/mod.rs`. A rule for Python that checks these files too has its line in `python_rules.rs`.

use hipward_analyzer_core::Language;
use hipward_analyzer_core::rule::{Rule, RuleMeta, RulePage};

use crate::checker::FileChecker;

/// A rule, the files that it checks, and how.
#[derive(Debug)]
pub struct FileRule {
    pub rule: &'static Rule,
    pub languages: &'static [Language],
    pub check: fn(&FileChecker<'_>),
}

/// Declares a rule's statics from its doc comment and its facts (see `declare_rule_metadata!`). `files: [Dockerfile, …] f`
/// are the files that it checks, and the check.
macro_rules! declare_rule {
    (
        $(#[doc = $doc:literal])+
        $id:literal $name:literal {
            title: $title:literal,
            family: $family:ident,
            severity: $severity:ident,
            $(also: [$($other:ident $when:literal),+ $(,)?],)?
            applicability: $applicability:ident,
            targets: $targets:literal,
            lesson: $lesson:expr,
            $(on_request: $on_request:literal,)?
            files: [$($language:ident),+ $(,)?] $check:ident,
        }
    ) => {
        hipward_analyzer_core::declare_rule_metadata! {
            $(#[doc = $doc])+
            $id $name {
                title: $title,
                family: $family,
                severity: $severity,
                $(also: [$($other $when),+],)?
                applicability: $applicability,
                targets: $targets,
                lesson: $lesson,
                $(on_request: $on_request,)?
                languages: [$($language),+],
            }
        }

        pub(super) static FILES: $crate::rules::FileRule = $crate::rules::FileRule {
            rule: &RULE,
            languages: &[$(hipward_analyzer_core::Language::$language),+],
            check: $check,
        };
    };
}

/// Lists a family's rules, in the order of the table.
macro_rules! rules {
    ($($rule:ident,)+) => {
        hipward_analyzer_core::list_rules! { $crate::rules::FileRule, FILES: $($rule),+ }
    };
}

pub mod build;
pub(crate) mod helpers;
mod python_rules;

/// All rules that check files, by family.
pub(crate) fn all() -> impl Iterator<Item = &'static FileRule> {
    python_rules::RULES
        .iter()
        .chain(build::RULES.iter().copied())
}

/// The metadata of this crate's own rules.
pub const METADATA: &[&RuleMeta] = build::METADATA;

/// The pages of [`METADATA`].
pub const PAGES: &[&RulePage] = build::PAGES;
