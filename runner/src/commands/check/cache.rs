//! The cache of `hipward check` and `hipward plan`: the reports of the files of the last run over the same folders.
//!
//! A report is used again if the file, the settings and the facts about its project are the same, so the cache never
//! changes a result. If no file and folder changed in which facts about the projects were searched, they are the same and
//! are not searched again. Each set of folders and options has a file of its own. A damaged file is ignored.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::env;
use std::fmt::{self, Write as _};
use std::fs::{self, File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hipward_analyzer::{Options, Report};

use crate::file_state::FileState;

/// A cache that no check used for this long is removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);

/// The reports of earlier checks, and those of this one.
pub(super) struct Cache {
    file: PathBuf,
    /// The first line of the file.
    header: String,
    known: HashMap<String, Line>,
    /// The files and folders in which facts about the projects were searched, below `/`, with their states.
    context: BTreeMap<String, String>,
    /// Whether all of them are as they were.
    is_same_context: bool,
    /// The lines of this check.
    lines: Mutex<Vec<String>>,
    /// The number of lines that are as they were.
    reused: AtomicUsize,
    started: SystemTime,
}

/// A line of the file.
struct Line {
    /// When the file was changed, and its size.
    state: String,
    /// The hash of its content.
    content: u64,
    /// The hash of the options without the facts about its project.
    settings: u64,
    /// The hash of the options.
    options: u64,
    /// The report, as JSON.
    report: String,
}

/// A file of this check.
pub(super) struct CachedFile<'c> {
    cache: &'c Cache,
    path: String,
    settings: u64,
    options: OnceCell<u64>,
    state: String,
    /// Whether a later change of the file changes `state`.
    is_settled: bool,
}

impl Cache {
    /// Reads the cache for a check of these paths with these options of the command line. `folder` is where caches are, by
    /// default the user's. `None` if there is no such folder.
    pub(super) fn open(folder: Option<&Path>, paths: &[PathBuf], options: &str) -> Option<Cache> {
        let folder = folder.map(Path::to_owned).or_else(user_folder)?;
        let paths: io::Result<Vec<_>> = paths.iter().map(std::path::absolute).collect();
        let name = hash_of(|hasher| (paths.ok(), options).hash(hasher));
        let file = folder.join(format!("{name:016x}"));
        let header = program()?;
        let (known, context) = fs::read_to_string(&file)
            .ok()
            .and_then(|text| parse(&text, &header))
            .unwrap_or_default();
        let is_same = |(path, state): (&String, &String)| {
            FileState::of(&Path::new("/").join(path)).to_string() == *state
        };
        Some(Cache {
            file,
            header,
            known,
            is_same_context: !context.is_empty() && context.iter().all(is_same),
            context,
            lines: Mutex::default(),
            reused: AtomicUsize::new(0),
            started: SystemTime::now(),
        })
    }

    /// A file of this check, with its options without the facts about its project. `None` if it cannot be cached.
    pub(super) fn file(&self, path: &Path, settings: &Options) -> Option<CachedFile<'_>> {
        let metadata = fs::metadata(path).ok().filter(Metadata::is_file)?;
        let state = FileState::from_metadata(&metadata)?;
        let path = std::path::absolute(path).ok()?.into_os_string();
        let path = path.into_string().ok()?;
        Some(CachedFile {
            cache: self,
            path: is_storable(&path).then_some(path)?,
            settings: hash_of_options(settings),
            options: OnceCell::new(),
            is_settled: state.is_settled(self.started),
            state: state.to_string(),
        })
    }

    /// Writes the reports of this check, and the files and folders that were read for facts about the projects. Without
    /// them, the next check analyzes the files again, so errors are ignored.
    pub(super) fn save(self, reads: impl Iterator<Item = (String, FileState)>) {
        let mut context = match self.is_same_context {
            true => self.context.clone(),
            false => BTreeMap::new(),
        };
        let mut is_settled = true;
        for (path, state) in reads {
            is_settled &= state.is_settled(self.started) && is_storable(&path);
            context.insert(path, state.to_string());
        }
        if !is_settled {
            context.clear();
        }
        let mut lines = self.lines.into_inner().unwrap_or_default();
        let reused = self.reused.into_inner();
        if lines.len() == self.known.len() && lines.len() == reused && context == self.context {
            // Its time is that of its last use.
            let _ = File::open(&self.file).and_then(|file| file.set_modified(self.started));
        } else {
            lines.sort_unstable();
            let context = context
                .iter()
                .map(|(path, state)| format!("\t{path}\t{state}"));
            let _ = write(&self.file, &self.header, context.chain(lines));
        }
    }
}

