//! What the playground shows around the text: pure functions from [`State`] to regions.

use super::project::{progress, project, severities, state as project_state};
use super::state::{Runner, State};
use crate::diff::diff_table;
use crate::html::Html;
use crate::regions::Region;
use hipward_analyzer_core::{
    Applicability, Contract, Finding, Fix, HandledBy, Judgement, Language, Report, Severity,
};

/// The regions of the page, in order.
pub(super) fn regions(state: &State, base: &str) -> Vec<Region> {
    [
        ("summary", summary(state)),
        ("trouble", line(&state.trouble)),
        ("notice", line(&state.notice)),
        ("task", task(state)),
        ("project-state", project_state(state)),
        ("project", project(state)),
        ("project-progress", progress(state)),
        ("findings", findings(state, base)),
        ("contract", contract(state)),
        ("changes", changes(state)),
    ]
    .into_iter()
    .map(|(name, html)| Region { name, html })
    .collect()
}

fn line(text: &str) -> Html {
    let mut html = Html::new();
    if !text.is_empty() {
        html.raw("<p>").prose(text).raw("</p>");
    }
    html
}

fn summary(state: &State) -> Html {
    let mut html = Html::new();
    html.raw("<p>");
    if !state.file.is_empty() {
        html.raw("<code>").text(&state.file).raw("</code> ");
    } else if state.project.is_some() {
        html.raw("The text in the editor is not from the folder. ");
    }
    match state.report.as_ref().map(|report| report.findings.len()) {
        None if !state.trouble.is_empty() => html.raw("Not checked."),
        None => html.raw("Reading the code."),
        Some(0) => html.raw("No findings."),
        Some(1) => html.raw("1 finding: "),
        Some(n) => html.number(n).raw(" findings: "),
    };
    if let Some(report) = &state.report {
        let counts = severities(&report.findings);
        let names = [" errors", " warnings", " advice", " information"];
        let mut mark = "";
        for (count, name) in counts
            .into_iter()
            .zip(names)
            .filter(|(count, _)| *count > 0)
        {
            let name = if count == 1 {
                name.trim_end_matches('s')
            } else {
                name
            };
            html.raw(mark).number(count).raw(name);
            mark = ", ";
        }
        html.raw(if mark.is_empty() { "" } else { "." });
    }
    if let Some(language) = state.report.as_ref().map(|report| report.language)
        && language != Language::Python
    {
        html.raw(" Read as ").text(language.title()).raw(".");
    }
    html.raw("</p>");
    html
}

fn task(state: &State) -> Html {
    let mut html = Html::new();
    if let Some(task) = &state.task {
        let judgement = task.judgement.as_ref();
        html.raw(if judgement.is_some_and(Judgement::is_solved) {
            "<aside class=\"task solved\"><p><strong>✓ Solved.</strong> "
        } else {
            "<aside class=\"task\"><p><strong>Task.</strong> "
        })
        .prose(&task.text)
        .raw("</p>");
        match judgement {
            Some(judgement) => conditions(&mut html, judgement),
            None => {
                html.raw("<p class=\"hint\">Checking the conditions.</p>");
            }
        }
        html.raw("</aside>");
    }
    html
}

fn conditions(html: &mut Html, judgement: &Judgement) {
    html.raw("<ul class=\"conditions\" role=\"list\" aria-label=\"Conditions\">");
    for condition in &judgement.conditions {
        html.raw(if condition.met {
            "<li data-met=\"yes\"><span aria-hidden=\"true\">✓</span> <span class=\"visually-hidden\">Met: </span>"
        } else {
            "<li data-met=\"no\"><span aria-hidden=\"true\">○</span> <span class=\"visually-hidden\">Not met: </span>"
        })
        .prose(&condition.title);
        if !condition.met {
            html.raw(" <small>")
                .prose(&condition.message)
                .raw("</small>");
        }
        html.raw("</li>");
    }
    html.raw("</ul>");
}

fn findings(state: &State, base: &str) -> Html {
    let mut html = Html::new();
    let Some(report) = &state.report else {
        return html;
    };
    for note in &report.notes {
        html.raw("<p class=\"report-note\">")
            .prose(&note.message)
            .raw("</p>");
    }
    if report.findings.iter().any(has_safe_fix) {
        html.raw("<p><button type=\"button\" id=\"fix-safe\" class=\"primary\" data-act=\"fix-safe\">Apply all safe fixes</button></p>");
    }
    html.raw("<ul class=\"findings\" role=\"list\" aria-label=\"Findings\">");
    for (index, one) in report.findings.iter().enumerate() {
        finding(&mut html, index, one, base);
    }
    html.raw("</ul>");
    suppressed(&mut html, report);
    html
}

/// Whether it can be mended without a look.
pub(super) fn has_safe_fix(finding: &Finding) -> bool {
    finding
        .fix
        .as_ref()
        .is_some_and(|fix| fix.applicability == Applicability::Safe && !fix.edits.is_empty())
}

fn suppressed(html: &mut Html, report: &Report) {
    if report.suppressed > 0 {
        html.raw("<p class=\"hint\">Silenced by comments: ")
            .number(report.suppressed)
            .raw(".</p>");
    }
}

