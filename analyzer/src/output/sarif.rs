//! SARIF 2.1.0, which code hosts show beside the lines of a change.

use serde_json::{Value, json};

use super::FileReport;
use crate::report::{Applicability, Finding, Severity, Span};
use crate::rules::RULES;

/// One run with every rule and every finding.
pub fn sarif(files: &[FileReport<'_>]) -> String {
    let rules: Vec<Value> = RULES
        .iter()
        .map(|rule| {
            let mut described = json!({
                "id": rule.id,
                "name": rule.name,
                "shortDescription": { "text": rule.title },
                "defaultConfiguration": { "level": level(rule.severity) },
                "properties": { "tags": [rule.family] },
            });
            #[cfg(feature = "docs")]
            {
                described["help"] = json!({ "text": rule.doc(), "markdown": rule.doc() });
            }
            #[cfg(not(feature = "docs"))]
            {
                described["help"] = json!({ "text": rule.title });
            }
            described
        })
        .collect();
    let results: Vec<Value> = files
        .iter()
        .flat_map(|file| {
            file.report
                .findings
                .iter()
                .map(|finding| result(file.path, finding))
        })
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "hipward",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    // Strings, numbers and lists always have a JSON form.
    let mut text = serde_json::to_string_pretty(&log).unwrap_or_default();
    text.push('\n');
    text
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Advice | Severity::Info => "note",
    }
}

fn region(span: &Span) -> Value {
    json!({
        "startLine": span.start.line,
        "startColumn": span.start.column,
        "endLine": span.end.line,
        "endColumn": span.end.column,
        "byteOffset": span.start.byte,
        "byteLength": span.end.byte - span.start.byte,
    })
}

fn result(path: &str, finding: &Finding) -> Value {
    let artifact = json!({ "uri": uri(path) });
    let mut result = json!({
        "ruleId": finding.id,
        "ruleIndex": RULES.iter().position(|rule| rule.id == finding.id),
        "level": level(finding.severity),
        "message": { "text": finding.message },
        "locations": [{ "physicalLocation": {
            "artifactLocation": artifact,
            "region": region(&finding.span),
        } }],
    });
    let edits = finding
        .fix
        .as_ref()
        .filter(|fix| fix.applicability != Applicability::DisplayOnly && !fix.edits.is_empty());
    if let Some(fix) = edits {
        let replacements: Vec<Value> = fix
            .edits
            .iter()
            .map(|edit| {
                json!({
                    "deletedRegion": region(&edit.span),
                    "insertedContent": { "text": edit.text },
                })
            })
            .collect();
        result["fixes"] = json!([{
            "description": { "text": fix.title },
            "artifactChanges": [{ "artifactLocation": artifact, "replacements": replacements }],
        }]);
    }
    result
}

/// A path as a relative URI: SARIF allows no spaces or other signs in it.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                uri.push(char::from(byte))
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
