//! Baselines: the findings that a project had when the baseline was written, so that only new ones are reported.
//!
//! A finding is identified by its rule, its file and the text of its line, so that lines may move. Each line
//! matches as often as it was there.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hipward_analyzer::{Finding, Report};
use serde::{Deserialize, Serialize};

use crate::atomic_write::replace;

/// Version of the file format.
const VERSION: u32 = 1;

/// The file: known findings by path, which is relative to the file's folder.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    files: BTreeMap<String, Vec<Known>>,
}

/// The number of findings of a rule on lines with the same text.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    rule: String,
    line: String,
    count: usize,
}

/// The number of findings by rule and line text.
type Counts = BTreeMap<(String, String), usize>;

/// A loaded baseline.
#[derive(Debug)]
pub(crate) struct Baseline {
    folder: PathBuf,
    files: HashMap<String, Counts>,
}

/// The cache of loaded baselines.
#[derive(Debug, Default)]
pub(crate) struct Baselines(Mutex<HashMap<PathBuf, Result<Arc<Baseline>, String>>>);

impl Baselines {
    pub(crate) fn load(&self, path: &Path) -> Result<Arc<Baseline>, String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .entry(path.to_owned())
            .or_insert_with(|| Baseline::read(path).map(Arc::new))
            .clone()
    }
}

impl Baseline {
    fn read(path: &Path) -> Result<Baseline, String> {
        let wrong = |what: String| {
            format!(
                "{}: {what}; write it again with --write-baseline",
                path.display()
            )
        };
        let text = fs::read_to_string(path)
            .map_err(|error| wrong(format!("the baseline cannot be read: {error}")))?;
        let document: Document = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("this is not a baseline: {error}")))?;
        if document.version != VERSION {
            let version = document.version;
            return Err(wrong(format!(
                "it is a baseline of version {version}, and only version {VERSION} is supported"
            )));
        }
        let counts = |known: Vec<Known>| {
            let counted = known
                .into_iter()
                .map(|known| ((known.rule, known.line), known.count));
            counted.collect()
        };
        Ok(Baseline {
            folder: folder(path),
            files: document
                .files
                .into_iter()
                .map(|(path, known)| (path, counts(known)))
                .collect(),
        })
    }

    /// Removes known findings from a report. Returns how many.
    pub(crate) fn forget(&self, file: &Path, source: &str, report: &mut Report) -> usize {
        let key = relative(&self.folder, file);
        let Some(mut left) = self.files.get(&key).cloned() else {
            return 0;
        };
        let lines = Lines::new(source);
        let before = report.findings.len();
        report.findings.retain(|finding| {
            let key = (finding.id.clone(), lines.of(finding));
            match left.get_mut(&key) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            }
        });
        before - report.findings.len()
    }
}

/// One finding for a new baseline.
#[derive(Debug)]
pub(crate) struct Entry {
    path: PathBuf,
    rule: String,
    line: String,
}

impl Entry {
    /// Every finding of a report.
    pub(crate) fn all(file: &Path, source: &str, report: &Report) -> Vec<Entry> {
        let lines = Lines::new(source);
        let entry = |finding: &Finding| Entry {
            path: file.to_owned(),
            rule: finding.id.clone(),
            line: lines.of(finding),
        };
        report.findings.iter().map(entry).collect()
    }
}

/// A baseline that is being written.
#[derive(Debug)]
pub(crate) struct NewBaseline {
    path: PathBuf,
    files: BTreeMap<String, Counts>,
}

impl NewBaseline {
    pub(crate) fn new(path: &Path) -> Self {
        NewBaseline {
            path: path.to_owned(),
            files: BTreeMap::new(),
        }
    }

    pub(crate) fn add(&mut self, entries: Vec<Entry>) {
        let folder = folder(&self.path);
        for entry in entries {
            let file = self
                .files
                .entry(relative(&folder, &entry.path))
                .or_default();
            *file.entry((entry.rule, entry.line)).or_default() += 1;
        }
    }

    /// Writes the baseline. Returns its path and its number of findings.
    pub(crate) fn write(self) -> Result<(PathBuf, usize), String> {
        let count = self.files.values().flat_map(BTreeMap::values).sum();
        let known = |counts: Counts| {
            let known = counts
                .into_iter()
                .map(|((rule, line), count)| Known { rule, line, count });
            known.collect()
        };
        let document = Document {
            version: VERSION,
            files: self
                .files
                .into_iter()
                .map(|(path, counts)| (path, known(counts)))
                .collect(),
        };
        let failed =
            |error: std::io::Error| format!("{}: cannot be written: {error}", self.path.display());
        let mut text =
            serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
        text.push('\n');
        if self.path.exists() {
            replace(&self.path, text.as_bytes()).map_err(failed)?;
        } else {
            fs::write(&self.path, text).map_err(failed)?;
        }
        Ok((self.path, count))
    }
}

/// The lines of a source, for finding their texts.
struct Lines<'s>(Vec<&'s str>);

impl<'s> Lines<'s> {
    fn new(source: &'s str) -> Self {
        Lines(source.lines().collect())
    }

    /// The text of a finding's first line, with normalized white space.
    fn of(&self, finding: &Finding) -> String {
        let index = finding.span.start.line as usize - 1;
        let line = self.0.get(index).copied().unwrap_or_default();
        let words: Vec<_> = line.split_whitespace().collect();
        words.join(" ")
    }
}

/// The folder of a file, which may not exist yet.
fn folder(file: &Path) -> PathBuf {
    let folder = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}

/// The path of a file relative to `folder`, with `/` as separator. Absolute for a file outside of it.
fn relative(folder: &Path, file: &Path) -> String {
    let whole = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let path = whole.strip_prefix(folder).unwrap_or(&whole);
    path.to_string_lossy()
        .replace(std::path::MAIN_SEPARATOR, "/")
}