fn finding(html: &mut Html, index: usize, finding: &Finding, base: &str) {
    html.raw(match finding.severity {
        Severity::Error => "<li data-severity=\"error\"><p><strong><span aria-hidden=\"true\">✕</span> Error</strong>",
        Severity::Warning => "<li data-severity=\"warning\"><p><strong><span aria-hidden=\"true\">▲</span> Warning</strong>",
        Severity::Advice => "<li data-severity=\"advice\"><p><strong><span aria-hidden=\"true\">➜</span> Advice</strong>",
        Severity::Info => "<li data-severity=\"info\"><p><strong><span aria-hidden=\"true\">ℹ</span> Info</strong>",
    });
    html.raw(" <button type=\"button\" class=\"link\" id=\"go-")
        .number(index)
        .raw("\" data-act=\"go\" data-arg=\"")
        .number(finding.span.start.utf16 as usize)
        .raw("-")
        .number(finding.span.end.utf16 as usize)
        .raw("\">Line ")
        .number(finding.span.start.line as usize)
        // Another tab: a folder that is open here would be lost.
        .raw("</button> <a target=\"_blank\" href=\"");
    match &finding.link {
        // A team's own rule is explained in its own place.
        Some(link) => html.text(link),
        None => html.text(base).raw("rules/").text(&finding.rule).raw("/"),
    };
    html.raw("\">")
        .text(&finding.rule)
        .raw("</a></p><p>")
        .prose(&finding.message)
        .raw(match finding.handled_by {
            HandledBy::You => "</p>",
            HandledBy::Hipify => " Hipify deals with it at build time.</p>",
            HandledBy::RocmWheel => " The ROCm build of PyTorch deals with it.</p>",
        });
    if let Some(fix) = &finding.fix {
        fix_line(html, index, fix);
    }
    html.raw("</li>");
}

fn fix_line(html: &mut Html, index: usize, fix: &Fix) {
    html.raw("<p class=\"fix\">");
    if fix.edits.is_empty() {
        html.prose(&fix.title);
    } else {
        html.raw("<button type=\"button\" id=\"fix-")
            .number(index)
            .raw("\" data-act=\"fix\" data-arg=\"")
            .number(index)
            .raw("\">")
            .prose(&fix.title)
            .raw("</button>");
    }
    html.raw(match fix.applicability {
        Applicability::Safe => " <small>safe: keeps behaviour</small></p>",
        Applicability::Unsafe => " <small>look first: behaviour may change</small></p>",
        Applicability::DisplayOnly => " <small>for you to do</small></p>",
    });
}

/// `triton` or `hip` for a text that the page for machine code can compile.
pub(super) fn kernel_language(state: &State) -> Option<&'static str> {
    match state.report.as_ref()?.language {
        Language::Python if state.text.contains("triton.jit") => Some("triton"),
        Language::CudaCpp if state.text.contains("hip/hip_runtime.h") => Some("hip"),
        _ => None,
    }
}

/// What is missing for a benchmark, or the button that starts one.
fn contract(state: &State) -> Html {
    let mut html = Html::new();
    let Some(report) = &state.report else {
        return html;
    };
    if kernel_language(state).is_some() {
        html.raw("<p><button type=\"button\" id=\"isa\" data-act=\"isa\">See the machine code</button> <small>what this kernel becomes on an AMD GPU</small></p>");
    }
    if report.language != Language::Python {
        return html;
    }
    html.raw("<section class=\"contract\" aria-labelledby=\"contract\"><h2 id=\"contract\">Benchmark</h2>");
    if report.contract.is_complete() {
        start_button(&mut html, state.runner);
    } else {
        missing_parts(&mut html, &report.contract);
    }
    html.raw("</section>");
    html
}

fn start_button(html: &mut Html, runner: Runner) {
    html.raw(if runner == Runner::Ready {
        "<p><button type=\"button\" id=\"benchmark\" class=\"primary\" data-act=\"benchmark\">Benchmark this</button></p><p class=\"hint\">"
    } else {
        "<p><button type=\"button\" id=\"benchmark\" class=\"primary\" disabled>Benchmark this</button></p><p class=\"hint\">"
    })
    .raw(match runner {
        Runner::Asking => "Looking for a runner.",
        Runner::Absent => "This copy of the site has no runner. Run <code>hipward serve</code> on a machine with PyTorch, and open the playground there.",
        Runner::NotReady => "The runner of this site is not ready; the benchmark page says what it lacks.",
        Runner::Ready => "Checks precision first, then times eager against the optimized variants.",
        Runner::Sending => "Sending the code.",
    })
    .raw("</p>");
}

fn missing_parts(html: &mut Html, contract: &Contract) {
    html.raw("<p>To be benchmarked, the code must also have:</p><ul>");
    if !contract.model {
        html.raw("<li><code>class Model(nn.Module)</code>, what is measured</li>");
    }
    if !contract.get_inputs {
        html.raw(
            "<li><code>def get_inputs()</code>, a list of arguments for <code>forward</code></li>",
        );
    }
    if !contract.get_init_inputs {
        html.raw("<li><code>def get_init_inputs()</code>, a list of arguments for <code>Model</code></li>");
    }
    html.raw("</ul><p><button type=\"button\" id=\"skeleton\" data-act=\"skeleton\">Add a skeleton</button></p>");
}

fn changes(state: &State) -> Html {
    let mut html = Html::new();
    if state.diff.is_empty() {
        return html;
    }
    html.raw("<section aria-labelledby=\"changes\"><h2 id=\"changes\">Changes</h2>")
        .html(&diff_table("From your paste to the text above", &state.diff))
        .raw("<p><button type=\"button\" id=\"compare\" data-act=\"compare\">Compare from here on</button></p></section>");
    html
}
