//! The recorded tables of an op, each in a fold: every measurement, routes over rows, machine code on AMD.

use crate::content::csv::Table;
use crate::content::ops::Op;
use crate::{Route, Site};
use leptos::prelude::*;

/// A column of a table: its heading, the column of the file, and how a field is shown.
type Column = (&'static str, &'static str, fn(&str) -> String);

const MEASURED: [Column; 17] = [
    ("Part", "part", as_it_is),
    ("Shape", "shape", as_it_is),
    ("Type", "dtype", as_it_is),
    ("Variant", "variant", as_it_is),
    ("Route", "route", as_it_is),
    ("Median, µs", "median_ms", microseconds),
    ("TFLOP/s", "teraflops", rounded),
    ("Bound by", "bound", as_it_is),
    ("Of the roofline", "roofline_share", percent),
    ("Of a copy", "same_copy_share", percent),
    ("Of 2 GiB copied", "copy_share", percent),
    ("Eager ÷ this", "speedup", times),
    ("Best rival ÷ this", "against_best", times),
    ("Outcome", "outcome", as_it_is),
    ("Host, µs", "host_us", rounded),
    ("Host over PyTorch's op, µs", "host_over_torch_us", rounded),
    ("Note", "note", as_it_is),
];

const CONDITIONS: [(&str, &str); 9] = [
    ("Device", "device"),
    ("PyTorch", "torch"),
    ("Triton", "triton"),
    ("Runtime", "runtime"),
    ("Driver", "driver"),
    ("Caches", "cache"),
    ("Stop rule", "stop_rule"),
    ("Rivals", "rivals"),
    ("Measured on", "date"),
];

const SWEEP: [Column; 7] = [
    ("Outputs, N", "n", as_it_is),
    ("Inputs, K", "k", as_it_is),
    ("Rows, M", "m", as_it_is),
    ("PyTorch’s choice, µs", "plain_us", as_it_is),
    ("cuBLASLt or hipBLASLt, µs", "lt_us", as_it_is),
    ("8-bit floats, µs", "fp8_us", as_it_is),
    ("Their error, of the result’s size", "fp8_error", as_it_is),
];

const EXECUTED: [Column; 9] = [
    ("Backend", "tier", as_it_is),
    ("Kernel", "kernel", as_it_is),
    ("Architecture", "arch", as_it_is),
    ("VALU", "vector", as_it_is),
    ("VALU before", "vector_before", as_it_is),
    ("LDS", "lds", as_it_is),
    ("LDS before", "lds_before", as_it_is),
    ("Memory", "memory", as_it_is),
    ("Compiler", "compiler", as_it_is),
];

const MACHINE_CODE: [Column; 16] = [
    ("Backend", "tier", as_it_is),
    ("Kernel", "kernel", as_it_is),
    ("Shape", "shape", as_it_is),
    ("Type", "dtype", as_it_is),
    ("Architecture", "arch", as_it_is),
    ("Threads", "threads", as_it_is),
    ("VGPRs", "vgprs", as_it_is),
    ("VGPRs before", "vgprs_before", as_it_is),
    ("LDS, bytes", "lds_bytes", as_it_is),
    ("Spills", "spills", as_it_is),
    ("Workgroups per CU", "workgroups", as_it_is),
    ("Limited by", "limited_by", as_it_is),
    ("Waves per CU", "waves", as_it_is),
    ("At least wanted", "waves_floor", as_it_is),
    ("16-byte loads", "loads_16", as_it_is),
    ("16-byte loads before", "loads_16_before", as_it_is),
];

/// Meaning of the columns, and which number to quote.
pub(super) fn guide() -> AnyView {
    const COLUMNS: [(&str, &str); 7] = [
        (
            "Median",
            "Device time of one call with a cold L2 cache, in microseconds. Half of the samples are faster.",
        ),
        (
            "Best rival ÷ this",
            "The figure to quote. The fastest other implementation’s median, in the same run and under the same conditions, over this one’s. Above 1 this one is faster. Rivals are eager PyTorch, torch.compile, PyTorch’s own fused op and Liger, where they have the op; the row’s note names what was left out.",
        ),
        (
            "Eager ÷ this",
            "Over PyTorch without a compiler. It is the largest factor and says the least: torch.compile fuses most of these ops too.",
        ),
        (
            "Outcome",
            "Faster or slower only if the whole 95 % interval of the ratio is beyond the difference that this op shows from itself in the same run. Otherwise same, or ambiguous if the interval is wide.",
        ),
        (
            "Of a copy",
            "A copy of as many bytes over this time. An op that reads and writes each byte once cannot do better than about 100 %.",
        ),
        (
            "Of the roofline",
            "The time that the device’s measured bandwidth or matrix rate allows, over this time.",
        ),
        (
            "Host",
            "Time on the CPU until the call has returned. A model with small tensors waits for it instead of for the kernel.",
        ),
    ];
    let entries = COLUMNS.map(|(name, text)| view! { <div><dt>{name}</dt><dd>{text}</dd></div> });
    view! {
        <h2 id="how-to-read">"How to read the tables"</h2>
        <dl class="facts">{entries.to_vec()}</dl>
    }
    .into_any()
}

/// Every recorded measurement, with its conditions.
pub(super) fn measurements(op: &Op) -> AnyView {
    view! {
        <details>
            <summary>{format!("Every measurement ({} rows)", op.measured.len())}</summary>
            {table("Every measurement", &op.measured, &MEASURED)}
        </details>
    }
    .into_any()
}

