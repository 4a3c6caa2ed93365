//! The table of all built-in rules.

use hipward_analyzer_core::rule::{RuleMeta, concat, count};

const TABLES: [&[&RuleMeta]; 3] = [
    hipward_analyzer_python::rules::METADATA,
    hipward_analyzer_files::rules::METADATA,
    hipward_analyzer_cuda::rules::METADATA,
];

/// Every rule, by family.
pub static RULES: &[&RuleMeta] = &concat::<{ count(&TABLES) }>(&TABLES);

/// The rule with that id or name.
pub fn rule(id_or_name: &str) -> Option<&'static RuleMeta> {
    RULES
        .iter()
        .find(|rule| rule.id.eq_ignore_ascii_case(id_or_name) || rule.name == id_or_name)
        .copied()
}
