//! `hipward explain`: prints a rule's page.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use hipward_analyzer::{RULES, UnknownRule, rule};

use crate::config::{Overrides, Project, ProjectError, Projects};
use crate::rule_pages;

/// Options of `hipward explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name or id of a rule, built in or a team's; without one, list all rules
    rule: Option<String>,
    /// A folder of team rules (TOML) [default: the folder in the configuration]
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
}

/// Prints the page, or the list of rules.
pub(crate) fn run(args: Args) -> ExitCode {
    let (text, error_message) = match args.rule.as_deref() {
        None => list(args.rules),
        Some(asked) => match rule(asked) {
            Some(rule) => (rule_pages::page(rule), None),
            None => of_team(asked, args.rules),
        },
    };
    // A closed pipe (`| head`) is not an error.
    let _ = std::io::stdout().write_all(text.as_bytes());
    match error_message {
        None => ExitCode::SUCCESS,
        Some(error_message) => {
            eprintln!("hipward: {error_message}");
            ExitCode::from(2)
        }
    }
}

/// One line for each rule. If the team's rules are invalid, the built-in rules and an error message.
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
        Some(index) => (rule_pages::team_page(&project.team, index), None),
        None => {
            let error = UnknownRule {
                entered: asked.to_owned(),
            };
            (
                String::new(),
                Some(rule_pages::unknown(&error, &project.team.rules)),
            )
        }
    }
}

/// The project of the working directory.
fn project(rules: Option<PathBuf>) -> Result<Arc<Project>, ProjectError> {
    let overrides = Overrides {
        rules,
        ..Overrides::default()
    };
    Projects::new(overrides).of_folder(&std::env::current_dir().unwrap_or_default())
}

fn line(id: &str, name: &str, title: &str) -> String {
    format!("{id}  {name:<24} {title}\n")
}
