//! Requests to the analyzer, which runs in a worker (site/js/analyzer-client.js).

use crate::browser::script;
use hipward_analyzer_core::{Language, Target};
use js_sys::Promise;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen(js_namespace = hipward)]
extern "C" {
    /// Calls a method of the analyzer with a request as JSON; resolves to the answer.
    #[wasm_bindgen(js_name = askAnalyzer)]
    fn ask_analyzer(method: &str, request: &str) -> Promise;
}

/// A source and how to read it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Source {
    pub(super) source: String,
    pub(super) target: Target,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) path: String,
    /// Fields about a file of a folder, from the files around it; also `language`.
    #[serde(flatten)]
    pub(super) context: Map<String, Value>,
}

impl Source {
    /// Sets the language that the reader chose.
    pub(super) fn read_as(&mut self, language: Option<Language>) {
        if let Some(language) = language {
            let name = Value::String(language.name().to_owned());
            self.context.insert("language".to_owned(), name);
        }
    }

    /// The request for the findings at indices.
    pub(super) fn findings(&self, indices: &[usize]) -> Self {
        let mut source = self.clone();
        let indices = indices.iter().copied().map(Value::from).collect();
        source
            .context
            .insert("indices".to_owned(), Value::Array(indices));
        source
    }
}

/// A source that the analyzer changed.
#[derive(serde::Deserialize)]
pub(super) struct Changed {
    pub(super) source: String,
}

/// Calls a method. The error is a sentence for the reader.
pub(super) async fn ask<T: DeserializeOwned>(
    method: &str,
    request: &impl Serialize,
) -> Result<T, String> {
    parse(ask_value(method, request).await?)
}

/// Calls a method and returns the answer as a JavaScript value. The request is sent before this returns.
pub(super) fn ask_value<T: Serialize>(
    method: &str,
    request: &T,
) -> impl Future<Output = Result<JsValue, String>> + use<T> {
    let request = serde_json::to_string(request).map_err(|error| error.to_string());
    let answer = request.map(|request| JsFuture::from(ask_analyzer(method, &request)));
    async move { answer?.await.map_err(|error| script::message(&error)) }
}

/// Converts an answer.
pub(super) fn parse<T: DeserializeOwned>(answer: JsValue) -> Result<T, String> {
    serde_wasm_bindgen::from_value(answer).map_err(|_| {
        "The analyzer and this page are of different versions; reload the page.".to_owned()
    })
}
