//! `hipward explain`: a rule's page in the terminal.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use hipward_analyzer::{RULES, RuleMeta, TeamRules, UnknownRule, rule};
use serde_json::Value;

use crate::config::{LoadedRules, Overrides, Project, ProjectError, Projects};

/// Options of `hipward explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A rule's name or id, built in or a team's; without one, every rule in a line
    rule: Option<String>,
    /// A folder of team rules (TOML) [default: the one that the configuration here names]
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
}

/// Prints the page, or the list of rules.
pub(crate) fn run(args: Args) -> ExitCode {
    let (text, complaint) = match args.rule.as_deref() {
        None => list(args.rules),
        Some(asked) => match rule(asked) {
            Some(rule) => (page(rule), None),
            None => of_team(asked, args.rules),
        },
    };
    // A closed pipe (`| head`) is the reader's wish.
    let _ = std::io::stdout().write_all(text.as_bytes());
    match complaint {
        None => ExitCode::SUCCESS,
        Some(complaint) => {
            eprintln!("hipward: {complaint}");
            ExitCode::from(2)
        }
    }
}

/// Every rule in a line. Without a team's where they do not read, which is a complaint.
fn list(rules: Option<PathBuf>) -> (String, Option<String>) {
    let mut text: String = RULES
        .iter()
        .map(|rule| line(rule.id, rule.name, rule.title))
        .collect();
    match project(rules) {
        Ok(project) => {
            let rules = project.team.rules.iter();
            text.extend(rules.map(|rule| line(&rule.id, &rule.name, &rule.message)));
            (text, None)
        }
        Err(error) => (text, Some(error.to_string())),
    }
}

fn of_team(asked: &str, rules: Option<PathBuf>) -> (String, Option<String>) {
    let project = match project(rules) {
        Ok(project) => project,
        Err(error) => return (String::new(), Some(error.to_string())),
    };
    let mut rules = project.team.rules.iter();
    match rules.position(|rule| rule.id.eq_ignore_ascii_case(asked) || rule.name == asked) {
        Some(index) => (team_page(&project.team, index), None),
        None => {
            let error = UnknownRule {
                asked: asked.to_owned(),
            };
            (String::new(), Some(unknown(&error, &project.team.rules)))
        }
    }
}

/// What holds in this folder.
fn project(rules: Option<PathBuf>) -> Result<Arc<Project>, ProjectError> {
    let overrides = Overrides {
        rules,
        ..Overrides::default()
    };
    Projects::new(overrides).of_folder(&std::env::current_dir().unwrap_or_default())
}

/// What to say of a rule that does not exist.
pub(crate) fn unknown(error: &UnknownRule, team: &TeamRules) -> String {
    let hint = match error.nearest(team) {
        Some((name, id)) => format!("did you mean {name} ({id})?"),
        None => "`hipward explain` lists them all".to_owned(),
    };
    format!("{error}; {hint}")
}

fn line(id: &str, name: &str, title: &str) -> String {
    format!("{id}  {name:<24} {title}\n")
}

/// The page of a team's rule: what it says, where it is explained, and how it is written.
pub(crate) fn team_page(team: &LoadedRules, index: usize) -> String {
    let Some(rule) = team.rules.get(index) else {
        return String::new();
    };
    let mut text = format!("# {} ({})\n\n{}\n", rule.name, rule.id, rule.message);
    if let Some(link) = &rule.link {
        text.push_str(&format!("\n{link}\n"));
    }
    let told = ["id", "name", "message", "link"];
    let written = team.json.get(index).and_then(Value::as_object);
    let keys = written.into_iter().flatten();
    let mut lines = String::new();
    for (key, value) in keys.filter(|(key, _)| !told.contains(&key.as_str())) {
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

/// A rule's page with its heading.
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
        rule.doc()
    )
}
