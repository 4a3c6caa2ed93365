//! The open folder: how far its check is, and its result.

use super::counted;
use super::findings::has_safe_fix;
use super::session::Session;
use crate::browser::client_only::client_only;
use crate::inline_code::inline_code;
use hipward_analyzer_core::{Finding, Report, Severity, Summary};
use leptos::prelude::*;
use serde::Deserialize;

/// An open folder.
#[derive(Clone, Debug)]
pub(super) struct Project {
    pub(super) progress: Progress,
    /// Whether a file of it was changed in the editor.
    is_changed: bool,
    /// Whether a file of it was opened without a choice of the reader.
    was_opened: bool,
}

/// Progress of the check of a folder, and at the end its result.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Progress {
    name: String,
    done: usize,
    total: usize,
    files: Vec<File>,
    skipped: Vec<Skipped>,
    /// Files with settings for the command line.
    settings: Vec<String>,
    summary: Option<Summary>,
}

/// A file that was checked.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct File {
    path: String,
    /// Errors, warnings, advice, information.
    counts: [usize; 4],
    /// The number of findings with a safe fix.
    fixes: usize,
}

/// Files that were left out for one reason.
#[derive(Clone, Debug, Deserialize)]
struct Skipped {
    why: String,
    count: usize,
    /// The first of them.
    paths: Vec<String>,
}

impl Project {
    /// A folder of which only the name is known.
    pub(super) fn named(name: String) -> Project {
        Project {
            progress: Progress {
                name,
                ..Progress::default()
            },
            is_changed: false,
            was_opened: false,
        }
    }

    /// The file to open once the folder is checked: the one with the worst findings. `None` if there is none, the check is
    /// not done, or the file was opened before.
    pub(super) fn first_file(&mut self) -> Option<String> {
        self.progress.summary.as_ref()?;
        if std::mem::replace(&mut self.was_opened, true) {
            return None;
        }
        let files = self.progress.files.iter();
        // Of several, the first in the list.
        let worst = files.rev().max_by_key(|file| file.counts)?;
        (worst.counts != [0; 4]).then(|| worst.path.clone())
    }

    /// The name that is shown for a file of the folder. No file that is opened by itself has such a name.
    pub(super) fn shown(&self, path: &str) -> String {
        format!("{}/{path}", self.progress.name)
    }

    /// The path of the file that is shown by a name; empty for a file from elsewhere.
    pub(super) fn open_path<'a>(&self, shown: &'a str) -> &'a str {
        let path = shown.strip_prefix(&self.progress.name);
        path.and_then(|path| path.strip_prefix('/'))
            .unwrap_or_default()
    }

    /// Updates the counts of a file that was analyzed again in the editor.
    pub(super) fn recount(&mut self, shown: &str, report: &Report, is_changed: bool) {
        let path = self.open_path(shown);
        let mut files = self.progress.files.iter_mut();
        if let Some(file) = files.find(|file| file.path == path) {
            self.is_changed |= is_changed;
            file.fixes = report.findings.iter().filter(|f| has_safe_fix(f)).count();
            file.counts = severities(&report.findings);
        }
    }
}

/// The numbers of errors, warnings, advice and information.
pub(super) fn severities(findings: &[Finding]) -> [usize; 4] {
    let mut counts = [0; 4];
    for finding in findings {
        counts[match finding.severity {
            Severity::Error => 0,
            Severity::Warning => 1,
            Severity::Advice => 2,
            Severity::Info => 3,
        }] += 1;
    }
    counts
}

/// Announced by a screen reader: that the folder is being read, and the result.
#[component]
pub(super) fn ProjectState() -> impl IntoView {
    let project = expect_context::<Session>().state.project;
    move || {
        project.with(|project| {
            let Some(project) = project else {
                return String::new();
            };
            match &project.progress.summary {
                Some(summary) => headline(project, summary),
                None => "Reading the folder.".to_owned(),
            }
        })
    }
}

