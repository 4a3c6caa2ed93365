//! `benchmark.md`: a finished job as a file to keep beside the code.

use super::conditions::conditions;
use super::included_steps::included_steps;
use super::roofline::{cautions, parts, sentence as sentence_of_floor};
use super::status::{sentence, state_word};
use super::table::{cells, has_floor, has_hot};
use super::text::steers;
use crate::JobPage;
use hipward_protocol::JobView;
use std::fmt::Write;

/// The job as Markdown: verdict, table, conditions, code.
pub fn benchmark_markdown(page: &JobPage) -> String {
    let view = &page.view;
    let title = page.summary.title.as_deref().unwrap_or("Benchmark");
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = writeln!(out, "# {}\n", line(title));
    let _ = writeln!(
        out,
        "**{}.** {}\n",
        state_word(view.state),
        line(&sentence(view))
    );
    if let Some(failure) = &view.failure {
        let _ = writeln!(out, "{}\n", line(&failure.help));
        if let Some(traceback) = &failure.traceback {
            fenced(&mut out, "text", traceback);
        }
    }
    for caution in cautions(view) {
        let _ = writeln!(out, "> {}\n", line(&caution));
    }
    if !view.variants.is_empty() {
        variants(&mut out, view);
    }
    if let Some(floor) = &view.roofline {
        let _ = writeln!(out, "## Floor\n\n{}\n", sentence_of_floor(floor));
        for (name, value) in parts(floor) {
            let _ = writeln!(out, "- {name}: {}", line(&value));
        }
        out.push('\n');
    }
    if let Some(environment) = &view.environment {
        out.push_str("## Conditions\n\n");
        for (name, value) in conditions(view) {
            let _ = writeln!(out, "- {name}: {}", line(&value));
        }
        out.push('\n');
        if !environment.audit.is_empty() {
            out.push_str("## Settings of the host that cost time\n\n");
            for advice in &environment.audit {
                let text = format!(
                    "`{}`, found {}: {} `{}`",
                    advice.setting, advice.found, advice.why, advice.command
                );
                let _ = writeln!(out, "- {}", line(&text));
            }
            out.push('\n');
        }
    }
    out.push_str("## Code\n\n");
    fenced(&mut out, "python", &page.code);
    // Markdown is also printed to terminals.
    out.replace(|c| !matches!(c, '\n' | '\t') && steers(c), "")
}

fn variants(out: &mut String, view: &JobView) {
    let (hot, floor) = (has_hot(view), has_floor(view));
    let mut row = |fields: [&str; 9]| {
        for (at, field) in fields.into_iter().enumerate() {
            if (at == 2 && !hot) || (at == 5 && !floor) {
                continue;
            }
            let _ = write!(out, "| {} ", cell(field));
        }
        out.push_str("|\n");
    };
    row([
        "Variant",
        "Median, ms (95 % interval)",
        "With warm caches, ms",
        "Speed-up over eager (95 % interval)",
        "Verdict",
        "Floor ÷ median",
        "Precision",
        "Compile and warm-up",
        "Sampling",
    ]);
    row(["---"; 9]);
    for variant in &view.variants {
        let c = cells(view, variant);
        row([
            &c.variant,
            &c.median,
            &c.hot,
            &c.speedup,
            c.verdict,
            &c.floor,
            &c.precision,
            &c.compile,
            &c.status,
        ]);
    }
    out.push('\n');
    let mut held_by = view
        .variants
        .iter()
        .filter(|row| !row.includes.is_empty())
        .peekable();
    if held_by.peek().is_none() {
        return;
    }
    for row in held_by {
        let _ = writeln!(
            out,
            "- {} includes: {}",
            line(view.label(&row.variant)),
            line(&included_steps(view, row))
        );
    }
    out.push('\n');
}

/// Text from outside on one line, so that it cannot begin a block of its own, and without HTML, links and pictures. Text in single
/// backticks stays as it is.
fn line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let pieces: Vec<&str> = text.split('`').collect();
    // Backticks that do not form pairs of one could end elsewhere than here.
    let has_code = pieces.len() % 2 == 1 && !text.contains("``");
    let escaped = |(at, piece): (usize, &&str)| {
        if has_code && at % 2 == 1 {
            return (*piece).to_owned();
        }
        piece
            .replace('\\', "\\\\")
            .replace('<', "&lt;")
            .replace('[', "\\[")
    };
    let pieces: Vec<String> = pieces.iter().enumerate().map(escaped).collect();
    pieces.join(if has_code { "`" } else { "\\`" })
}

fn cell(text: &str) -> String {
    line(text).replace('|', "\\|")
}

/// A fence that is longer than any run of backticks inside.
fn fenced(out: &mut String, language: &str, text: &str) {
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or(0)
        .max(2);
    let fence = "`".repeat(longest + 1);
    let _ = writeln!(out, "{fence}{language}\n{}\n{fence}\n", text.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_contains_no_html_links_or_pictures() {
        let picture = "![x](https://example.org/pixel) <img src=x>";
        assert_eq!(
            line(picture),
            "!\\[x](https://example.org/pixel) &lt;img src=x>"
        );
        assert_eq!(line("a\n# b"), "a # b");
        assert_eq!(line("`x[0] < 1` is [wrong]"), "`x[0] < 1` is \\[wrong]");
        assert_eq!(line("`` <b> `"), "\\`\\` &lt;b> \\`");
    }
}
