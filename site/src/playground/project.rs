//! A folder in the playground: what js/project.js tells of it, and how that is shown. Pure.

use super::state::State;
use super::view::has_safe_fix;
use crate::html::Html;
use crate::wire::decode_struct;
use hipward_analyzer_core::{Finding, Report, Severity, Summary};

/// An open folder.
pub(super) struct Project {
    pub(super) progress: Progress,
    /// A file of it was changed in the editor.
    is_changed: bool,
}

/// How far its check is. What it comes to is there at the end.
#[derive(Default)]
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
decode_struct!(Progress {
    name,
    done,
    total,
    files,
    skipped,
    settings,
    summary
});

/// A file that was read.
pub(super) struct File {
    pub(super) path: String,
    /// Errors, warnings, advice, information.
    counts: Vec<usize>,
    /// How many of them have a safe fix.
    fixes: usize,
}
decode_struct!(File {
    path,
    counts,
    fixes
});

/// Files that were left out for one reason.
struct Skipped {
    why: String,
    count: usize,
    /// The first of them.
    paths: Vec<String>,
}
decode_struct!(Skipped { why, count, paths });

impl Project {
    /// A folder of which only the name is known.
    pub(super) fn named(name: String) -> Project {
        let progress = Progress {
            name,
            ..Progress::default()
        };
        Project {
            progress,
            is_changed: false,
        }
    }

    /// The file at a place of the list.
    pub(super) fn file(&self, at: usize) -> Option<&File> {
        self.progress.files.get(at)
    }

    /// The name that a file of the folder goes by in the editor. No file that is opened by itself has such a name.
    pub(super) fn shown(&self, path: &str) -> String {
        format!("{}/{path}", self.progress.name)
    }

    /// The path in the folder of a file that is shown by that name.
    fn path<'a>(&self, shown: &'a str) -> Option<&'a str> {
        shown.strip_prefix(&self.progress.name)?.strip_prefix('/')
    }

    /// The path of the file in the editor, empty for one from elsewhere.
    pub(super) fn open_path<'a>(&self, shown: &'a str) -> &'a str {
        self.path(shown).unwrap_or_default()
    }

    /// A file of it was analyzed again, in the editor.
    pub(super) fn recount(&mut self, shown: &str, report: &Report, is_changed: bool) {
        let path = self.path(shown);
        let mut files = self.progress.files.iter_mut();
        if let Some(file) = files.find(|file| Some(file.path.as_str()) == path) {
            self.is_changed |= is_changed;
            file.fixes = report.findings.iter().filter(|f| has_safe_fix(f)).count();
            file.counts = severities(&report.findings).to_vec();
        }
    }
}

/// How many errors, warnings, advice and pieces of information there are.
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

/// What is spoken of the folder: that it is read, and what came of it.
pub(super) fn state(state: &State) -> Html {
    let mut html = Html::new();
    if let Some(project) = &state.project {
        match &project.progress.summary {
            Some(summary) => headline(&mut html, project, summary),
            None => {
                html.raw("Reading the folder.");
            }
        }
    }
    html
}

/// How far it is: drawn often, so it is a region of its own inside [`project`], whose button can then be pressed.
pub(super) fn progress(state: &State) -> Html {
    let mut html = Html::new();
    if let Some(Project { progress, .. }) = &state.project
        && progress.summary.is_none()
        && progress.total > 0
    {
        html.raw("<progress aria-label=\"Files read\" max=\"")
            .number(progress.total)
            .raw("\" value=\"")
            .number(progress.done)
            .raw("\"></progress>");
    }
    html
}

/// Everything about the folder; nothing where none is open.
pub(super) fn project(state: &State) -> Html {
    let mut html = Html::new();
    let Some(project) = &state.project else {
        return html;
    };
    let progress = &project.progress;
    html.raw("<section class=\"project\" aria-labelledby=\"project\"><h2 id=\"project\">")
        .text(&progress.name)
        .raw("</h2><p class=\"actions\"><span>");
    match &progress.summary {
        Some(summary) => headline(&mut html, project, summary),
        None if progress.total == 0 => {
            html.raw("Looking through the folder.");
        }
        None => {
            html.raw("Reading ")
                .number(progress.total)
                .raw(" files. <span data-region=\"project-progress\"></span>");
        }
    }
    html.raw("</span> <button type=\"button\" id=\"close-project\" data-act=\"close-project\">Close the folder</button></p>");
    if let Some(summary) = &progress.summary {
        downloads(&mut html, project);
        html.raw("<div class=\"project-parts\">");
        let open = project.open_path(&state.file);
        files(&mut html, &progress.files, open);
        html.raw("<div>");
        handled(&mut html, summary);
        effort(&mut html, summary);
        families(&mut html, summary);
        ported(&mut html, summary);
        html.raw("</div></div>");
        skipped(&mut html, &progress.skipped);
        if !progress.settings.is_empty() {
            html.raw("<p class=\"hint\">Every rule was asked. The settings in ");
            paths(&mut html, &progress.settings);
            html.raw(" are for <code>hipward check</code>.</p>");
        }
    }
    html.raw("</section>");
    html
}

