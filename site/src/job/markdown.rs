//! `benchmark.md`: a finished job as a file to keep beside the code.

use super::conditions::conditions;
use super::holds::held;
use super::status::{sentence, state_word};
use super::table::cells;
use crate::JobPage;
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
    if let Some((_, _, help, traceback)) = &view.failure {
        let _ = writeln!(out, "{}\n", line(help));
        if let Some(traceback) = traceback {
            fenced(&mut out, "text", traceback);
        }
    }
    if !view.variants.is_empty() {
        out.push_str("| Variant | Median, ms (95 % interval) | Speed-up over eager (95 % interval) | Verdict | Precision | Compile and warm-up | Sampling |\n");
        out.push_str("|---|---|---|---|---|---|---|\n");
        for row in &view.variants {
            let c = cells(view, row);
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {} |",
                cell(&c.variant),
                c.median,
                c.speedup,
                c.verdict,
                cell(&c.precision),
                c.compile,
                cell(&c.status)
            );
        }
        out.push('\n');
        for row in view.variants.iter().filter(|row| !row.holds.is_empty()) {
            let _ = writeln!(
                out,
                "- {} holds: {}",
                line(view.label(&row.variant)),
                line(&held(view, row))
            );
        }
        if view.variants.iter().any(|row| !row.holds.is_empty()) {
            out.push('\n');
        }
    }
    if let Some(environment) = &view.environment {
        out.push_str("## Conditions\n\n");
        for (name, value) in conditions(environment) {
            let _ = writeln!(out, "- {name}: {}", line(&value));
        }
        out.push('\n');
    }
    out.push_str("## Code\n\n");
    fenced(&mut out, "python", &page.code);
    out
}

/// Text from outside on one line, so that it cannot begin a block of its own.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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
