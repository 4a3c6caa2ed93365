//! SARIF 2.1.0, which code hosts display next to the lines of a change.

use serde_json::{Value, json};

use super::{FileReport, Format, Statistics, indented, whole};
use crate::registry::{RULES, rule_page};
use hipward_analyzer_core::{Applicability, Finding, Severity, Span};
use hipward_analyzer_team::TeamRules;

/// One run with every rule, built-in and team rules, and every finding.
#[derive(Clone, Debug)]
pub struct Sarif {
    rules: Vec<Value>,
}

impl Sarif {
    /// Includes team rules in addition to the built-in ones, each once.
    pub fn new<'t>(teams: impl IntoIterator<Item = &'t TeamRules>) -> Sarif {
        let ours = RULES.iter().map(|rule| {
            let help = json!({ "text": rule_page(rule), "markdown": rule_page(rule) });
            json!({
                "id": rule.id,
                "name": rule.name,
                "shortDescription": { "text": rule.title },
                "defaultConfiguration": { "level": level(rule.severity) },
                "help": help,
                "properties": { "tags": [rule.family] },
            })
        });
        let mut rules: Vec<Value> = ours.collect();
        for rule in teams.into_iter().flat_map(TeamRules::iter) {
            let mut described = json!({
                "id": rule.id,
                "name": rule.name,
                "shortDescription": { "text": rule.message },
                "defaultConfiguration": { "level": level(rule.severity) },
                "properties": { "tags": ["team"] },
            });
            if let Some(link) = &rule.link {
                described["helpUri"] = json!(link);
            }
            if rules.iter().all(|known| known["id"] != described["id"]) {
                rules.push(described);
            }
        }
        Sarif { rules }
    }

    /// The log without results, split at their position.
    fn frame(&self) -> (String, String) {
        let log = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "hipward",
                    "version": env!("CARGO_PKG_VERSION"),
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "rules": self.rules,
                } },
                "columnKind": "unicodeCodePoints",
                "results": [],
            }],
        });
        // Strings, numbers and lists always have a JSON form.
        let text = serde_json::to_string_pretty(&log).unwrap_or_default();
        // A JSON string contains no line break, so this can only match the key.
        let (before, after) = text
            .split_once("\n      \"results\": []")
            .unwrap_or_default();
        (
            format!("{before}\n      \"results\": [\n"),
            format!("\n      ]{after}\n"),
        )
    }

    fn result(&self, path: &str, finding: &Finding) -> Value {
        let index = self.rules.iter().position(|rule| rule["id"] == finding.id);
        result(path, finding, index)
    }
}

impl Format for Sarif {
    fn begin(&self) -> String {
        self.frame().0
    }

    fn file(&self, file: &FileReport<'_>) -> String {
        let results: Vec<String> = file
            .report
            .findings
            .iter()
            .map(|finding| {
                let result = self.result(file.path, finding);
                let text = serde_json::to_string_pretty(&result).unwrap_or_default();
                indented(&text, "        ")
            })
            .collect();
        results.join(self.separator())
    }

    fn separator(&self) -> &'static str {
        ",\n"
    }

    fn end(&self, _: &Statistics) -> String {
        self.frame().1
    }
}

/// [`Sarif`] of all files at once, with the built-in rules.
pub fn sarif(files: &[FileReport<'_>]) -> String {
    whole(&Sarif::new([]), files)
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

fn result(path: &str, finding: &Finding, index: Option<usize>) -> Value {
    let artifact = json!({ "uri": uri(path) });
    let mut result = json!({
        "ruleId": finding.id,
        "level": level(finding.severity),
        "message": { "text": finding.message },
        "locations": [{ "physicalLocation": {
            "artifactLocation": artifact,
            "region": region(&finding.span),
        } }],
    });
    if let Some(index) = index {
        result["ruleIndex"] = json!(index);
    }
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

/// A path as a relative URI: SARIF does not allow spaces and some other characters in it.
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
