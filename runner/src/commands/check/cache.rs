//! The cache of `hipward check` and `hipward plan`: the reports of the files of the last run over the same folders.
//!
//! A report is used again if the file, the settings and the facts about its project are the same, so the cache never
//! changes a result. Each set of folders and options has a file of its own. A damaged file is ignored.

use std::collections::HashMap;
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

/// A file that changed in this time before the check is not cached: file systems round times, so another change right after
/// it may have the same time.
const UNSETTLED: Duration = Duration::from_millis(100);

/// A cache that no check used for this long is removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);

/// The reports of earlier checks, and those of this one.
pub(super) struct Cache {
    file: PathBuf,
    /// The first line of the file.
    header: String,
    known: HashMap<String, Line>,
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
    /// The hash of the options.
    options: u64,
    /// The report, as JSON.
    report: String,
}

/// A file of this check.
pub(super) struct CachedFile<'c> {
    cache: &'c Cache,
    path: String,
    options: u64,
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
        let known = fs::read_to_string(&file)
            .ok()
            .and_then(|text| parse(&text, &header))
            .unwrap_or_default();
        Some(Cache {
            file,
            header,
            known,
            lines: Mutex::default(),
            reused: AtomicUsize::new(0),
            started: SystemTime::now(),
        })
    }

    /// A file of this check. `None` if it cannot be cached.
    pub(super) fn file(&self, path: &Path, options: &Options) -> Option<CachedFile<'_>> {
        let metadata = fs::metadata(path).ok().filter(Metadata::is_file)?;
        let (state, changed) = state(&metadata)?;
        let path = std::path::absolute(path).ok()?.into_os_string();
        let path = path.into_string().ok()?;
        Some(CachedFile {
            cache: self,
            path: (!path.contains(['\t', '\n'])).then_some(path)?,
            options: hash_of_options(options),
            state,
            is_settled: changed + UNSETTLED < self.started,
        })
    }

    /// Writes the reports of this check. Without them, the next check analyzes the files again, so errors are ignored.
    pub(super) fn save(self) {
        let mut lines = self.lines.into_inner().unwrap_or_default();
        let reused = self.reused.into_inner();
        if lines.len() == self.known.len() && lines.len() == reused {
            // Its time is that of its last use.
            let _ = File::open(&self.file).and_then(|file| file.set_modified(self.started));
        } else {
            lines.sort_unstable();
            let _ = write(&self.file, &self.header, &lines);
        }
    }
}

impl CachedFile<'_> {
    /// The report of a file without findings that was not written since. Its source is not needed.
    pub(super) fn clean(&self) -> Option<Report> {
        let line = self.line().filter(|line| line.state == self.state)?;
        let report = read_report(line).filter(|report| report.findings.is_empty())?;
        self.keep(line.content, &line.report, true);
        Some(report)
    }

    /// The report for this text of the file: that of the cache, or a new one, which is stored.
    pub(super) fn report(&self, text: &str, analyze: impl FnOnce() -> Report) -> Report {
        let content = hash_of(|hasher| hasher.write(text.as_bytes()));
        let known = self.line().filter(|line| line.content == content);
        if let Some((line, report)) = known.and_then(|line| Some((line, read_report(line)?))) {
            self.keep(content, &line.report, line.state == self.state);
            return report;
        }
        let report = analyze();
        if let Ok(json) = serde_json::to_string(&report) {
            self.keep(content, &json, false);
        }
        report
    }

    fn line(&self) -> Option<&Line> {
        let line = self.cache.known.get(&self.path)?;
        (line.options == self.options).then_some(line)
    }

    /// Stores a report. `is_known` if its line is in the cache as it is.
    fn keep(&self, content: u64, report: &str, is_known: bool) {
        if !self.is_settled {
            return;
        }
        let known = usize::from(is_known);
        self.cache.reused.fetch_add(known, Ordering::Relaxed);
        let (path, state, options) = (&self.path, &self.state, self.options);
        let line = format!("{path}\t{state}\t{content:016x}\t{options:016x}\t{report}");
        let mut lines = self
            .cache
            .lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        lines.push(line);
    }
}

fn read_report(line: &Line) -> Option<Report> {
    serde_json::from_str(&line.report).ok()
}

/// The lines of a file; `None` if another program wrote it.
fn parse(text: &str, header: &str) -> Option<HashMap<String, Line>> {
    let mut lines = text.lines();
    if lines.next()? != header {
        return None;
    }
    let parsed = lines.filter_map(|line| {
        let mut fields = line.splitn(5, '\t');
        let mut field = || fields.next();
        let (path, state, content, options) = (field()?, field()?, field()?, field()?);
        let line = Line {
            state: state.to_owned(),
            content: u64::from_str_radix(content, 16).ok()?,
            options: u64::from_str_radix(options, 16).ok()?,
            report: field()?.to_owned(),
        };
        Some((path.to_owned(), line))
    });
    Some(parsed.collect())
}

/// Replaces the file at once, so that another check reads the old or the new one, and removes caches that nobody uses.
fn write(file: &Path, header: &str, lines: &[String]) -> io::Result<()> {
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

/// What changes with each change of a file, and when it last changed.
fn state(metadata: &Metadata) -> Option<(String, SystemTime)> {
    let modified = metadata.modified().ok()?;
    let since = modified.duration_since(UNIX_EPOCH).ok()?;
    let (changed, inode) = changed(metadata).unwrap_or((modified, 0));
    let state = format!(
        "{}.{}.{inode}.{}",
        since.as_nanos(),
        changed.duration_since(UNIX_EPOCH).ok()?.as_nanos(),
        metadata.len()
    );
    Some((state, changed.max(modified)))
}

/// The time of the last change, which no program can set, and the inode.
#[cfg(unix)]
fn changed(metadata: &Metadata) -> Option<(SystemTime, u64)> {
    use std::os::unix::fs::MetadataExt;

    let seconds = Duration::from_secs(metadata.ctime().try_into().ok()?);
    let nanoseconds = Duration::from_nanos(metadata.ctime_nsec().try_into().ok()?);
    Some((UNIX_EPOCH + seconds + nanoseconds, metadata.ino()))
}

#[cfg(not(unix))]
fn changed(_: &Metadata) -> Option<(SystemTime, u64)> {
    None
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
