//! Rule pages as Markdown, for `hipward explain` and for editors.

use hipward_analyzer::{RuleMeta, TeamRules, UnknownRule};
use serde_json::Value;

use crate::config::LoadedRules;

/// The error message for a rule that does not exist, with the nearest name.
pub(crate) fn unknown(error: &UnknownRule, team: &TeamRules) -> String {
    let hint = match error.nearest(team) {
        Some((name, id)) => format!("did you mean {name} ({id})?"),
        None => "`hipward rules` lists them all".to_owned(),
    };
    format!("{error}; {hint}")
}

/// The page of a team's rule: its message, its link, and its definition.
pub(crate) fn team_page(team: &LoadedRules, index: usize) -> String {
    let Some(rule) = team.rules.get(index) else {
        return String::new();
    };
    let mut text = format!("# {} ({})\n\n{}\n", rule.name, rule.id, rule.message);
    if let Some(link) = &rule.link {
        text.push_str(&format!("\n{link}\n"));
    }
    let shown = ["id", "name", "message", "link"];
    let written = team.json.get(index).and_then(Value::as_object);
    let keys = written.into_iter().flatten();
    let mut lines = String::new();
    for (key, value) in keys.filter(|(key, _)| !shown.contains(&key.as_str())) {
        write_key(key, value, &mut lines);
    }
    let place = team.places.get(index).map_or("", String::as_str);
    text.push_str(&format!("\n## The rule ({place})\n\n{lines}"));
    text
}

/// `match.call = "acme.f"`, a line for each key.
fn write_key(key: &str, value: &Value, text: &mut String) {
    match value {
        Value::Object(table) => {
            for (inner, value) in table {
                write_key(&format!("{key}.{inner}"), value, text);
            }
        }
        _ => text.push_str(&format!("{key} = {value}\n")),
    }
}

/// The page of a built-in rule, with its heading.
pub(crate) fn page(rule: &RuleMeta) -> String {
    let severities: String = rule
        .severities()
        .into_iter()
        .map(|(severity, when)| match when {
            "" => format!("* {}\n", severity.name()),
            when => format!("* {}, {when}\n", severity.name()),
        })
        .collect();
    format!(
        "# {} ({})\n\n{}. Applies to {}.\n\nSeverity:\n\n{severities}\n{}",
        rule.name,
        rule.id,
        rule.title,
        rule.targets,
        hipward_analyzer::rule_page(rule)
    )
}
