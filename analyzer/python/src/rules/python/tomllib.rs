//! HW402: tomllib before Python 3.11.

use crate::checker::PythonChecker;
use crate::rules::helpers::table_rules::{self, ApiFix, ApiPattern, ApiRule, Condition, Versions};
use crate::syntax::Node;
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds unguarded imports of `tomllib` when the target's Python is older than 3.11.
    ///
    /// ## Why on ROCm
    ///
    /// ROCm images shipped Python 3.10 for years, and `tomllib` was added in 3.11. The package `tomli` is the same code
    /// under its old name.
    ///
    /// ## Example
    ///
    /// ```python python=3.10
    /// import tomllib
    ///
    /// with open("pyproject.toml", "rb") as file:
    ///     project = tomllib.load(file)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python python=3.10
    /// import tomli as tomllib
    ///
    /// with open("pyproject.toml", "rb") as file:
    ///     project = tomllib.load(file)
    /// ```
    ///
    /// To support both, use `try: import tomllib` with `except ImportError: import tomli as tomllib`, which is not
    /// reported.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: `tomli` has to be added to the requirements.
    ///
    /// ## References
    ///
    /// * [tomllib](https://docs.python.org/3/library/tomllib.html)
    /// * [tomli](https://github.com/hukkin/tomli)
    "HW402" "tomllib" {
        title: "tomllib needs Python 3.11",
        family: PythonVersion,
        severity: Error,
        applicability: Unsafe,
        targets: "targets with a Python before 3.11",
        lesson: Some("how-to/python-310"),
        visit: [ImportStatement, ImportFromStatement, Call],
    }
}
const USES: &[ApiRule] = &[ApiRule {
    pattern: ApiPattern::Import("tomllib"),
    when: Condition {
        python: Versions::before(3, 11),
        ..Condition::ALWAYS
    },
    severity: Severity::Error,
    message: "tomllib was added in Python 3.11; Python {python} does not have it.",
    fix: ApiFix::unsafe_edit("Import tomli instead", "tomli"),
}];

fn check(cx: &PythonChecker<'_>, node: Node) {
    table_rules::check(cx, &RULE, USES, node);
}
