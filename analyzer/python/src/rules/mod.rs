//! The rules for Python source.
//!
//! A rule is one file in its family's folder: its doc comment is its page, its `check` its code. Adding one is that file
//! and its line in the family's `mod.rs`.

use hipward_analyzer_core::rule::{Rule, RuleMeta, RulePage, concat, count};

use crate::checker::PythonChecker;
use crate::syntax::{Kind, Node};

/// A rule and the nodes that it checks.
#[derive(Debug)]
pub struct PythonRule {
    pub rule: &'static Rule,
    pub visit: &'static [Kind],
    pub check: fn(&PythonChecker<'_>, Node),
}

/// Declares a rule's statics from its doc comment and its facts (see `declare_rule_metadata!`):
///
/// * `visit: [Call, …]`: `check(&PythonChecker, Node)` runs on each node of those kinds;
/// * `files: [Dockerfile, …]`: the rule also checks those files, in the crate `hipward-analyzer-files`.
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
            visit: [$($kind:ident),+ $(,)?],
            $(files: [$($language:ident),+ $(,)?],)?
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
                languages: [Python, Notebook $($(, $language)+)?],
            }
        }

        pub(super) static PYTHON: $crate::rules::PythonRule = $crate::rules::PythonRule {
            rule: &RULE,
            visit: &[$($crate::syntax::Kind::$kind),+],
            check,
        };
    };
}

/// Lists a family's rules, in the order of the table.
macro_rules! rules {
    ($($rule:ident,)+) => {
        hipward_analyzer_core::list_rules! { $crate::rules::PythonRule, PYTHON: $($rule),+ }
    };
}

pub mod backend;
pub mod compile;
pub mod environment;
pub mod helpers;
pub mod measure;
pub mod model;
pub mod python;
pub mod releases;
mod strings;
pub mod triton;
pub mod vendor;

/// Joins the tables of the families, which are listed once. Those after the semicolon are apart: their rules do not run on
/// every source, and the browser's Python module does not contain them.
macro_rules! tables {
    ($($family:ident),+; $($apart:ident),+) => {
        const TABLES: &[&[&PythonRule]] = &[$($family::RULES),+];
        const TABLES_WITH_TRITON: &[&[&PythonRule]] =
            &[$($family::RULES,)+ $($apart::RULES,)+ strings::CHECKS];
        const METADATA_TABLES: &[&[&RuleMeta]] = &[$($family::METADATA,)+ $($apart::METADATA),+];
        const PAGE_TABLES: &[&[&RulePage]] = &[$($family::PAGES,)+ $($apart::PAGES),+];
    };
}

tables! { vendor, environment, backend, python, compile, model, measure; releases, triton }

/// The rules for any Python source, by family.
pub static RULES: &[&PythonRule] = &concat::<_, { count(TABLES) }>(TABLES);

/// [`RULES`], the rules for Triton kernels and for releases of PyTorch and Python, and the checks in `strings`.
pub static RULES_AND_TRITON: &[&PythonRule] =
    &concat::<_, { count(TABLES_WITH_TRITON) }>(TABLES_WITH_TRITON);

/// The metadata of [`RULES_AND_TRITON`].
pub static METADATA: &[&RuleMeta] = &concat::<_, { count(METADATA_TABLES) }>(METADATA_TABLES);

/// The pages of [`RULES_AND_TRITON`].
pub static PAGES: &[&RulePage] = &concat::<_, { count(PAGE_TABLES) }>(PAGE_TABLES);