impl CachedFile<'_> {
    /// The report of a file without findings that was not written since. Its source is not needed. `options` completes the
    /// options with the facts about its project.
    pub(super) fn clean<'o>(&self, options: impl FnOnce() -> &'o Options) -> Option<Report> {
        let line = self.line(options)?;
        let report = read_report(line)
            .filter(|report| line.state == self.state && report.findings.is_empty())?;
        self.keep_line(line);
        Some(report)
    }

    /// The report for this text of the file: that of the cache, or a new one, which is stored.
    pub(super) fn report<'o>(
        &self,
        text: &str,
        options: impl Fn() -> &'o Options,
        analyze: impl FnOnce() -> Report,
    ) -> Report {
        let content = hash_of(|hasher| hasher.write(text.as_bytes()));
        let known = self.line(&options).filter(|line| line.content == content);
        if let Some((line, report)) = known.and_then(|line| Some((line, read_report(line)?))) {
            self.keep_line(line);
            return report;
        }
        let report = analyze();
        if let Ok(json) = serde_json::to_string(&report) {
            self.keep(content, self.options(options), &json);
        }
        report
    }

    /// The line of the cache, if it is for these options.
    fn line<'o>(&self, options: impl FnOnce() -> &'o Options) -> Option<&Line> {
        let line = self.cache.known.get(&self.path)?;
        let is_for_options = self.is_unchanged(line) || line.options == self.options(options);
        is_for_options.then_some(line)
    }

    /// Whether neither the file nor what its options follow from has changed.
    fn is_unchanged(&self, line: &Line) -> bool {
        self.cache.is_same_context && line.state == self.state && line.settings == self.settings
    }

    fn options<'o>(&self, options: impl FnOnce() -> &'o Options) -> u64 {
        *self.options.get_or_init(|| hash_of_options(options()))
    }

    /// Stores the report of a line again.
    fn keep_line(&self, line: &Line) {
        let is_known = line.state == self.state && line.settings == self.settings;
        if self.keep(line.content, line.options, &line.report) && is_known {
            self.cache.reused.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Stores a report. False if a change right after this would not be seen.
    fn keep(&self, content: u64, options: u64, report: &str) -> bool {
        if !self.is_settled {
            return false;
        }
        let (path, state, settings) = (&self.path, &self.state, self.settings);
        let line =
            format!("{path}\t{state}\t{content:016x}\t{settings:016x}\t{options:016x}\t{report}");
        let mut lines = self
            .cache
            .lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        lines.push(line);
        true
    }
}

/// Whether a path can be a field of a line.
fn is_storable(path: &str) -> bool {
    !path.contains(['\t', '\n'])
}

fn read_report(line: &Line) -> Option<Report> {
    serde_json::from_str(&line.report).ok()
}

/// The lines of a file, by path, and what facts about the projects follow from; `None` if another program wrote it.
fn parse(text: &str, header: &str) -> Option<(HashMap<String, Line>, BTreeMap<String, String>)> {
    let mut lines = text.lines();
    if lines.next()? != header {
        return None;
    }
    let (mut known, mut context) = (HashMap::new(), BTreeMap::new());
    for line in lines {
        if let Some((path, state)) = line.strip_prefix('\t').and_then(|it| it.split_once('\t')) {
            context.insert(path.to_owned(), state.to_owned());
        } else if let Some((path, line)) = parse_line(line) {
            known.insert(path, line);
        }
    }
    Some((known, context))
}

fn parse_line(line: &str) -> Option<(String, Line)> {
    let mut fields = line.splitn(6, '\t');
    let path = fields.next()?.to_owned();
    let state = fields.next()?.to_owned();
    let mut hash = || u64::from_str_radix(fields.next()?, 16).ok();
    let line = Line {
        state,
        content: hash()?,
        settings: hash()?,
        options: hash()?,
        report: fields.next()?.to_owned(),
    };
    Some((path, line))
}

/// Replaces the file at once, so that another check reads the old or the new one, and removes caches that nobody uses.
fn write(file: &Path, header: &str, lines: impl Iterator<Item = String>) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let new = file.with_extension(std::process::id().to_string());
    let mut out = BufWriter::new(File::create(&new)?);
    writeln!(out, "{header}")?;
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    fs::rename(new, file)?;
    for entry in fs::read_dir(folder)?.flatten() {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        if modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > UNUSED)) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The folder of the user's caches.
fn user_folder() -> Option<PathBuf> {
    let set = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let folder = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(folder.join("hipward/check"))
}

/// This program: another build of it may report something else. Without the time of its last change, which also changes when
/// a server links to it.
fn program() -> Option<String> {
    let metadata = fs::metadata(env::current_exe().ok()?).ok()?;
    let built = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let (version, size) = (env!("CARGO_PKG_VERSION"), metadata.len());
    Some(format!("hipward {version} {}.{size}", built.as_nanos()))
}

fn hash_of(write: impl FnOnce(&mut DefaultHasher)) -> u64 {
    let mut hasher = DefaultHasher::new();
    write(&mut hasher);
    hasher.finish()
}

/// The hash of every option, by their text for debugging.
fn hash_of_options(options: &Options) -> u64 {
    struct Text<'h>(&'h mut DefaultHasher);

    impl fmt::Write for Text<'_> {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }

    hash_of(|hasher| {
        // Writing to a hasher does not fail.
        let _ = write!(Text(hasher), "{options:?}");
    })
}