fn headline(html: &mut Html, project: &Project, summary: &Summary) {
    let findings: usize = summary.families.iter().map(|family| family.total()).sum();
    counted(html, findings, "finding");
    html.raw(" in ")
        .number(summary.files_with_findings - summary.ported.len())
        .raw(" of ");
    counted(html, summary.files, "file");
    // The list of files has them, the sums do not.
    html.raw(if project.is_changed {
        " before your changes."
    } else {
        "."
    });
}

/// What can be taken away: nothing where nothing would change.
fn downloads(html: &mut Html, project: &Project) {
    let files = &project.progress.files;
    let fixes = files.iter().map(|file| file.fixes).sum();
    if fixes == 0 && !project.is_changed {
        return;
    }
    html.raw("<p class=\"actions downloads\"><span>");
    counted(html, fixes, "safe fix");
    html.raw(" in ");
    let fixable = files.iter().filter(|file| file.fixes > 0).count();
    counted(html, fixable, "file");
    html.raw(
        ". Take them, and what you change here, as</span> \
         <button type=\"button\" id=\"patch\" data-act=\"download\" data-arg=\"patch\">a patch for git</button> \
         <button type=\"button\" id=\"zip\" data-act=\"download\" data-arg=\"zip\">a zip of the fixed files</button></p>",
    );
}

/// `1 file`, `2 files`.
fn counted(html: &mut Html, count: usize, word: &'static str) {
    html.number(count).raw(" ").raw(word);
    if count != 1 {
        html.raw(if word.ends_with('x') { "es" } else { "s" });
    }
}

const MARKS: [(&str, &str, &str); 4] = [
    ("error", "✕", " errors "),
    ("warning", "▲", " warnings "),
    ("advice", "➜", " advice "),
    ("info", "ℹ", " information "),
];

/// Those with findings, worst first, each a button that opens it; then the quiet ones.
fn files(html: &mut Html, files: &[File], open: &str) {
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by(|a, b| files[*b].counts.cmp(&files[*a].counts));
    let is_loud = |at: &usize| files[*at].counts.iter().any(|count| *count > 0);
    let (loud, quiet): (Vec<usize>, Vec<usize>) = order.into_iter().partition(is_loud);
    html.raw("<div><h3>Files</h3><ul class=\"files scroll\" role=\"list\" aria-label=\"Files with findings\">");
    for at in loud {
        entry(html, at, &files[at], open);
    }
    html.raw("</ul>");
    if !quiet.is_empty() {
        html.raw("<details><summary>");
        counted(html, quiet.len(), "file");
        html.raw(" without findings</summary><ul class=\"files scroll\" role=\"list\">");
        for at in quiet {
            entry(html, at, &files[at], open);
        }
        html.raw("</ul></details>");
    }
    html.raw("</div>");
}

fn entry(html: &mut Html, at: usize, file: &File, open: &str) {
    html.raw("<li><button type=\"button\" class=\"link\" id=\"file-")
        .number(at)
        .raw("\" data-act=\"open-file\" data-arg=\"")
        .number(at)
        .raw(if file.path == open {
            "\" aria-current=\"true\">"
        } else {
            "\">"
        })
        .text(&file.path)
        .raw("</button><span class=\"counts\">");
    for ((severity, mark, word), count) in MARKS.into_iter().zip(&file.counts) {
        if *count > 0 {
            html.raw("<span data-severity=\"")
                .raw(severity)
                .raw("\"><span aria-hidden=\"true\">")
                .raw(mark)
                .raw("</span> ")
                .number(*count)
                .raw("<span class=\"visually-hidden\">")
                .raw(word)
                .raw("</span></span>");
        }
    }
    html.raw("</span></li>");
}

/// Who deals with the findings.
fn handled(html: &mut Html, summary: &Summary) {
    html.raw("<dl class=\"tiles\">");
    for (count, who) in [
        (summary.by_you, "need a person"),
        (summary.by_hipify, "PyTorch’s hipify does at build time"),
        (
            summary.by_rocm_wheel,
            "the ROCm build of PyTorch deals with",
        ),
    ] {
        html.raw("<div><dt>")
            .text(who)
            .raw("</dt><dd>")
            .number(count)
            .raw("</dd></div>");
    }
    html.raw("</dl>");
}

/// The effort, and under it the table it comes from.
fn effort(html: &mut Html, summary: &Summary) {
    let effort = &summary.effort;
    if effort.items.is_empty() {
        return;
    }
    html.raw("<details class=\"effort\"><summary><strong>Porting effort: ");
    range(html, effort.minutes);
    html.raw("</strong> (an estimate)</summary><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Effort\"><table><thead><tr>\
         <th scope=\"col\">Work</th><th scope=\"col\">Findings</th><th scope=\"col\">Minutes each</th>\
         <th scope=\"col\">Minutes</th></tr></thead><tbody>");
    for item in &effort.items {
        html.raw("<tr><th scope=\"row\">")
            .prose(&item.kind)
            .raw("</th><td class=\"number\">");
        match item.findings {
            0 => html.raw("–"),
            findings => html.number(findings as usize),
        };
        for (least, most) in [item.minutes_each, item.minutes] {
            html.raw("</td><td class=\"number\">")
                .number(least as usize)
                .raw("–")
                .number(most as usize);
        }
        html.raw("</td></tr>");
    }
    html.raw("</tbody></table></div><p class=\"hint\">")
        .text(&effort.note)
        .raw("</p></details>");
}

