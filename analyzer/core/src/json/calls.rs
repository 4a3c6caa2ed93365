//! The calls that need no rules. The modules of all languages and of Python alone share them.

use super::{Encode, Request, encode, object};
use crate::Language;

/// `{source, path?}` → the language, by the path's name or otherwise by the content.
///
/// # Errors
/// Returns an error if the request is invalid; this applies to every function here.
pub fn language(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["source", "path"])?;
    let source = request.text("source")?;
    let named = request.text("path").ok().and_then(Language::of_path);
    Ok(encode(
        &named.unwrap_or_else(|| Language::of_content(source)),
    ))
}

/// `{paths: […]}` → the language of each path by its name, `null` for unsupported names.
pub fn languages(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["paths"])?;
    let paths = request.texts("paths")?;
    let named: Vec<Option<Language>> = paths.into_iter().map(Language::of_path).collect();
    Ok(encode(&named))
}

/// `{before, after}` → `DiffLine[]`.
pub fn diff(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["before", "after"])?;
    let (before, after) = (request.text("before")?, request.text("after")?);
    Ok(encode(&crate::diff(before, after)))
}

/// A source that was completed to the snippet contract.
#[derive(Debug)]
pub struct Completed {
    /// The whole source.
    pub source: String,
}

impl Encode for Completed {
    fn encode(&self, out: &mut String) {
        object(out, &[("source", &self.source)]);
    }
}
