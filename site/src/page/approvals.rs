//! The jobs that wait for approval, for operators: the code of each, the findings of the analyzer, and the difference to the
//! code that was approved last. js/approvals.js sends the decisions.

use super::ApprovalPage;
use super::frame::Page;
use super::job::minute;
use crate::content::document::code_figure;
use crate::content::highlight::highlight;
use crate::diff::DiffTable;
use crate::inline_code::inline_code;
use crate::{Route, Site};
use hipward_analyzer::{Finding, Options, analyze, diff};
use leptos::prelude::*;

/// `jobs` is None for a reader who is not an operator.
pub(super) fn page(site: &Site, jobs: Option<&[ApprovalPage]>) -> Page {
    let list = match jobs {
        None => view! {
            <p>
                "Only operators of this server see the jobs that wait for approval. Open the address that "
                <code>"hipward serve"</code>
                " printed, or use a token with the role "
                <code>"operate"</code>
                "."
            </p>
        }
        .into_any(),
        Some([]) => view! { <p>"No job waits for approval."</p> }.into_any(),
        Some(jobs) => {
            let jobs: Vec<AnyView> = jobs.iter().map(|job| article(site, job)).collect();
            view! { <div>{jobs}</div> }.into_any()
        }
    };
    let main = view! {
        <h1>"Jobs that wait for approval"</h1>
        <p class="lead">
            "This code runs on this host only after your approval. Approved code runs without asking again until it changes. "
            <a href=site.href(&Route::Jobs)>"All jobs"</a>
        </p>
        {list}
    };
    Page {
        title: "Approvals".to_owned(),
        description: "Jobs whose code waits until an operator has approved it.".to_owned(),
        main: main.into_any(),
        sidebar: None,
    }
}

fn article(site: &Site, approval: &ApprovalPage) -> AnyView {
    let job = &approval.pending.job;
    let id = format!("job-{}", job.id);
    let title = job.title.clone().unwrap_or_else(|| "Benchmark".to_owned());
    let owner = approval
        .pending
        .owner
        .clone()
        .unwrap_or_else(|| "a user of this machine".to_owned());
    let code = code_figure(None, "python", &highlight(&approval.code, "python"));
    let difference = match (&approval.approved_code, &approval.pending.last_approved) {
        (Some(approved), Some(last)) => {
            let caption = format!("Changes since job {last}, whose code was approved last");
            let lines = diff(approved, &approval.code);
            view! {
                <h3>"Changes"</h3>
                <DiffTable caption lines />
                <details>
                    <summary>"The whole code"</summary>
                    <div inner_html=code></div>
                </details>
            }
            .into_any()
        }
        _ => view! {
            <h3>"Code"</h3>
            <p class="hint">"No code of this sender or with this title was approved before."</p>
            <div inner_html=code></div>
        }
        .into_any(),
    };
    view! {
        <article aria-labelledby=id.clone()>
            <h2 id=id.clone()>
                <a href=site.href(&Route::Job(job.id.clone()))>{title.clone()}</a>
            </h2>
            <dl class="facts">
                <div><dt>"Submitted by"</dt><dd>{owner}</dd></div>
                <div>
                    <dt>"Submitted"</dt>
                    <dd><time datetime=job.created_at.clone()>{minute(&job.created_at)}</time></dd>
                </div>
                <div><dt>"SHA-256"</dt><dd><code>{job.code_sha256.clone()}</code></dd></div>
            </dl>
            <h3>"Findings of the analyzer"</h3>
            {findings(site, &approval.code)}
            {difference}
            <form class="needs-js" data-approval=job.id.clone() aria-label=format!("Decision on {title}")>
                <p>
                    <label>
                        "Reason for a rejection "
                        <input name="reason" required maxlength="500" autocomplete="off" />
                    </label>
                </p>
                <p class="actions">
                    <button type="submit" class="primary" name="decision" value="approve" formnovalidate>
                        "Approve"
                    </button>
                    <button type="submit" name="decision" value="reject">"Reject"</button>
                </p>
                <p role="alert"></p>
            </form>
        </article>
    }
    .into_any()
}

fn findings(site: &Site, code: &str) -> AnyView {
    let report = analyze(code, &Options::default());
    if report.findings.is_empty() {
        return view! { <p>"No findings. The analyzer checks the port to AMD GPUs, not safety."</p> }
            .into_any();
    }
    let findings: Vec<AnyView> = report
        .findings
        .iter()
        .map(|finding| row(site, finding))
        .collect();
    view! { <ul>{findings}</ul> }.into_any()
}

fn row(site: &Site, finding: &Finding) -> AnyView {
    let line = finding.span.start.line;
    view! {
        <li>
            "Line " {line} ": " {inline_code(&finding.message)} " "
            <a href=site.href(&Route::Rule(finding.rule.clone()))>{finding.rule.clone()}</a>
        </li>
    }
    .into_any()
}
