//! Whether `make serve` is still installing the Python that this server is to use.

use std::{env, fs, path::Path, path::PathBuf};

/// Written by `tools/setup` while it installs: the id of its process.
const MARKER: &str = "python-installing";
/// Where `tools/setup` links the installed environment.
const PYTHON: &str = "python-current/bin/python";

/// The Python that `make serve` installed or will install; none without a home folder.
pub(super) fn installed_python() -> Option<PathBuf> {
    Some(cache()?.join(PYTHON))
}

/// True while the Python that was chosen does not exist and `tools/setup` is installing one.
pub(crate) fn is_installing(chosen: Option<&Path>) -> bool {
    let chosen = chosen
        .map(Path::to_owned)
        .or_else(|| env::var_os("HIPWARD_PYTHON").map(PathBuf::from))
        .or_else(installed_python);
    let Some((chosen, cache)) = chosen.zip(cache()) else {
        return false;
    };
    // A bare name such as `python3` is searched for in PATH; it is not what `tools/setup` installs.
    let is_path = chosen.components().count() > 1;
    is_path && !chosen.exists() && is_running(&cache.join(MARKER))
}

fn cache() -> Option<PathBuf> {
    env::var_os("HIPWARD_CACHE")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache/hipward")))
}

/// Whether the process named in the file exists: an installation that was killed leaves its file behind.
fn is_running(marker: &Path) -> bool {
    fs::read_to_string(marker)
        .ok()
        .and_then(|text| text.trim().parse::<u32>().ok())
        .is_some_and(|id| Path::new("/proc").join(id.to_string()).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_counts_while_its_process_exists() {
        let folder = tempfile::tempdir().expect("a folder");
        let marker = folder.path().join(MARKER);
        assert!(!is_running(&marker));
        fs::write(&marker, format!("{}\n", std::process::id())).expect("is written");
        assert!(is_running(&marker));
        // Beyond the largest process id of Linux.
        fs::write(&marker, "4194305").expect("is written");
        assert!(!is_running(&marker));
        fs::write(&marker, "soon").expect("is written");
        assert!(!is_running(&marker));
    }
}
