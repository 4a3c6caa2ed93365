//! A report as JSON.

use serde_json::{Map, Value, json};

use crate::count::Class;
use crate::machine::run::Report;

/// The report of a run as JSON, as the program `hipward-emulate` prints it.
#[must_use]
pub fn report_to_json(report: &Report) -> Value {
    let counts = &report.counts;
    let classes: Map<String, Value> = Class::ALL
        .iter()
        .zip(counts.instructions)
        .map(|(class, count)| (class.name().to_owned(), json!(count)))
        .collect();
    json!({
        "error": report.error.as_ref().map(|error| json!({ "line": error.line, "message": error.message })),
        "findings": report.findings.iter().map(|finding| json!({
            "kind": finding.kind.name(),
            "line": finding.line,
            "source": finding.source.as_ref().map(|source| format!("{}:{}", source.file, source.line)),
            "workgroup": finding.workgroup,
            "wavefront": finding.wavefront,
            "lanes": format!("{:#x}", finding.lanes),
            "message": finding.message,
            "occurrences": finding.occurrences,
        })).collect::<Vec<_>>(),
        "counts": {
            "instructions": classes,
            "active_lanes": counts.active_lanes,
            "masked_lanes": counts.masked_lanes,
            "matrix_cycles": counts.matrix_cycles,
            "accesses": counts.accesses.iter().map(|access| json!({
                "line": access.line,
                "executions": access.executions,
                "bytes": access.bytes,
                "segments64": access.segments64,
                "lines128": access.lines128,
                "bank_conflicts": access.bank_conflicts,
            })).collect::<Vec<_>>(),
        },
    })
}
