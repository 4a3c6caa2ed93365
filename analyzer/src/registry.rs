//! The table of all built-in rules.

use hipward_analyzer_core::rule::{RuleMeta, concat, count};

const TABLES: [&[&RuleMeta]; 3] = [
    hipward_analyzer_python::rules::METADATA,
    hipward_analyzer_files::rules::METADATA,
    hipward_analyzer_cuda::rules::METADATA,
];

/// Every rule, by family.
pub static RULES: &[&RuleMeta] = &concat::<_, { count(&TABLES) }>(&TABLES);

/// The rule with that id or name.
pub fn rule(id_or_name: &str) -> Option<&'static RuleMeta> {
    RULES
        .iter()
        .find(|rule| rule.id.eq_ignore_ascii_case(id_or_name) || rule.name == id_or_name)
        .copied()
}

/// The page of a built-in rule, in Markdown.
pub fn rule_page(rule: &RuleMeta) -> String {
    let tables = [
        hipward_analyzer_python::rules::PAGES,
        hipward_analyzer_files::rules::PAGES,
        hipward_analyzer_cuda::rules::PAGES,
    ];
    tables
        .into_iter()
        .flatten()
        .find(|page| page.id == rule.id)
        .map(|page| page.markdown())
        .unwrap_or_default()
}
