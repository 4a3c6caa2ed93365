//! The rules for CUDA C++.
//!
//! A rule is one file in `cuda/`: its doc comment is its page, its `check` its code. Adding one is that file and its
//! line in `cuda/mod.rs`.

use hipward_analyzer_core::rule::{Rule, RuleMeta, RulePage};

use crate::checker::CudaChecker;

/// A rule and its check.
#[derive(Debug)]
pub struct CudaRule {
    pub rule: &'static Rule,
    pub check: fn(&CudaChecker<'_>),
}

/// Declares a rule's statics from its doc comment and its facts (see `declare_rule_metadata!`). `cuda: f` is the check.
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
            cuda: $check:ident,
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
                languages: [CudaCpp],
            }
        }

        pub(super) static CUDA: $crate::rules::CudaRule = $crate::rules::CudaRule {
            rule: &RULE,
            check: $check,
        };
    };
}

/// Lists a family's rules, in the order of the table.
macro_rules! rules {
    ($($rule:ident,)+) => {
        hipward_analyzer_core::list_rules! { $crate::rules::CudaRule, CUDA: $($rule),+ }
    };
}

pub mod cuda;

/// The rules.
pub const RULES: &[&CudaRule] = cuda::RULES;

/// The metadata of [`RULES`].
pub const METADATA: &[&RuleMeta] = cuda::METADATA;

/// The pages of [`METADATA`].
pub const PAGES: &[&RulePage] = cuda::PAGES;
