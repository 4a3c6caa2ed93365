//! Rules: the data to run one ([`Rule`]), and its metadata ([`RuleMeta`]).
//!
//! The two are separate statics, so that a build that never lists rules does not contain their texts.

use crate::report::{Applicability, Language, Severity};

/// The subject of a rule; the first digit of its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// HW0: requirements, Dockerfiles, CMake.
    BuildFiles,
    /// HW1: libraries that only NVIDIA's stack has.
    VendorLibraries,
    /// HW2: environment variables.
    Environment,
    /// HW3: code that depends on the GPU it runs on.
    BackendCode,
    /// HW4: versions of Python and of PyTorch.
    PythonVersion,
    /// HW5: `torch.compile`.
    Compile,
    /// HW6: how a model is written.
    ModelPerformance,
    /// HW7: Triton kernels.
    Triton,
    /// HW8: measuring.
    Measuring,
    /// HW9: CUDA C++.
    CudaCpp,
}

impl Family {
    /// The digit after `HW`.
    pub fn digit(self) -> char {
        match self {
            Family::BuildFiles => '0',
            Family::VendorLibraries => '1',
            Family::Environment => '2',
            Family::BackendCode => '3',
            Family::PythonVersion => '4',
            Family::Compile => '5',
            Family::ModelPerformance => '6',
            Family::Triton => '7',
            Family::Measuring => '8',
            Family::CudaCpp => '9',
        }
    }

    /// For a heading.
    pub fn title(self) -> &'static str {
        match self {
            Family::BuildFiles => "Build files",
            Family::VendorLibraries => "Vendor libraries",
            Family::Environment => "Environment",
            Family::BackendCode => "Backend code",
            Family::PythonVersion => "Python and PyTorch versions",
            Family::Compile => "torch.compile",
            Family::ModelPerformance => "Model performance",
            Family::Triton => "Triton",
            Family::Measuring => "Measuring",
            Family::CudaCpp => "CUDA C++",
        }
    }
}

/// The part of a rule that its findings and the selection need.
#[derive(Debug)]
pub struct Rule {
    /// `HW101`.
    pub id: &'static str,
    /// The name used in suppression comments: `pynvml`.
    pub name: &'static str,
    /// Its subject.
    pub family: Family,
    /// The usual severity of its findings.
    pub severity: Severity,
    /// True for a rule that runs only when it is selected by name.
    pub on_request: bool,
}

/// What is published about a rule.
#[derive(Debug, serde::Serialize)]
pub struct RuleMeta {
    /// `HW101`.
    pub id: &'static str,
    /// The name, as in a suppression comment: `pynvml`.
    pub name: &'static str,
    /// A one-line description for a list.
    pub title: &'static str,
    /// The subject.
    pub family: Family,
    /// The usual severity of its findings.
    pub severity: Severity,
    /// The languages it checks.
    pub languages: &'static [Language],
    /// A description of the targets it applies to.
    pub targets: &'static str,
    /// The best applicability of its fixes.
    pub applicability: Applicability,
    /// The lesson about it, as in the address of its page: `port/vendor-libraries`.
    pub lesson: Option<&'static str>,
    /// True for a rewrite that is only a matter of taste: it runs only when it is selected by name.
    #[serde(skip)]
    pub on_request: bool,
    /// Different severities of some findings, each with a description of these findings: `in a test`.
    #[serde(skip)]
    pub also: &'static [(Severity, &'static str)],
}

impl RuleMeta {
    /// The severities of findings, the usual one first, each with a description of its findings: `in a test`. The usual
    /// one has no description.
    pub fn severities(&self) -> Vec<(Severity, &'static str)> {
        let mut found = vec![(self.severity, "")];
        found.extend(self.also);
        // Severities that the checkers set for every rule.
        let has_error = found
            .iter()
            .any(|(severity, _)| *severity == Severity::Error);
        let is_cuda = self.languages.contains(&Language::CudaCpp);
        if is_cuda && has_error {
            found.push((
                Severity::Info,
                "in a source that tests for AMD in a condition",
            ));
        }
        if is_cuda && self.applicability != Applicability::DisplayOnly {
            found.push((
                Severity::Info,
                "where a safe fix applies in a Python string",
            ));
        }
        if self.languages.contains(&Language::Yaml) {
            found.push((Severity::Info, "in a workflow of continuous integration"));
        }
        if found
            .iter()
            .any(|(severity, _)| *severity != Severity::Info)
        {
            found.push((Severity::Info, "in a file that AMD hosts do not use"));
        }
        found
    }
}

