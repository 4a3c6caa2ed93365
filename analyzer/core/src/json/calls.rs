//! Calls with JSON requests and answers that the browser modules of all languages and of Python alone share.

use super::{Encode, Request, encode, object};
use crate::fix::{apply_fixes, fix_until_stable};
use crate::report::{Applicability, Language, Report};

/// An analyzer, as the calls with a source use it.
pub trait Analyzer {
    /// Options of an analysis, from a request.
    type Options;
    /// State that makes the next analysis of a similar text faster.
    type Session: Default;

    /// Fields of a request from which [`Analyzer::options`] reads.
    const FIELDS: &'static [&'static str];

    /// Reads the options of a request.
    ///
    /// # Errors
    /// Returns an error if a field is invalid.
    fn options(request: &Request) -> Result<Self::Options, String>;

    /// Analyzes a source.
    fn analyze(source: &str, options: &Self::Options, session: &mut Self::Session) -> Report;
}

/// A request that contains a source.
pub struct SourceRequest<A: Analyzer> {
    /// The whole request.
    pub request: Request,
    options: A::Options,
}

impl<A: Analyzer> SourceRequest<A> {
    /// Parses a request with the fields of the analyzer, `source`, `path`, `indices` and `up_to`.
    ///
    /// # Errors
    /// Returns an error if the request is invalid; this applies to every function here.
    #[inline(never)]
    pub fn read(text: &str) -> Result<Self, String> {
        let known = [A::FIELDS, &["source", "path", "indices", "up_to"]].concat();
        let request = Request::read(text, &known)?;
        request.text("source")?;
        Ok(SourceRequest {
            options: A::options(&request)?,
            request,
        })
    }

    /// The source.
    pub fn source(&self) -> &str {
        self.request.text("source").unwrap_or_default()
    }

    /// Analyzes the source.
    pub fn report(&self, session: &mut A::Session) -> Report {
        A::analyze(self.source(), &self.options, session)
    }
}

/// `{source, …}` → `Report`.
pub fn analyze<A: Analyzer>(request: &str, session: &mut A::Session) -> Result<String, String> {
    Ok(encode(&SourceRequest::<A>::read(request)?.report(session)))
}

/// `{source, …, indices: […]}` → `{source, applied: […]}`.
pub fn apply<A: Analyzer>(request: &str) -> Result<String, String> {
    let read = SourceRequest::<A>::read(request)?;
    let indices = read.request.indices()?;
    let report = read.report(&mut A::Session::default());
    Ok(encode(&apply_fixes(read.source(), &report, &indices)))
}

/// `{source, …, up_to?}` → `{source, applied}`.
pub fn fix_all<A: Analyzer>(request: &str) -> Result<String, String> {
    let read = SourceRequest::<A>::read(request)?;
    let up_to = read.request.up_to()?.unwrap_or(Applicability::Safe);
    let mut session = A::Session::default();
    Ok(encode(&fix_until_stable(
        read.source(),
        up_to,
        &mut |source| A::analyze(source, &read.options, &mut session),
    )))
}

/// `{source, …}` → `{source}`, completed to the snippet contract by `scaffold`.
pub fn complete<A: Analyzer>(
    request: &str,
    scaffold: fn(&str, &Report) -> String,
) -> Result<String, String> {
    let read = SourceRequest::<A>::read(request)?;
    let report = read.report(&mut A::Session::default());
    Ok(encode(&Completed {
        source: scaffold(read.source(), &report),
    }))
}

/// `{source, path?}` → the language, by the path's name or otherwise by the content.
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
struct Completed {
    source: String,
}

impl Encode for Completed {
    fn encode(&self, out: &mut String) {
        object(out, &[("source", &self.source)]);
    }
}

/// Exports the calls that every browser module has, for an [`Analyzer`] and its function that completes a source to the
/// snippet contract. `JsError` and `wasm_bindgen` have to be in scope.
#[macro_export]
macro_rules! export_calls {
    ($analyzer:ty, $scaffold:path) => {
        thread_local! {
            /// The worker analyzes one text repeatedly.
            static SESSION: std::cell::RefCell<<$analyzer as $crate::json::calls::Analyzer>::Session> =
                std::cell::RefCell::default();
        }

        /// A sentence as a JavaScript `Error`.
        fn answer(answer: Result<String, String>) -> Result<String, JsError> {
            answer.map_err(|sentence| JsError::new(&sentence))
        }

        /// `{source, path?}` → the language of the source.
        #[wasm_bindgen]
        pub fn language(request: &str) -> Result<String, JsError> {
            answer($crate::json::calls::language(request))
        }

        /// `{paths: […]}` → a language or `null` for each, by its name.
        #[wasm_bindgen]
        pub fn languages(request: &str) -> Result<String, JsError> {
            answer($crate::json::calls::languages(request))
        }

        /// `{source, target?, select?, ignore?, language?, …}` → `Report`.
        #[wasm_bindgen]
        pub fn analyze(request: &str) -> Result<String, JsError> {
            answer(SESSION.with_borrow_mut(|session| {
                $crate::json::calls::analyze::<$analyzer>(request, session)
            }))
        }

        /// `{source, target?, indices: […]}` → `{source, applied: […]}`.
        #[wasm_bindgen]
        pub fn apply(request: &str) -> Result<String, JsError> {
            answer($crate::json::calls::apply::<$analyzer>(request))
        }

        /// `{source, target?, up_to?}` → `{source, applied}`.
        #[wasm_bindgen]
        pub fn fix_all(request: &str) -> Result<String, JsError> {
            answer($crate::json::calls::fix_all::<$analyzer>(request))
        }

        /// `{before, after}` → `DiffLine[]`.
        #[wasm_bindgen]
        pub fn diff(request: &str) -> Result<String, JsError> {
            answer($crate::json::calls::diff(request))
        }

        /// `{source, target?}` → `{source}`, completed to the snippet contract.
        #[wasm_bindgen]
        pub fn skeleton(request: &str) -> Result<String, JsError> {
            answer($crate::json::calls::complete::<$analyzer>(
                request, $scaffold,
            ))
        }
    };
}