/// Everything about the folder; nothing where none is open.
#[component]
pub(super) fn ProjectPanel() -> impl IntoView {
    let session = expect_context::<Session>();
    let project = session.state.project;
    let name = Memo::new(move |_| {
        project.with(|project| {
            project
                .as_ref()
                .map_or_else(String::new, |project| project.progress.name.clone())
        })
    });
    // Only this part changes while the folder is read, so that the button stays as it is.
    let status = move || project.with(|project| Some(status(project.as_ref()?)));
    let result = move || {
        let open = session.open_path();
        project.with(|project| {
            let project = project.as_ref()?;
            project.progress.summary.as_ref()?;
            Some(result(session, project, &open))
        })
    };
    move || {
        let name = name.get();
        if name.is_empty() {
            return None;
        }
        let view = view! {
            <section class="project" aria-labelledby="project">
                <h2 id="project">{name}</h2>
                <p class="actions">
                    <span>{status}</span>
                    " "
                    <button type="button" id="close-project" on:click=move |_| session.close_folder()>
                        "Close the folder"
                    </button>
                </p>
                {result}
            </section>
        };
        Some(client_only(view))
    }
}

/// Progress of the check, or the headline of its result.
fn status(project: &Project) -> AnyView {
    let Progress {
        done,
        total,
        summary,
        ..
    } = &project.progress;
    match summary {
        Some(summary) => client_only(headline(project, summary)),
        None if *total == 0 => client_only("Looking through the folder."),
        None => client_only(view! {
            {format!("Reading {total} files. ")}
            <progress
                aria-label="Files read"
                max=total.to_string()
                value=done.to_string()
            ></progress>
        }),
    }
}

fn headline(project: &Project, summary: &Summary) -> String {
    let findings: usize = summary.families.iter().map(|family| family.total()).sum();
    let end = match project.is_changed {
        // The list of files includes them, the sums do not.
        true => " before your changes.",
        false => ".",
    };
    format!(
        "{} in {} of {}{end}",
        counted(findings, "finding"),
        summary.files_with_findings - summary.ported.len(),
        counted(summary.files, "file"),
    )
}

/// The result of the check. `open` is the path of the file in the editor.
fn result(session: Session, project: &Project, open: &str) -> AnyView {
    let progress = &project.progress;
    let summary = progress.summary.as_ref().map(|summary| {
        view! {
            {handled(summary)}
            {effort(summary)}
            {families(summary)}
            {ported(summary)}
        }
    });
    let settings = (!progress.settings.is_empty()).then(|| {
        view! {
            <p class="hint">
                "Every rule was applied. The settings in " {paths(&progress.settings)} " are for "
                <code>"hipward check"</code> "."
            </p>
        }
    });
    client_only(view! {
        {downloads(session, project)}
        <div class="project-parts">
            {files(session, &progress.files, open)}
            <div>{summary}</div>
        </div>
        {skipped(&progress.skipped)}
        {settings}
    })
}

/// The downloads; nothing where no file would change.
fn downloads(session: Session, project: &Project) -> Option<impl IntoView + use<>> {
    let files = &project.progress.files;
    let fixes: usize = files.iter().map(|file| file.fixes).sum();
    if fixes == 0 && !project.is_changed {
        return None;
    }
    let fixable = files.iter().filter(|file| file.fixes > 0).count();
    let text = format!(
        "{} in {}. Take them, and what you change here, as",
        counted(fixes, "safe fix"),
        counted(fixable, "file")
    );
    let view = view! {
        <p class="actions downloads">
            <span>{text}</span>
            " "
            <button type="button" id="patch" on:click=move |_| session.download("patch")>
                "a patch for git"
            </button>
            " "
            <button type="button" id="zip" on:click=move |_| session.download("zip")>
                "a zip of the fixed files"
            </button>
        </p>
    };
    Some(view)
}

const MARKS: [(&str, &str, &str); 4] = [
    ("error", "✕", " errors "),
    ("warning", "▲", " warnings "),
    ("advice", "➜", " advice "),
    ("info", "ℹ", " information "),
];

/// Files with findings, worst first, each a button that opens it; then the files without.
fn files(session: Session, files: &[File], open: &str) -> AnyView {
    // An insertion is less code than a sort. Most files have no findings, so they are appended.
    let mut order: Vec<&File> = Vec::with_capacity(files.len());
    for file in files {
        let at = order.partition_point(|other| other.counts >= file.counts);
        order.insert(at, file);
    }
    let has_findings = |file: &&File| file.counts.iter().any(|count| *count > 0);
    let (with, without): (Vec<&File>, Vec<&File>) = order.into_iter().partition(has_findings);
    let entries = |files: &[&File]| -> Vec<_> {
        files
            .iter()
            .map(|file| entry(session, file, open))
            .collect()
    };
    let quiet = (!without.is_empty()).then(|| {
        let summary = format!("{} without findings", counted(without.len(), "file"));
        view! {
            <details>
                <summary>{summary}</summary>
                <ul class="files scroll" role="list">
                    {entries(&without)}
                </ul>
            </details>
        }
    });
    client_only(view! {
        <div>
            <h3>"Files"</h3>
            <ul class="files scroll" role="list" aria-label="Files with findings">
                {entries(&with)}
            </ul>
            {quiet}
        </div>
    })
}

