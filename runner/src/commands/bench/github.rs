//! `--format github`: workflow commands that GitHub shows as annotations of a change, and the summary of the workflow's step.

use super::invalid;
use hipward_analyzer::output::github::{data, property};
use hipward_protocol::{JobState, JobView};
use hipward_site::{JobComparison, benchmark_sentence};
use std::{
    env,
    fmt::Write as _,
    fs::OpenOptions,
    io::Write as _,
    path::{Path, PathBuf},
};

/// The variable with the file of the step's summary.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// One workflow command for the verdict or failure, one for each variant with an invalid result, and one for each variant that is
/// slower than in the earlier result of this name.
pub(super) fn annotations(
    file: &Path,
    view: &JobView,
    compared: Option<(&JobComparison, &str)>,
) -> String {
    let mut out = String::new();
    let file = property(&file.display().to_string());
    let mut add = |level: &str, title: &str, text: &str| {
        // Writing to a String does not fail.
        let _ = writeln!(
            out,
            "::{level} file={file},title={}::{}",
            property(title),
            data(text)
        );
    };
    let level = match view.state {
        JobState::Done => "notice",
        _ => "error",
    };
    let help = view.failure.as_ref().map(|failure| failure.help.as_str());
    let sentence = benchmark_sentence(view);
    let text = [Some(sentence.as_str()), help];
    let text: Vec<&str> = text.into_iter().flatten().collect();
    add(level, "Benchmark", &text.join(" "));
    for (variant, reason) in invalid(view) {
        add(
            "error",
            &format!("Variant {} is not valid", view.label(variant)),
            reason,
        );
    }
    if let Some((comparison, name)) = compared {
        // Times on other devices are no evidence against the code.
        let level = match comparison.is_same_host {
            true => "error",
            false => "warning",
        };
        for variant in comparison.slower() {
            add(
                level,
                &format!("Variant {variant} is slower"),
                &format!("It is slower than in {name}, beyond the intervals of both results."),
            );
        }
    }
    out
}

/// Adds the report to the summary of the workflow's step. Does nothing outside of a workflow.
pub(super) fn add_to_summary(
    report: &str,
    compared: Option<(&JobComparison, &str)>,
) -> Result<(), String> {
    let Some(path) = env::var_os(SUMMARY).filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let path = PathBuf::from(path);
    let mut text = report.to_owned();
    if let Some((comparison, name)) = compared {
        text.push_str(&comparison.markdown(name));
    }
    text.push('\n');
    let file = OpenOptions::new().create(true).append(true).open(&path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| format!("cannot write the summary {}: {error}", path.display()))
}
