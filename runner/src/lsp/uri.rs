//! `file:` URIs and paths.

use std::path::PathBuf;
use url::Url;

/// The path of a `file:` URI of this machine. None for other schemes, such as that of an unsaved document.
pub(super) fn path(uri: &str) -> Option<PathBuf> {
    let url = Url::parse(uri).ok()?;
    (url.scheme() == "file")
        .then(|| url.to_file_path().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_uri_has_a_path_and_others_have_none() {
        let file = |uri: &str| path(uri).map(|path| path.to_string_lossy().into_owned());
        assert_eq!(file("file:///a/b.py").as_deref(), Some("/a/b.py"));
        assert_eq!(file("file://localhost/a").as_deref(), Some("/a"));
        assert_eq!(
            file("file:///a%20b/%C3%A9%2.py").as_deref(),
            Some("/a b/é%2.py")
        );
        assert_eq!(file("untitled:Untitled-1"), None);
        assert_eq!(file("file://elsewhere/a"), None);
        assert_eq!(file("not a uri"), None);
    }

    #[test]
    fn drive_letter_is_a_folder_on_unix() {
        // Windows separates it from the path; this binary runs on Linux only.
        assert_eq!(
            path("file:///C:/a%20b/c.py"),
            Some(PathBuf::from("/C:/a b/c.py"))
        );
    }
}