/// Products of a layer's weight with more and more rows, by each route.
pub(super) fn sweep(op: &Op) -> Option<AnyView> {
    (op.sweep.len() > 0).then(|| {
        view! {
            <h2 id="routes">"Routes over rows"</h2>
            <p>
                "A bfloat16 weight of N × K, times M rows. Where one route is faster for few rows and another for many, the number of rows between them is fitted to this table. Measured on: "
                {op.sweep.distinct("source").join("; ")} "."
            </p>
            <details>
                <summary>{format!("The sweep ({} rows)", op.sweep.len())}</summary>
                {table("Routes over rows", &op.sweep, &SWEEP)}
            </details>
        }
        .into_any()
    })
}

/// Machine code of the kernels for AMD GPUs.
pub(super) fn machine_code(site: &Site, op: &Op) -> Option<AnyView> {
    (op.machine_code.len() > 0).then(|| {
        view! {
            <h2 id="machine-code">"Machine code on AMD"</h2>
            <p>
                "Compiled, not run: nothing has been measured on an AMD GPU. The tests compile each kernel again and compare it with this table: no spills, 16-byte loads, and at least as many wavefronts on a compute unit as are needed to keep the memory busy. “Before” are the kernels as they were measured on an H200, before their launches were planned for AMD. "
                <a href=site.href(&Route::Isa)>"See a kernel’s instructions"</a>
            </p>
            <details>
                <summary>{format!("Registers, LDS and loads ({} rows)", op.machine_code.len())}</summary>
                {table("Machine code", &op.machine_code, &MACHINE_CODE)}
            </details>
            {executed(op)}
        }
        .into_any()
    })
}

/// Instructions that the emulator executed.
fn executed(op: &Op) -> Option<AnyView> {
    (op.executed.len() > 0).then(|| {
        view! {
            <details>
                <summary>{format!("Instructions executed in the emulator ({} rows)", op.executed.len())}</summary>
                <p>
                    "32 rows of 4,096 columns in bfloat16. The numbers are instructions of a wavefront for 64 elements, which is one element of each lane; “before” are those of the kernels before sums across lanes used DPP, bfloat16 was rounded two elements at a time, and divisions and exponentials took the short form. In the backward of norms on gfx950, one or two of a hundred vector instructions more take the place of exchanges through LDS."
                </p>
                {table("Instructions executed", &op.executed, &EXECUTED)}
            </details>
        }
        .into_any()
    })
}

/// The conditions of measurements.
pub(in crate::page) fn conditions(rows: &Table) -> AnyView {
    let entries: Vec<AnyView> = CONDITIONS
        .iter()
        .filter_map(|(name, column)| {
            let values = match *column {
                "date" => days(&rows.distinct(column)),
                _ => rows.distinct(column).join("; "),
            };
            (!values.is_empty())
                .then(|| view! { <div><dt>{*name}</dt><dd>{values}</dd></div> }.into_any())
        })
        .collect();
    view! { <dl class="facts">{entries}</dl> }.into_any()
}

/// The day of time stamps in UTC, or the first and the last.
fn days(dates: &[&str]) -> String {
    let days = dates.iter().map(|date| date.get(..10).unwrap_or(date));
    match (days.clone().min(), days.max()) {
        (Some(first), Some(last)) if first == last => first.to_owned(),
        (Some(first), Some(last)) => format!("{first} to {last}"),
        _ => String::new(),
    }
}

/// Those of the columns that the file has with a value in a row.
fn table(label: &'static str, table: &Table, columns: &[Column]) -> AnyView {
    let columns: Vec<&Column> = columns
        .iter()
        .filter(|(_, column, _)| !table.distinct(column).is_empty())
        .collect();
    let head: Vec<AnyView> = columns
        .iter()
        .map(|(heading, ..)| view! { <th scope="col">{*heading}</th> }.into_any())
        .collect();
    let rows: Vec<AnyView> = (0..table.len())
        .map(|row| {
            let cells: Vec<AnyView> = columns
                .iter()
                .map(|(_, column, show)| {
                    let text = show(table.field(row, column));
                    view! { <td>{text}</td> }.into_any()
                })
                .collect();
            view! { <tr>{cells}</tr> }.into_any()
        })
        .collect();
    view! {
        <div class="scroll" tabindex="0" role="group" aria-label=label>
            <table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>
        </div>
    }
    .into_any()
}

fn as_it_is(text: &str) -> String {
    text.to_owned()
}

/// A field that is no number is shown as it is.
fn number(text: &str, show: impl Fn(f64) -> String) -> String {
    text.parse().map_or_else(|_| text.to_owned(), show)
}

pub(super) fn microseconds(milliseconds: &str) -> String {
    number(milliseconds, |ms| format!("{:.1}", ms * 1000.0))
}

fn rounded(value: &str) -> String {
    number(value, |value| format!("{value:.1}"))
}

fn percent(share: &str) -> String {
    number(share, |share| format!("{:.0} %", share * 100.0))
}

pub(super) fn times(ratio: &str) -> String {
    number(ratio, |ratio| format!("{ratio:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_shown_as_days() {
        assert_eq!(
            days(&["2026-11-21T20:00:31+00:00", "2026-11-21T20:04:00+00:00"]),
            "2026-11-21"
        );
        assert_eq!(
            days(&["2026-11-22T00:01:00", "2026-11-21T20:04:00"]),
            "2026-11-21 to 2026-11-22"
        );
        assert_eq!(days(&[]), "");
    }
}
