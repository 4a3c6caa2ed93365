//! The body of `POST /api/v1/compile`, from the fields of the form.

use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Serialize)]
pub(super) struct Request {
    pub(super) language: String,
    pub(super) source: String,
    pub(super) archs: Vec<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) triton: Option<Triton>,
}

/// Fields for Triton only.
#[derive(Serialize)]
pub(super) struct Triton {
    pub(super) arguments: Map<String, Value>,
    /// The kernel's name; not needed for a source with only one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) kernel: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) num_warps: Option<u32>,
}

/// Parses `x_ptr=*bf16, BLOCK=1024`. Numbers and truth values are constants; anything else is a type.
pub(super) fn arguments(text: &str) -> Map<String, Value> {
    text.split([',', '\n'])
        .filter(|pair| !pair.trim().is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name.trim().to_owned(), constant(value.trim()))
        })
        .collect()
}

fn constant(text: &str) -> Value {
    match text {
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        _ => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_types_and_constants() {
        let parsed = arguments("x_ptr=*bf16, n = i32\nBLOCK=1024, scale=0.5, causal=True,");
        let expected = serde_json::json!({
            "x_ptr": "*bf16", "n": "i32", "BLOCK": 1024, "scale": 0.5, "causal": true,
        });
        assert_eq!(Value::Object(parsed), expected);
    }
}
