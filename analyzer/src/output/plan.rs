//! A porting plan, for a terminal and as a Markdown checklist.

use std::fmt::Write;

use super::summary::{number, range};
use crate::summary::{Plan, PlanGroup, PlanStep, Progress};
use hipward_analyzer_core::{Applicability, Severity};

/// The files of a step in the terminal; the Markdown lists more.
const FILES_IN_TEXT: usize = 4;
const FILES_IN_MARKDOWN: usize = 50;

/// For a terminal. `progress` is the difference from an earlier plan.
pub fn plan_text(plan: &Plan, progress: Option<&Progress>) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(out, "Porting plan for {}\n", subject(plan));
    if let Some(progress) = progress {
        let _ = writeln!(out, "{}\n", compared(progress));
    }
    let _ = writeln!(out, "First");
    for item in first(plan) {
        let _ = writeln!(out, "  {item}");
    }
    let _ = writeln!(out, "\nWithout a person\n  {}", automatic(plan));
    for group in PlanGroup::ALL {
        let mut steps = plan.steps_of(group).peekable();
        if steps.peek().is_none() {
            continue;
        }
        let _ = writeln!(
            out,
            "\n{}{}\n  {}",
            group.title(),
            time(plan, group),
            group.reason()
        );
        for step in steps {
            let _ = writeln!(
                out,
                "  {}[{} {}]: {}\n    {}\n    {}: {}",
                word(step.severity),
                step.id,
                step.rule,
                step.title,
                what(step),
                counted(step),
                files(step, FILES_IN_TEXT, "")
            );
        }
    }
    let _ = writeln!(out, "\nThen");
    for item in LAST {
        let _ = writeln!(out, "  {}", item.replace('`', ""));
    }
    let effort = &plan.effort;
    if !effort.items.is_empty() {
        let _ = writeln!(
            out,
            "\nPorting effort: {}\n{}",
            range(effort.minutes),
            effort.note
        );
    }
    out
}

/// As Markdown with a checklist, for an issue or a wiki. `progress` is the difference from an earlier plan; its finished
/// steps are checked.
pub fn plan_markdown(plan: &Plan, progress: Option<&Progress>) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# Porting plan for {}\n", subject(plan));
    if let Some(progress) = progress {
        let _ = writeln!(out, "{}\n", compared(progress));
        for (id, rule, findings) in &progress.finished {
            let _ = writeln!(
                out,
                "- [x] {rule} ({id}): {}",
                number(*findings as usize, "finding")
            );
        }
        if !progress.finished.is_empty() {
            out.push('\n');
        }
    }
    out.push_str("## First\n\n");
    for item in first(plan) {
        let _ = writeln!(out, "- [ ] {item}");
    }
    let _ = writeln!(out, "\n## Without a person\n\n{}\n", automatic(plan));
    for file in plan.hipify.iter().take(FILES_IN_MARKDOWN) {
        let _ = writeln!(
            out,
            "* `{}`: {}",
            file.path,
            number(file.findings as usize, "finding")
        );
    }
    if plan.hipify.len() > FILES_IN_MARKDOWN {
        let _ = writeln!(
            out,
            "* and {} more files",
            plan.hipify.len() - FILES_IN_MARKDOWN
        );
    }
    for group in PlanGroup::ALL {
        let mut steps = plan.steps_of(group).peekable();
        if steps.peek().is_none() {
            continue;
        }
        let _ = writeln!(
            out,
            "\n## {}{}\n\n{}\n",
            group.title(),
            time(plan, group),
            group.reason()
        );
        for step in steps {
            let _ = writeln!(
                out,
                "- [ ] **{}** ({}, {}): {}. {}. {}: {}",
                step.rule,
                step.id,
                word(step.severity),
                step.title.trim_end_matches('.'),
                what(step).trim_end_matches('.'),
                counted(step),
                files(step, FILES_IN_MARKDOWN, "`")
            );
        }
    }
    out.push_str("\n## Then\n\n");
    for item in LAST {
        let _ = writeln!(out, "- [ ] {item}");
    }
    let effort = &plan.effort;
    if !effort.items.is_empty() {
        let _ = writeln!(
            out,
            "\n## Effort: {}\n\n| Work | Findings | Minutes |\n|---|---:|---:|",
            range(effort.minutes)
        );
        for item in &effort.items {
            let (from, to) = item.minutes;
            let _ = writeln!(out, "| {} | {} | {from}–{to} |", item.kind, item.findings);
        }
        let _ = writeln!(out, "\n{}", effort.note);
    }
    out
}

