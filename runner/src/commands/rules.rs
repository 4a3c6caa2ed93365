//! `hipward rules`: lists the built-in rules and the team's, as text or as JSON.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use hipward_analyzer::{
    Applicability, Family, Language, RULES, RuleMeta, Severity, TeamRule, TeamRules,
};
use serde::Serialize;

use super::lsp::DEFAULT_SITE;
use crate::config::{Overrides, Project, ProjectError, Projects};

/// Options of `hipward rules`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How the rules are printed
    #[arg(long, value_enum, default_value_t = Format::Text, hide_default_value = true)]
    format: Format,
    /// A folder of team rules (TOML) [default: the folder in the configuration]
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
    /// The site that --format json links to, such as the address of `hipward serve`
    #[arg(long, value_name = "URL", default_value = DEFAULT_SITE)]
    site: String,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// One line for each rule: id, name, and what it finds
    Text,
    /// A list of objects, one for each rule
    Json,
}

/// Prints the rules.
pub(crate) fn run(args: Args) -> ExitCode {
    print(args.rules, |team| match args.format {
        Format::Text => text(team),
        Format::Json => json(team, args.site.trim_end_matches('/')),
    })
}

/// Prints the rules as text.
pub(super) fn print_text(rules: Option<PathBuf>) -> ExitCode {
    print(rules, text)
}

/// Prints the built-in rules and the team's. If the team's rules are invalid, prints the built-in ones and an error message.
fn print(rules: Option<PathBuf>, write: impl FnOnce(&TeamRules) -> String) -> ExitCode {
    let (text, error) = match project(rules) {
        Ok(project) => (write(&project.team.rules), None),
        Err(error) => (write(&TeamRules::default()), Some(error)),
    };
    // A closed pipe (`| head`) is not an error.
    let _ = std::io::stdout().write_all(text.as_bytes());
    match error {
        None => ExitCode::SUCCESS,
        Some(error) => {
            eprintln!("hipward: {error}");
            ExitCode::from(2)
        }
    }
}

/// The project of the working directory.
pub(super) fn project(rules: Option<PathBuf>) -> Result<Arc<Project>, ProjectError> {
    let overrides = Overrides {
        rules,
        ..Overrides::default()
    };
    Projects::new(overrides).of_folder(&std::env::current_dir().unwrap_or_default())
}

fn text(team: &TeamRules) -> String {
    let line = |id: &str, name: &str, summary: &str| format!("{id}  {name:<24} {summary}\n");
    let built_in = RULES
        .iter()
        .map(|rule| line(rule.id, rule.name, rule.title));
    let team = team
        .iter()
        .map(|rule| line(&rule.id, &rule.name, &rule.message));
    built_in.chain(team).collect()
}

fn json(team: &TeamRules, site: &str) -> String {
    let built_in = RULES.iter().map(|rule| Entry::built_in(rule, site));
    let entries: Vec<Entry<'_>> = built_in.chain(team.iter().map(Entry::team)).collect();
    // Strings and lists always have a JSON form.
    let mut text = serde_json::to_string_pretty(&entries).unwrap_or_default();
    text.push('\n');
    text
}

/// A rule in JSON.
#[derive(Serialize)]
struct Entry<'a> {
    id: &'a str,
    name: &'a str,
    family: EntryFamily,
    /// The usual severity of its findings.
    severity: Severity,
    /// Other severities, each with the findings that have it: "in a test".
    other_severities: Vec<OtherSeverity>,
    summary: &'a str,
    languages: &'a [Language],
    /// The targets it applies to, in words.
    targets: Option<&'a str>,
    /// The best applicability of its fixes; null for a team's rule without one.
    fix: Option<Applicability>,
    /// True for a rule that runs only when it is selected by name.
    on_request: bool,
    /// The page of the rule.
    link: Option<String>,
    /// The page of the lesson about it.
    lesson: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum EntryFamily {
    BuiltIn(Family),
    Team(&'static str),
}

#[derive(Serialize)]
struct OtherSeverity {
    severity: Severity,
    findings: &'static str,
}

impl<'a> Entry<'a> {
    fn built_in(rule: &'a RuleMeta, site: &str) -> Entry<'a> {
        let severities = rule.severities().into_iter().skip(1);
        Entry {
            id: rule.id,
            name: rule.name,
            family: EntryFamily::BuiltIn(rule.family),
            severity: rule.severity,
            other_severities: severities
                .map(|(severity, findings)| OtherSeverity { severity, findings })
                .collect(),
            summary: rule.title,
            languages: rule.languages,
            targets: Some(rule.targets),
            fix: Some(rule.applicability),
            on_request: rule.on_request,
            link: Some(format!("{site}/rules/{}/", rule.name)),
            lesson: rule.lesson.map(|lesson| format!("{site}/learn/{lesson}/")),
        }
    }

    fn team(rule: &'a TeamRule) -> Entry<'a> {
        Entry {
            id: &rule.id,
            name: &rule.name,
            family: EntryFamily::Team("team"),
            severity: rule.severity,
            other_severities: Vec::new(),
            summary: &rule.message,
            languages: &[],
            targets: None,
            fix: rule.applicability(),
            on_request: false,
            link: rule.link.clone(),
            lesson: None,
        }
    }
}
