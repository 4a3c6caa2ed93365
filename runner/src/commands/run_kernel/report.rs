//! The result of `hipward run`, as text and as JSON.

use super::{Mismatch, code::Code};
use hipward_emulator::{
    FindingKind, Launch, Program, Report, SourceLine, lane_ranges, report_to_json,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write};

/// Elements of a buffer that are printed.
const PRINTED: usize = 8;

/// The result of a run.
pub(super) struct Outcome<'a> {
    pub(super) code: &'a Code,
    pub(super) program: &'a Program,
    pub(super) launch: &'a Launch,
    pub(super) report: &'a Report,
    /// Names of the buffers that the reference returned.
    pub(super) compared: &'a [String],
    pub(super) mismatches: &'a [Mismatch],
}

impl Outcome<'_> {
    /// Whether there is an error, a finding or a difference.
    pub(super) fn is_failure(&self) -> bool {
        self.report.error.is_some()
            || !self.report.findings.is_empty()
            || !self.mismatches.is_empty()
    }

    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for finding in &self.report.findings {
            let severity = match finding.kind {
                FindingKind::Misaligned => "warning",
                _ => "error",
            };
            let _ = writeln!(
                out,
                "{severity}[{}]: {}",
                finding.kind.name(),
                finding.message
            );
            self.location(&mut out, finding.source.as_ref(), finding.line);
            let times = match finding.occurrences {
                1 => String::new(),
                times => format!("; {times} times in all"),
            };
            let _ = writeln!(
                out,
                "  = wavefront {} of workgroup {:?}, lanes {}{times}\n",
                finding.wavefront,
                finding.workgroup,
                lane_ranges(finding.lanes)
            );
        }
        for mismatch in self.mismatches {
            self.mismatch(&mut out, mismatch);
        }
        if let Some(error) = &self.report.error {
            let _ = writeln!(out, "error: {}", error.message);
            self.location(&mut out, self.program.source(error.line), error.line);
            let help = if error.is_over_budget {
                "a loop may not end, or a wavefront waits for another one; if the kernel needs more, raise `budget`"
            } else {
                "correct the kernel at this line"
            };
            let _ = writeln!(out, "  = {help}");
            out.push('\n');
        }
        self.summary(&mut out);
        out
    }

    fn mismatch(&self, out: &mut String, mismatch: &Mismatch) {
        let difference = &mismatch.difference;
        let _ = writeln!(
            out,
            "error[different]: {} of {} elements of {} differ from the reference (rtol {}, atol {}); largest difference {}",
            difference.different,
            difference.elements,
            difference.name,
            difference.rtol,
            difference.atol,
            difference.largest
        );
        let line = mismatch.writers.iter().flatten().map(|writer| writer.line);
        if let Some(line) = line.min() {
            self.location(out, self.program.source(line), line);
        }
        let rows = difference.first.iter().zip(&mismatch.writers);
        for ([index, result, reference], writer) in rows.take(PRINTED) {
            let stored = match writer {
                Some(writer) => format!(
                    "stored by lane {} of wavefront {} of workgroup {:?}",
                    writer.lane, writer.wavefront, writer.workgroup
                ),
                None => "never stored".to_owned(),
            };
            let _ = writeln!(
                out,
                "  {}[{index}] is {result}, the reference {reference}; {stored}",
                difference.name
            );
        }
        let lanes = mismatch
            .writers
            .iter()
            .flatten()
            .fold(0u64, |lanes, writer| lanes | 1 << (writer.lane % 64));
        if lanes != 0 {
            let _ = writeln!(out, "  = lanes with a difference: {}", lane_ranges(lanes));
        }
        if lanes != 0 && lanes & 0xffff_ffff == 0 {
            out.push_str(
                "  = only lanes 32 to 63 differ: the code may assume a warp of 32 threads; a wavefront has 64 lanes\n",
            );
        }
        out.push('\n');
    }

    /// The place of a finding, with the source line if it is known.
    fn location(&self, out: &mut String, source: Option<&SourceLine>, line: u32) {
        let own = source.and_then(|source| Some((self.code.own(&source.file)?, source.line)));
        let Some((file, number)) = own else {
            let _ = writeln!(out, " --> line {line} of the assembly text");
            return;
        };
        let _ = writeln!(
            out,
            " --> {file}:{number} (line {line} of the assembly text)"
        );
        if let Some(text) = self.code.line(number) {
            let width = number.to_string().len();
            let _ = writeln!(out, "{:width$} |\n{number} | {text}\n{:width$} |", "", "");
        }
    }

    fn summary(&self, out: &mut String) {
        let counts = &self.report.counts;
        let kernel = &self.program.kernel().name;
        let groups: u64 = self
            .launch
            .grid
            .iter()
            .map(|size| u64::from(*size))
            .product();
        let threads: u32 = self.launch.workgroup.iter().product();
        if self.code.fixes > 0 {
            let _ = writeln!(
                out,
                "{}: {} {} made it HIP.",
                self.code.file,
                self.code.fixes,
                if self.code.fixes == 1 { "fix" } else { "fixes" }
            );
        }
        let _ = writeln!(
            out,
            "{kernel} on {} in the emulator: {groups} {} of {threads} threads, {} instructions of wavefronts.",
            self.program.arch().name(),
            if groups == 1 {
                "workgroup"
            } else {
                "workgroups"
            },
            counts.total()
        );
        let findings = match self.report.findings.len() {
            0 => "No findings".to_owned(),
            1 => "1 finding".to_owned(),
            several => format!("{several} findings"),
        };
        let agreement = match (self.compared, self.mismatches.len()) {
            ([], _) => "not compared with a reference".to_owned(),
            ([one], 0) => format!("{one} agrees with the reference"),
            (all, 0) => format!("{} agree with the reference", all.join(", ")),
            (all, different) => format!(
                "{different} of {} buffers differ from the reference",
                all.len()
            ),
        };
        let _ = writeln!(out, "{findings}; {agreement}.");
    }

    pub(super) fn json(&self) -> Value {
        let mut report = report_to_json(self.report);
        let launch = json!({
            "file": self.code.file,
            "kernel": self.program.kernel().name,
            "arch": self.program.arch().name(),
            "grid": self.launch.grid,
            "workgroup": self.launch.workgroup,
            "fixes": self.code.fixes,
            "hip": (self.code.fixes > 0).then_some(self.code.source.as_deref()).flatten(),
            "failed": self.is_failure(),
            "compared": self.compared,
            "differences": self.mismatches.iter().map(|mismatch| self.mismatch_json(mismatch)).collect::<Vec<_>>(),
        });
        if let (Value::Object(report), Value::Object(launch)) = (&mut report, launch) {
            for finding in report
                .get_mut("findings")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                let line = finding["line"]
                    .as_u64()
                    .and_then(|line| u32::try_from(line).ok());
                let source = line.and_then(|line| self.program.source(line));
                finding["source"] = self.source_json(source);
            }
            if let Some(error) = &self.report.error {
                report["error"]["source"] = self.source_json(self.program.source(error.line));
            }
            report.extend(launch);
        }
        report
    }

    fn mismatch_json(&self, mismatch: &Mismatch) -> Value {
        let difference = &mismatch.difference;
        // Lanes of each workgroup and wavefront.
        let mut lanes = BTreeMap::<([u32; 3], u32), u64>::new();
        for writer in mismatch.writers.iter().flatten() {
            let lane = 1 << (writer.lane % 64);
            *lanes
                .entry((writer.workgroup, writer.wavefront))
                .or_default() |= lane;
        }
        json!({
            "name": difference.name,
            "elements": difference.elements,
            "different": difference.different,
            "largest": difference.largest,
            "rtol": difference.rtol,
            "atol": difference.atol,
            "first": difference.first.iter().zip(&mismatch.writers).map(|([index, result, reference], writer)| json!({
                "index": index,
                "result": result,
                "reference": reference,
                "workgroup": writer.map(|writer| writer.workgroup),
                "wavefront": writer.map(|writer| writer.wavefront),
                "lane": writer.map(|writer| writer.lane),
                "source": self.source_json(writer.and_then(|writer| self.program.source(writer.line))),
            })).collect::<Vec<_>>(),
            "lanes": lanes.iter().map(|((workgroup, wavefront), lanes)| json!({
                "workgroup": workgroup,
                "wavefront": wavefront,
                "lanes": format!("{lanes:#x}"),
            })).collect::<Vec<_>>(),
        })
    }

    fn source_json(&self, source: Option<&SourceLine>) -> Value {
        match source.and_then(|source| Some((self.code.own(&source.file)?, source.line))) {
            Some((file, line)) => json!(format!("{file}:{line}")),
            None => Value::Null,
        }
    }
}