fn entry(session: Session, file: &File, open: &str) -> impl IntoView + use<> {
    let counts: Vec<_> = MARKS
        .into_iter()
        .zip(file.counts)
        .filter(|(_, count)| *count > 0)
        .map(|((severity, mark, word), count)| {
            view! {
                <span data-severity=severity>
                    <span aria-hidden="true">{mark}</span>
                    " "
                    {count.to_string()}
                    <span class="visually-hidden">{word}</span>
                </span>
            }
        })
        .collect();
    let current = (file.path == open).then_some("true");
    let path = file.path.clone();
    view! {
        <li>
            <button
                type="button"
                class="link"
                aria-current=current
                on:click=move |_| session.open_project_file(&path)
            >
                {file.path.clone()}
            </button>
            <span class="counts">{counts}</span>
        </li>
    }
}

/// The numbers of findings by who handles them.
fn handled(summary: &Summary) -> impl IntoView + use<> {
    let tiles: Vec<_> = [
        (summary.by_you, "need a person"),
        (summary.by_hipify, "PyTorch’s hipify does at build time"),
        (
            summary.by_rocm_wheel,
            "the ROCm build of PyTorch deals with",
        ),
    ]
    .into_iter()
    .map(|(count, who)| view! { <div><dt>{who}</dt><dd>{count.to_string()}</dd></div> })
    .collect();
    view! { <dl class="tiles">{tiles}</dl> }
}

/// The estimated effort, and under it the table it is computed from.
fn effort(summary: &Summary) -> Option<impl IntoView + use<>> {
    let effort = &summary.effort;
    if effort.items.is_empty() {
        return None;
    }
    let between = |(least, most): (u32, u32)| format!("{least}–{most}");
    let rows: Vec<_> = effort
        .items
        .iter()
        .map(|item| {
            view! {
                <tr>
                    <th scope="row">{inline_code(&item.kind)}</th>
                    <td class="number">{count_or_dash(item.findings as usize)}</td>
                    <td class="number">{between(item.minutes_each)}</td>
                    <td class="number">{between(item.minutes)}</td>
                </tr>
            }
        })
        .collect();
    let view = view! {
        <details class="effort">
            <summary>
                <strong>"Porting effort: " {range(effort.minutes)}</strong>
                " (an estimate)"
            </summary>
            <div class="scroll" tabindex="0" role="group" aria-label="Effort">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">"Work"</th>
                            <th scope="col">"Findings"</th>
                            <th scope="col">"Minutes each"</th>
                            <th scope="col">"Minutes"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <p class="hint">{effort.note.clone()}</p>
        </details>
    };
    Some(view)
}

fn count_or_dash(count: usize) -> String {
    match count {
        0 => "–".to_owned(),
        count => count.to_string(),
    }
}

/// A range of minutes; from two hours on in half hours, because minutes would be false precision.
fn range((least, most): (u32, u32)) -> String {
    if most < 120 {
        return format!("{least}–{most} minutes");
    }
    let hours = |minutes: u32| {
        let halves = minutes.div_ceil(30);
        let half = if halves % 2 == 1 { ".5" } else { "" };
        format!("{}{half}", halves / 2)
    };
    format!("{}–{} hours", hours(least), hours(most))
}

fn families(summary: &Summary) -> Option<impl IntoView + use<>> {
    if summary.families.is_empty() {
        return None;
    }
    let rows: Vec<_> = summary
        .families
        .iter()
        .map(|family| {
            let counts: Vec<_> = [family.error, family.warning, family.advice, family.info]
                .into_iter()
                .map(|count| view! { <td class="number">{count_or_dash(count)}</td> })
                .collect();
            client_only(view! { <tr><th scope="row">{family.family.to_string()}</th>{counts}</tr> })
        })
        .collect();
    let view = view! {
        <div class="scroll" tabindex="0" role="group" aria-label="Findings by family">
            <table class="families">
                <thead>
                    <tr>
                        <th scope="col">"Family"</th>
                        <th scope="col">"Errors"</th>
                        <th scope="col">"Warnings"</th>
                        <th scope="col">"Advice"</th>
                        <th scope="col">"Info"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    };
    Some(view)
}

