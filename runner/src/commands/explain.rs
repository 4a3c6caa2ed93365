//! `hipward explain`: prints a rule's page.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use hipward_analyzer::{UnknownRule, rule};

use super::rules;
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
    let Some(entered) = args.rule else {
        return rules::print_text(args.rules);
    };
    let page = match rule(&entered) {
        Some(rule) => Ok(rule_pages::page(rule)),
        None => of_team(&entered, args.rules),
    };
    match page {
        Ok(page) => {
            // A closed pipe (`| head`) is not an error.
            let _ = std::io::stdout().write_all(page.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error_message) => {
            eprintln!("hipward: {error_message}");
            ExitCode::from(2)
        }
    }
}

/// The page of a team's rule, or an error message.
fn of_team(entered: &str, rules: Option<PathBuf>) -> Result<String, String> {
    let project = rules::project(rules).map_err(|error| error.to_string())?;
    let mut rules = project.team.rules.iter();
    match rules.position(|rule| rule.id.eq_ignore_ascii_case(entered) || rule.name == entered) {
        Some(index) => Ok(rule_pages::team_page(&project.team, index)),
        None => {
            let error = UnknownRule {
                entered: entered.to_owned(),
            };
            Err(rule_pages::unknown(&error, &project.team.rules))
        }
    }
}