/// The page of a rule. It is a separate static, so that a build that shows no pages does not contain them.
#[doc(hidden)]
#[derive(Debug)]
pub struct RulePage {
    /// The rule's id.
    pub id: &'static str,
    /// The lines of its doc comment.
    pub lines: &'static [&'static str],
}

impl RulePage {
    /// The page in Markdown.
    pub fn markdown(&self) -> String {
        let mut page = String::new();
        for line in self.lines {
            page.push_str(line.strip_prefix(' ').unwrap_or(line));
            page.push('\n');
        }
        page
    }
}

/// The number of items in `lists`.
#[doc(hidden)]
pub const fn count<T: Copy>(lists: &[&[T]]) -> usize {
    let mut total = 0;
    let mut list = 0;
    while list < lists.len() {
        total += lists[list].len();
        list += 1;
    }
    total
}

/// The items of `lists`, one after the other; `N` is their [`count`].
#[doc(hidden)]
pub const fn concat<T: Copy, const N: usize>(lists: &[&[T]]) -> [T; N] {
    let mut all = [lists[0][0]; N];
    let (mut at, mut list) = (0, 0);
    while list < lists.len() {
        let mut index = 0;
        while index < lists[list].len() {
            all[at] = lists[list][index];
            at += 1;
            index += 1;
        }
        list += 1;
    }
    all
}

/// Expands to the first of its arguments: repeats something once for a part of a macro that is present.
#[doc(hidden)]
#[macro_export]
macro_rules! first {
    ($first:expr, $($rest:tt)*) => {
        $first
    };
}

/// Lists the rules of a family: constants `RULES`, `METADATA` and `PAGES`. `$table` is the static that makes a rule run,
/// of type `$type`, in each rule's module.
#[doc(hidden)]
#[macro_export]
macro_rules! list_rules {
    ($type:ty, $table:ident: $($rule:ident),+) => {
        pub(super) const RULES: &[&$type] = &[$(&$rule::$table),+];
        pub(super) const METADATA: &[&$crate::rule::RuleMeta] = &[$(&$rule::METADATA),+];
        pub(super) const PAGES: &[&$crate::rule::RulePage] = &[$(&$rule::PAGE),+];
    };
}

/// Declares the statics `RULE` ([`Rule`]), `METADATA` ([`RuleMeta`]) and `PAGE` ([`RulePage`]) of a rule's module from its doc comment and its
/// facts. The language crates wrap it and add the check.
///
/// `also: [Info "in a test"]` lists severities that some findings have instead, and which those are.
#[doc(hidden)]
#[macro_export]
macro_rules! declare_rule_metadata {
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
            languages: [$($language:ident),+ $(,)?],
        }
    ) => {
        $(#[doc = $doc])+
        pub static RULE: $crate::rule::Rule = $crate::rule::Rule {
            id: $id,
            name: $name,
            family: $crate::rule::Family::$family,
            severity: $crate::Severity::$severity,
            on_request: false $(|| $on_request)?,
        };

        pub(super) static METADATA: $crate::rule::RuleMeta = $crate::rule::RuleMeta {
            id: $id,
            name: $name,
            title: $title,
            family: $crate::rule::Family::$family,
            severity: $crate::Severity::$severity,
            languages: &[$($crate::Language::$language),+],
            targets: $targets,
            applicability: $crate::Applicability::$applicability,
            lesson: $lesson,
            on_request: false $(|| $on_request)?,
            also: &[$($(($crate::Severity::$other, $when)),+)?],
        };

        pub(super) static PAGE: $crate::rule::RulePage = $crate::rule::RulePage {
            id: $id,
            lines: &[$($doc),+],
        };
    };
}