/// Hours, once minutes would feign precision.
fn range(html: &mut Html, (least, most): (u32, u32)) {
    let (least, most) = (least as usize, most as usize);
    if most < 120 {
        html.number(least).raw("–").number(most).raw(" minutes");
        return;
    }
    for (minutes, after) in [(least, "–"), (most, " hours")] {
        let halves = minutes.div_ceil(30);
        html.number(halves / 2)
            .raw(if halves % 2 == 1 { ".5" } else { "" })
            .raw(after);
    }
}

fn families(html: &mut Html, summary: &Summary) {
    if summary.families.is_empty() {
        return;
    }
    html.raw("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Findings by family\"><table class=\"families\"><thead><tr>\
         <th scope=\"col\">Family</th><th scope=\"col\">Errors</th><th scope=\"col\">Warnings</th>\
         <th scope=\"col\">Advice</th><th scope=\"col\">Info</th></tr></thead><tbody>");
    for family in &summary.families {
        html.raw("<tr><th scope=\"row\">")
            .text(&family.family)
            .raw("</th>");
        for count in [family.error, family.warning, family.advice, family.info] {
            html.raw("<td class=\"number\">");
            match count {
                0 => html.raw("–"),
                count => html.number(count),
            };
            html.raw("</td>");
        }
        html.raw("</tr>");
    }
    html.raw("</tbody></table></div>");
}

fn ported(html: &mut Html, summary: &Summary) {
    if summary.ported.is_empty() {
        return;
    }
    html.raw("<details><summary>");
    counted(html, summary.ported.len(), "file");
    html.raw(" with a port beside it, not counted</summary><ul>");
    for file in &summary.ported {
        html.raw("<li><code>")
            .text(&file.path)
            .raw("</code>: <code>")
            .text(&file.port)
            .raw("</code></li>");
    }
    html.raw("</ul></details>");
}

/// What was not looked at, and why.
fn skipped(html: &mut Html, skipped: &[Skipped]) {
    let total: usize = skipped.iter().map(|one| one.count).sum();
    if total == 0 {
        return;
    }
    html.raw("<details class=\"skipped\"><summary>Not read: ")
        .number(total)
        .raw("</summary><ul>");
    for one in skipped {
        html.raw("<li>").number(one.count).raw(match one.why.as_str() {
            "folder" => " hidden, installed or generated (<code>.git</code>, <code>node_modules</code>, virtual environments): ",
            "ignored" => " that <code>.gitignore</code> or <code>.ignore</code> leaves out: ",
            "kind" => " of kinds that Hipward does not read: ",
            "large" => " over 2 MB: ",
            "binary" => " not text in UTF-8: ",
            "slow" => " on which the analyzer was stopped: ",
            "many" => " beyond the first 50,000 files, such as ",
            _ => " that could not be opened: ",
        });
        paths(html, &one.paths);
        html.raw(if one.count > one.paths.len() {
            ", …</li>"
        } else {
            "</li>"
        });
    }
    html.raw("</ul></details>");
}

fn paths(html: &mut Html, paths: &[String]) {
    for (at, path) in paths.iter().enumerate() {
        html.raw(if at > 0 { ", " } else { "" })
            .raw("<code>")
            .text(path)
            .raw("</code>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hipward_analyzer::{Effort, Options, analyze};

    fn folder() -> Project {
        let file = |path: &str| File {
            path: path.to_owned(),
            counts: vec![0; 4],
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
    fn a_file_of_the_folder_is_not_another_file_of_its_name() {
        let mut project = folder();
        let report = analyze("import pynvml\n", &Options::default());
        project.recount("train.py", &report, true);
        assert_eq!(project.progress.files[0].counts, [0; 4]);
        assert!(!project.is_changed);
        project.recount(&project.shown("train.py"), &report, true);
        assert_eq!(project.progress.files[0].counts, [1, 0, 0, 0]);
        let state = State {
            project: Some(project),
            ..State::default()
        };
        let said = super::state(&state);
        assert!(said.as_str().ends_with("before your changes."), "{said:?}");
    }

    #[test]
    fn a_path_cannot_become_markup_and_the_open_file_is_marked() {
        let state = State {
            project: Some(folder()),
            file: "model/csrc/<k>.cu".to_owned(),
            ..State::default()
        };
        let html = super::project(&state);
        let shown = "aria-current=\"true\">csrc/&lt;k&gt;.cu<";
        assert!(html.as_str().contains(shown), "{html:?}");
    }

    #[test]
    fn an_effort_is_in_hours_once_minutes_would_feign_precision() {
        let shown = |minutes| {
            let mut html = Html::new();
            range(&mut html, minutes);
            html.as_str().to_owned()
        };
        assert_eq!(shown((5, 45)), "5–45 minutes");
        assert_eq!(shown((121, 480)), "2.5–8 hours");
    }
}