fn ported(summary: &Summary) -> Option<impl IntoView + use<>> {
    if summary.ported.is_empty() {
        return None;
    }
    let files: Vec<_> = summary
        .ported
        .iter()
        .map(|file| {
            view! {
                <li>
                    <code>{file.path.clone()}</code>
                    ": "
                    <code>{file.port.clone()}</code>
                </li>
            }
        })
        .collect();
    let text = format!(
        "{} with a port beside it, not counted",
        counted(summary.ported.len(), "file")
    );
    let view = view! {
        <details>
            <summary>{text}</summary>
            <ul>{files}</ul>
        </details>
    };
    Some(view)
}

/// The files that were not read, by reason.
fn skipped(skipped: &[Skipped]) -> Option<impl IntoView + use<>> {
    let total: usize = skipped.iter().map(|one| one.count).sum();
    if total == 0 {
        return None;
    }
    let reasons: Vec<_> = skipped
        .iter()
        .map(|one| {
            let reason = match one.why.as_str() {
                "folder" => {
                    " hidden, installed or generated (`.git`, `node_modules`, virtual environments): "
                }
                "ignored" => " that `.gitignore` or `.ignore` leaves out: ",
                "kind" => " of kinds that Hipward does not read: ",
                "large" => " over 2 MB: ",
                "binary" => " not text in UTF-8: ",
                "slow" => " on which the analyzer was stopped: ",
                "many" => " beyond the first 50,000 files, such as ",
                _ => " that could not be opened: ",
            };
            let more = (one.count > one.paths.len()).then_some(", …");
            view! {
                <li>{one.count.to_string()} {inline_code(reason)} {paths(&one.paths)} {more}</li>
            }
        })
        .collect();
    let view = view! {
        <details class="skipped">
            <summary>"Not read: " {total.to_string()}</summary>
            <ul>{reasons}</ul>
        </details>
    };
    Some(view)
}

/// Paths as code, with commas between them.
fn paths(paths: &[String]) -> Vec<AnyView> {
    paths
        .iter()
        .enumerate()
        .map(|(at, path)| {
            let comma = (at > 0).then_some(", ");
            client_only(view! { {comma} <code>{path.clone()}</code> })
        })
        .collect()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;
    use hipward_analyzer::{Effort, Options, analyze};

    fn folder() -> Project {
        let file = |path: &str| File {
            path: path.to_owned(),
            counts: [0; 4],
            fixes: 0,
        };
        let mut project = Project::named("model".to_owned());
        project.progress.files = vec![file("train.py"), file("csrc/<k>.cu")];
        project.progress.summary = Some(Summary {
            files: 2,
            files_with_findings: 0,
            families: Vec::new(),
            by_you: 0,
            by_hipify: 0,
            by_rocm_wheel: 0,
            ported: Vec::new(),
            effort: Effort {
                minutes: (0, 0),
                items: Vec::new(),
                note: String::new(),
            },
        });
        project
    }

    #[test]
    fn file_of_the_folder_is_recounted_by_its_shown_name_only() {
        let mut project = folder();
        let report = analyze("import pynvml\n", &Options::default());
        project.recount("train.py", &report, true);
        assert_eq!(project.progress.files[0].counts, [0; 4]);
        assert!(!project.is_changed);
        project.recount(&project.shown("train.py"), &report, true);
        assert_eq!(project.progress.files[0].counts, [1, 0, 0, 0]);
        let summary = project.progress.summary.as_ref().expect("a summary");
        assert!(headline(&project, summary).ends_with("before your changes."));
    }

    #[test]
    fn file_with_the_worst_findings_is_opened_once() {
        let mut project = folder();
        project.progress.files[1].counts = [0, 1, 0, 0];
        assert_eq!(project.first_file().as_deref(), Some("csrc/<k>.cu"));
        assert_eq!(project.first_file(), None);
        let mut without_findings = folder();
        assert_eq!(without_findings.first_file(), None);
    }

    #[test]
    fn path_is_escaped_and_the_open_file_is_marked() {
        let owner = Owner::new();
        let html = owner.with(|| {
            let session = Session::new();
            files(session, &folder().progress.files, "csrc/<k>.cu").to_html()
        });
        let shown = "aria-current=\"true\" class=\"link\">csrc/&lt;k&gt;.cu<";
        assert!(html.contains(shown), "{html}");
    }

    #[test]
    fn long_effort_is_shown_in_hours() {
        assert_eq!(range((5, 45)), "5–45 minutes");
        assert_eq!(range((121, 480)), "2.5–8 hours");
    }
}
