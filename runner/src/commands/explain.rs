//! `hipward explain`: a rule's page in the terminal.

use std::io::Write;
use std::process::ExitCode;

use hipward_analyzer::{RULES, RuleMeta, UnknownRule, rule};

/// Options of `hipward explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A rule's name or id; without one, every rule in a line
    rule: Option<String>,
}

/// Prints the page, or the list of rules.
pub(crate) fn run(args: Args) -> ExitCode {
    let text = match args.rule.as_deref() {
        None => RULES.iter().map(|rule| line(rule)).collect(),
        Some(asked) => match rule(asked) {
            Some(rule) => page(rule),
            None => {
                let asked = asked.to_owned();
                eprintln!("hipward: {}", unknown(&UnknownRule { asked }));
                return ExitCode::from(2);
            }
        },
    };
    // A closed pipe (`| head`) is the reader's wish.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

/// What to say of a rule that does not exist.
pub(crate) fn unknown(error: &UnknownRule) -> String {
    let hint = match error.nearest() {
        Some(rule) => format!("did you mean {} ({})?", rule.name, rule.id),
        None => "`hipward explain` lists them all".to_owned(),
    };
    format!("{error}; {hint}")
}

fn line(rule: &RuleMeta) -> String {
    format!("{}  {:<24} {}\n", rule.id, rule.name, rule.title)
}

/// A rule's page with its heading.
pub(crate) fn page(rule: &RuleMeta) -> String {
    format!(
        "# {} ({})\n\n{}. Applies to {}.\n\n{}",
        rule.name,
        rule.id,
        rule.title,
        rule.targets,
        rule.doc()
    )
}