/// What follows the changes.
const LAST: [&str; 3] = [
    "Validate: `hipward doctor`, `python -m hipward_kernels.environment.validate` and the project's own tests on the GPU.",
    "Record the baseline before any optimization: `hipward bench model.py --format markdown`.",
    "Keep it ported: `hipward check . --write-baseline hipward-baseline.json`, and the check in continuous integration.",
];

fn subject(plan: &Plan) -> String {
    let target = &plan.target;
    format!(
        "{} with ROCm {} and PyTorch {}: {} in {}",
        target.arch.name(),
        target.rocm,
        target.torch,
        number(plan.by_you() as usize, "finding"),
        number(plan.files, "file"),
    )
}

/// What to do before the groups.
fn first(plan: &Plan) -> Vec<String> {
    let mut items = vec![format!(
        "Set up a host or an image with ROCm {} and the ROCm build of PyTorch {}.",
        plan.target.rocm, plan.target.torch
    )];
    let safe: u32 = plan
        .steps
        .iter()
        .filter(|step| step.applicability == Applicability::Safe)
        .map(|step| step.findings)
        .sum();
    if safe > 0 {
        items.push(format!(
            "Apply the safe fixes with `hipward check . --fix`, which handles {}, and review the diff.",
            number(safe as usize, "finding")
        ));
    }
    items
}

/// What the build and PyTorch do.
fn automatic(plan: &Plan) -> String {
    let hipify: u32 = plan.hipify.iter().map(|file| file.findings).sum();
    let mut text = match hipify {
        0 => "PyTorch's hipify has nothing to convert here.".to_owned(),
        count => format!(
            "PyTorch's hipify renames {} in {} when the extension is built; check the build only.",
            number(count as usize, "finding"),
            number(plan.hipify.len(), "file"),
        ),
    };
    if plan.by_rocm_wheel > 0 {
        let _ = write!(
            text,
            " The ROCm build of PyTorch handles {}.",
            number(plan.by_rocm_wheel as usize, "finding")
        );
    }
    if plan.information > 0 {
        let _ = write!(
            text,
            " {} for information only.",
            match plan.information {
                1 => "1 finding is".to_owned(),
                count => format!("{count} findings are"),
            }
        );
    }
    text
}

/// The time of a group's steps.
fn time(plan: &Plan, group: PlanGroup) -> String {
    let minutes = plan.steps_of(group).fold((0, 0), |sum, step| {
        (sum.0 + step.minutes.0, sum.1 + step.minutes.1)
    });
    match minutes {
        (_, 0) => String::new(),
        minutes => format!(" ({})", range(minutes)),
    }
}

fn what(step: &PlanStep) -> String {
    match step.applicability {
        Applicability::Safe => format!("Safe fix: {}", step.action),
        Applicability::Unsafe => format!("Fix to review: {}", step.action),
        Applicability::DisplayOnly => format!("By hand: {}", step.action),
    }
}

fn counted(step: &PlanStep) -> String {
    let mut text = format!(
        "{} in {}",
        number(step.findings as usize, "finding"),
        number(step.files.len(), "file")
    );
    if step.minutes.1 > 0 {
        let (least, most) = step.minutes;
        let _ = write!(text, ", {least}–{most} min");
    }
    text
}

fn files(step: &PlanStep, most: usize, quote: &str) -> String {
    let mut text: Vec<String> = step
        .files
        .iter()
        .take(most)
        .map(|file| format!("{quote}{}:{}{quote}", file.path, file.line))
        .collect();
    if step.files.len() > most {
        text.push(format!("and {} more", step.files.len() - most));
    }
    text.join(", ")
}

fn compared(progress: &Progress) -> String {
    format!(
        "Since the earlier plan: {} of {} are done, {} new.",
        progress.done,
        number(progress.before as usize, "finding"),
        progress.new
    )
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Advice => "advice",
        Severity::Info => "info",
    }
}
