//! `file:` URIs and paths.

use std::path::PathBuf;

/// The path of a `file:` URI; none for other schemes, such as a document that was never saved.
pub(super) fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    // A host may stand before the path; only this machine's files can be read.
    let path = match rest.strip_prefix("localhost/") {
        Some(path) => format!("/{path}"),
        None => rest.to_owned(),
    };
    path.starts_with('/').then(|| decoded(&path).into())
}

/// `%20` and the like as what they stand for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = (*first == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_path_and_nothing_else_has() {
        let file = |uri: &str| path(uri).map(|path| path.to_string_lossy().into_owned());
        assert_eq!(file("file:///a/b.py").as_deref(), Some("/a/b.py"));
        assert_eq!(file("file://localhost/a").as_deref(), Some("/a"));
        assert_eq!(
            file("file:///a%20b/%C3%A9%2.py").as_deref(),
            Some("/a b/é%2.py")
        );
        assert_eq!(file("untitled:Untitled-1"), None);
        assert_eq!(file("file://elsewhere/a"), None);
    }
}
