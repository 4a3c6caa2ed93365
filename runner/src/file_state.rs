//! The state of a file or folder on disk: it differs after each change.

use std::fmt;
use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// After a change this long ago, a state is settled: file systems round times, so another change right after it may have
/// the same time.
const UNSETTLED: Duration = Duration::from_millis(100);

/// What changes with each change of a file or folder. Shown as text without tabs and newlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileState {
    /// Since 1970.
    modified: Duration,
    /// The time of the last change, which no program can set, where there is one.
    changed: Duration,
    inode: u64,
    length: u64,
}

impl FileState {
    /// The state of what a path leads to; the default for nothing.
    pub(crate) fn of(path: &Path) -> FileState {
        let metadata = fs::metadata(path).ok();
        let state = metadata.as_ref().and_then(FileState::from_metadata);
        state.unwrap_or_default()
    }

    /// `None` if the file system has no times.
    pub(crate) fn from_metadata(metadata: &Metadata) -> Option<FileState> {
        let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let (changed, inode) = changed(metadata).unwrap_or((modified, 0));
        Some(FileState {
            modified,
            changed,
            inode,
            length: metadata.len(),
        })
    }

    /// Whether each change after `time` results in another state.
    pub(crate) fn is_settled(&self, time: SystemTime) -> bool {
        UNIX_EPOCH + self.changed.max(self.modified) + UNSETTLED < time
    }
}

impl fmt::Display for FileState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (modified, changed) = (self.modified.as_nanos(), self.changed.as_nanos());
        write!(f, "{modified}.{changed}.{}.{}", self.inode, self.length)
    }
}

/// The time of the last change since 1970, and the inode.
#[cfg(unix)]
fn changed(metadata: &Metadata) -> Option<(Duration, u64)> {
    use std::os::unix::fs::MetadataExt;

    let seconds = Duration::from_secs(metadata.ctime().try_into().ok()?);
    let nanoseconds = Duration::from_nanos(metadata.ctime_nsec().try_into().ok()?);
    Some((seconds + nanoseconds, metadata.ino()))
}

#[cfg(not(unix))]
fn changed(_: &Metadata) -> Option<(Duration, u64)> {
    None
}
