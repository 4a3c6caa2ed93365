//! The results of the whole run: findings, contents of buffers, counts, and lower bounds of the time.

use super::Gpu;
use super::calls::{Counts, Finding, View};
use super::launch::Kernel;
use super::panels::table;
use super::state::State;
use crate::format::number;
use leptos::prelude::*;

/// Cycles in which a SIMD of gfx9, 16 lanes wide, executes a vector instruction of 64 lanes.
const CYCLES: u64 = 4;

pub(super) fn results(state: State, gpus: &[Gpu]) -> Option<AnyView> {
    let end = state.end.get()?;
    let kernel = state.kernel.get_untracked()?;
    let outcome = match &end.error {
        Some(error) => format!("The run ended with an error at {error}."),
        None => format!("The kernel executed {} instructions.", end.position),
    };
    let bounds: Vec<AnyView> = bounds(&end.counts, &kernel, gpus)
        .into_iter()
        .map(|text| view! { <li>{text}</li> }.into_any())
        .collect();
    let occupancy = format!(
        "Occupancy: up to {} wavefronts on a compute unit, {} on a SIMD, limited by {}.",
        kernel.occupancy.waves_per_cu, kernel.occupancy.waves_per_simd, kernel.occupancy.limited_by,
    );
    let view = view! {
        <h3>"Result of the run"</h3>
        <p role="status" data-region="outcome">{outcome}</p>
        {findings(&end.findings)}
        {buffers(&end)}
        <div class="scroll" tabindex="0" role="region" aria-label="Counts">
            {counts(&end.counts)}
        </div>
        <h4>"Lower bounds of the time"</h4>
        <p class="hint">
            "They follow from the counts. A launch on hardware takes longer; how much longer, only a measurement shows."
        </p>
        <ul data-region="bounds">{bounds}</ul>
        <p>{occupancy}</p>
    };
    Some(view.into_any())
}

fn findings(findings: &[Finding]) -> AnyView {
    if findings.is_empty() {
        return view! {
            <p>
                "The checks found nothing: every access was inside a buffer, aligned and of written memory, and no wait or barrier was missing."
            </p>
        }
        .into_any();
    }
    let items: Vec<AnyView> = findings
        .iter()
        .map(|finding| {
            let times = match finding.occurrences {
                1 => String::new(),
                count => format!(" {count} times."),
            };
            view! {
                <li data-severity="error">
                    <p>
                        <strong>{finding.kind.clone()}</strong>
                        {format!(" at line {}: {}.{times}", finding.line, finding.message)}
                    </p>
                    <p class="hint">{format!("First in {}.", finding.place)}</p>
                </li>
            }
            .into_any()
        })
        .collect();
    view! { <ul class="findings" data-region="checks">{items}</ul> }.into_any()
}

fn buffers(end: &View) -> Vec<AnyView> {
    end.buffers
        .iter()
        .map(|buffer| {
            let shown = buffer.values.len();
            let rest = if (shown as u64) < buffer.count {
                format!(", the first {shown}")
            } else {
                String::new()
            };
            view! {
                <details>
                    <summary>
                        {format!("{}: {} elements of {}{rest}", buffer.name, buffer.count, buffer.kind)}
                    </summary>
                    <pre class="values" tabindex="0">{buffer.values.join("  ")}</pre>
                </details>
            }
            .into_any()
        })
        .collect()
}

fn counts(counts: &Counts) -> AnyView {
    let mut rows: Vec<Vec<String>> = counts
        .instructions
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(class, count)| vec![format!("instructions, {class}"), count.to_string()])
        .collect();
    let [active, masked] = counts.lanes;
    let [accessed, transferred] = counts.global_bytes;
    let mut add = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    if active + masked > 0 {
        let share = 100 * masked / (active + masked);
        add(
            "lanes masked in vector instructions",
            format!("{masked} of {} ({share} %)", active + masked),
        );
    }
    if transferred > 0 {
        add(
            "bytes that lanes access in global memory",
            accessed.to_string(),
        );
        add(
            "bytes of the 64-byte segments of these accesses",
            transferred.to_string(),
        );
    }
    if counts.lds_bytes > 0 {
        add(
            "bytes that lanes access in LDS",
            counts.lds_bytes.to_string(),
        );
        add(
            "cycles that bank conflicts add",
            counts.conflicts.to_string(),
        );
    }
    if counts.matrix_cycles > 0 {
        add(
            "cycles of matrix instructions",
            counts.matrix_cycles.to_string(),
        );
    }
    table("Counts of the whole run", &["Count", "Value"], rows)
}

/// Lower bounds of the time on the GPUs of the kernel's architecture.
fn bounds(counts: &Counts, kernel: &Kernel, gpus: &[Gpu]) -> Vec<String> {
    let mut bounds = Vec::new();
    let vector = counts
        .instructions
        .iter()
        .find(|(class, _)| class == "vector");
    let vector = vector.map_or(0, |(_, count)| *count);
    for (_, product, bandwidth, simds) in gpus.iter().filter(|(arch, ..)| *arch == kernel.arch) {
        let bytes = counts.distinct_bytes;
        // 10^12 bytes a second are 1000 bytes a nanosecond.
        let memory = number(bytes as f64 / (bandwidth * 1000.0));
        let cycles = number((CYCLES * vector + counts.matrix_cycles) as f64 / f64::from(*simds));
        let bandwidth = number(*bandwidth);
        bounds.push(format!(
            "{product}: {memory} ns for {bytes} different bytes at {bandwidth} TB/s, unless they are in a cache; {cycles} cycles for the vector and matrix instructions if all {simds} SIMDs share them evenly."
        ));
    }
    bounds
}
