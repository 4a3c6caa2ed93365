//! The analyzer with JSON strings in and JSON strings out: what the browser calls.
//!
//! An error is a sentence for the caller.

mod request;

use serde::Serialize;

use self::request::Request;
use crate::analysis::{Options, Selection};
use crate::report::Applicability;
use crate::rules::RULES;

/// Fields of a request that carries a source.
const SOURCE: &[&str] = &["source", "target", "select", "ignore", "indices", "up_to"];

#[derive(Serialize)]
struct Source {
    source: String,
}

/// `{source, target?, select?, ignore?}` → `Report`.
///
/// # Errors
/// When the request is not what was expected; so for every function here.
pub fn analyze(request: &str) -> Result<String, String> {
    let request = Request::read(request, SOURCE)?;
    write(&crate::analyze(
        request.text("source")?,
        &options(&request)?,
    ))
}

/// `{source, target?, indices: […]}` → `{source, applied: […]}`.
pub fn apply(request: &str) -> Result<String, String> {
    let request = Request::read(request, SOURCE)?;
    let source = request.text("source")?;
    let report = crate::analyze(source, &options(&request)?);
    write(&crate::apply_fixes(source, &report, &request.indices()?))
}

/// `{source, target?, up_to?}` → `{source, applied}`.
pub fn fix_all(request: &str) -> Result<String, String> {
    let request = Request::read(request, SOURCE)?;
    let up_to = request.up_to()?.unwrap_or(Applicability::Safe);
    write(&crate::fix_all(
        request.text("source")?,
        &options(&request)?,
        up_to,
    ))
}

/// `{before, after}` → `DiffLine[]`.
pub fn diff(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["before", "after"])?;
    write(&crate::diff(
        request.text("before")?,
        request.text("after")?,
    ))
}

/// `{source, target?}` → `{source}`, completed to the snippet contract.
pub fn skeleton(request: &str) -> Result<String, String> {
    let request = Request::read(request, SOURCE)?;
    let source = request.text("source")?;
    let report = crate::analyze(source, &options(&request)?);
    write(&Source {
        source: crate::skeleton(source, &report),
    })
}

/// Every rule without its page: `[{id, name, title, family, severity, …}]`.
pub fn rules() -> Result<String, String> {
    write(&RULES)
}

fn options(request: &Request) -> Result<Options, String> {
    Ok(Options {
        target: request.target()?,
        rules: Selection::new(&request.texts("select")?, &request.texts("ignore")?)
            .map_err(|error| error.to_string())?,
    })
}

fn write(answer: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(answer).map_err(|error| format!("The answer has no JSON form: {error}."))
}
