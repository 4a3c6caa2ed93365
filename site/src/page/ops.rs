//! The list of ops, and each op's page: its contract, its backends, and the tables that were recorded of it.

use super::frame::Page;
use super::lesson::on_this_page;
use crate::content::csv::Table;
use crate::content::document::{Section, code_figure};
use crate::content::ops::{Op, Source};
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

const CONDITIONS: [(&str, &str); 8] = [
    ("Device", "device"),
    ("PyTorch", "torch"),
    ("Triton", "triton"),
    ("Runtime", "runtime"),
    ("Driver", "driver"),
    ("Caches", "cache"),
    ("Stop rule", "stop_rule"),
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

const MACHINE_CODE: [Column; 12] = [
    ("Backend", "tier", as_it_is),
    ("Kernel", "kernel", as_it_is),
    ("Shape", "shape", as_it_is),
    ("Type", "dtype", as_it_is),
    ("Architecture", "arch", as_it_is),
    ("Threads", "threads", as_it_is),
    ("VGPRs", "vgprs", as_it_is),
    ("LDS, bytes", "lds_bytes", as_it_is),
    ("Spills", "spills", as_it_is),
    ("Waves per SIMD", "occupancy", as_it_is),
    ("At least wanted", "occupancy_floor", as_it_is),
    ("16-byte loads", "loads_16", as_it_is),
];

pub(super) fn index(site: &Site) -> Page {
    let entries = |routed: bool| -> Vec<AnyView> {
        let those = site.ops.list.iter().filter(|op| op.is_routed == routed);
        those
            .map(|op| {
                let href = site.href(&Route::Op(op.name.clone()));
                view! { <li><a href=href>{op.name.clone()}</a><p>{linked(&op.summary)}</p></li> }
                    .into_any()
            })
            .collect()
    };
    let (fused, routed) = (entries(false), entries(true));
    Page {
        title: "Ops".to_owned(),
        description: "The fused ops of hipward_kernels: what each does, its HIP and Triton source, and what was measured."
            .to_owned(),
        main: view! {
            <h1>"Ops"</h1>
            <p class="lead">
                "The fused ops of " <code>"hipward_kernels"</code>
                ": each with a reference in PyTorch, a Triton kernel and a HIP kernel, what was measured of it, and the machine code it becomes on AMD GPUs."
            </p>
            <p><a class="button" href=site.href(&Route::Isa)>"See the machine code of your own kernel"</a></p>
            <p>
                "What they do for whole models, in training and in decoding: "
                <a href=site.href(&Route::Models)>"the models, measured"</a> "."
            </p>
            <ul class="references">{fused}</ul>
            {(!routed.is_empty()).then(|| view! {
                <h2>"Routed"</h2>
                <p>"Parts of a model that go whichever of several ways is fastest and can take the arguments."</p>
                <ul class="references">{routed}</ul>
            })}
        }
        .into_any(),
        sidebar: None,
    }
}

pub(super) fn page(site: &Site, name: &str) -> Option<Page> {
    let op = site.ops.get(name)?;
    let backends: Vec<AnyView> = op.backends.iter().map(backend).collect();
    Some(Page {
        title: op.name.clone(),
        description: op.summary.clone(),
        main: view! {
            <nav aria-label="Breadcrumbs">
                <ol class="breadcrumbs" role="list">
                    <li><a href=site.href(&Route::Ops)>"Ops"</a></li>
                    <li aria-current="page">{op.name.clone()}</li>
                </ol>
            </nav>
            <h1>{op.name.clone()}</h1>
            <p class="lead">{linked(&op.summary)}</p>
            {contents(op)}
            <h2 id="contract">"Contract"</h2>
            {code(&op.contract)}
            <h2 id="backends">"Backends"</h2>
            {backends}
            {measured(op)}
            {sweep(op)}
            {machine_code(site, op)}
        }
        .into_any(),
        sidebar: None,
    })
}

/// The text of an op's page by headings, for the search. Tables of figures are left out.
pub(super) fn search_sections(op: &Op) -> Vec<Section> {
    let section = |id: &str, title: &str, text: &str| {
        let mut section = Section {
            id: id.to_owned(),
            title: title.to_owned(),
            text: String::new(),
        };
        section.push(text);
        section
    };
    let backends: Vec<&str> = op.backends.iter().map(title).collect();
    let mut sections = vec![
        section("", "", &op.summary),
        section("contract", "Contract", ""),
        section("backends", "Backends", &backends.join(" ")),
    ];
    if op.measured.len() > 0 {
        let text = outcomes(&op.measured).unwrap_or_default();
        sections.push(section("measured", "Measured", &text));
    }
    if op.sweep.len() > 0 {
        sections.push(section("routes", "Routes over rows", ""));
    }
    if op.machine_code.len() > 0 {
        sections.push(section("machine-code", "Machine code on AMD", ""));
    }
    sections
}

/// The parts that the page has: its tables are long.
fn contents(op: &Op) -> AnyView {
    let entries = [
        ("#contract", "Contract", true),
        ("#backends", "Backends", true),
        ("#measured", "Measured", op.measured.len() > 0),
        ("#routes", "Routes over rows", op.sweep.len() > 0),
        (
            "#machine-code",
            "Machine code on AMD",
            op.machine_code.len() > 0,
        ),
    ]
    .into_iter()
    .filter(|(_, _, is_there)| *is_there)
    .map(|(href, title, _)| view! { <li><a href=href>{title}</a></li> }.into_any());
    on_this_page(entries.collect())
}

/// A sentence whose first address is a link.
fn linked(sentence: &str) -> AnyView {
    let Some(at) = sentence.find("https://") else {
        return sentence.to_owned().into_any();
    };
    let (before, rest) = sentence.split_at(at);
    let end = rest.find([')', ',', ' ']).unwrap_or(rest.len());
    let (address, after) = rest.split_at(end);
    let shown = address.trim_start_matches("https://").to_owned();
    let (before, address, after) = (before.to_owned(), address.to_owned(), after.to_owned());
    view! { {before}<a href=address>{shown}</a>{after} }.into_any()
}

fn backend(source: &Source) -> AnyView {
    view! { <details><summary>{title(source).to_owned()}</summary>{code(source)}</details> }
        .into_any()
}

/// The title of a backend.
fn title(source: &Source) -> &str {
    match source.file.as_str() {
        "eager.py" => "Eager, the reference",
        "triton.py" => "Triton",
        "backward.hip" => "HIP, the backward",
        "hip.hip" => "HIP, one source for AMD and NVIDIA",
        _ => source.summary.as_str(),
    }
}

fn code(source: &Source) -> AnyView {
    let figure = code_figure(Some(&source.file), source.language, &source.html);
    view! { <div inner_html=figure></div> }.into_any()
}

fn measured(op: &Op) -> Option<AnyView> {
    (op.measured.len() > 0).then(|| {
        view! {
            <h2 id="measured">"Measured"</h2>
            <p>"Ratios compare medians of one run, in which the variants took turns."</p>
            {outcomes(&op.measured).map(|said| view! { <p>{said}</p> })}
            {table("Measured", &op.measured, &MEASURED)}
            {conditions(&op.measured)}
        }
        .into_any()
    })
}

/// Under which conditions rows were measured.
pub(super) fn conditions(rows: &Table) -> AnyView {
    let entries: Vec<AnyView> = CONDITIONS
        .iter()
        .filter_map(|(name, column)| {
            let values = rows.distinct(column).join("; ");
            (!values.is_empty())
                .then(|| view! { <div><dt>{*name}</dt><dd>{values}</dd></div> }.into_any())
        })
        .collect();
    view! { <dl class="facts">{entries}</dl> }.into_any()
}

/// Products of a layer's weight with more and more rows, by each route.
fn sweep(op: &Op) -> Option<AnyView> {
    (op.sweep.len() > 0).then(|| {
        view! {
            <h2 id="routes">"Routes over rows"</h2>
            <p>
                "A bfloat16 weight of N × K, times M rows. Where one route is faster for few rows and another for many, the number that parts them is fitted to this table. On: "
                {op.sweep.distinct("source").join("; ")} "."
            </p>
            {table("Routes over rows", &op.sweep, &SWEEP)}
        }
        .into_any()
    })
}

/// At how many shapes ours holds up to the fastest rival, counted by medians and by intervals.
fn outcomes(measured: &Table) -> Option<String> {
    let ours: Vec<usize> = (0..measured.len())
        .filter(|row| !measured.field(*row, "outcome").is_empty())
        .collect();
    let count = |holds: &dyn Fn(usize) -> bool| ours.iter().filter(|row| holds(**row)).count();
    let level = count(&|row| {
        let ratio = measured.field(row, "against_best").parse::<f64>();
        ratio.is_ok_and(|ratio| ratio >= 1.0)
    });
    let words: Vec<String> = ["FASTER", "SAME", "SLOWER", "AMBIGUOUS"]
        .iter()
        .map(|word| (word, count(&|row| measured.field(row, "outcome") == *word)))
        .filter(|(_, found)| *found > 0)
        .map(|(word, found)| format!("{word} at {found}"))
        .collect();
    (!ours.is_empty()).then(|| {
        format!(
            "Our median is at or below the fastest rival's at {level} of {} shapes. By the 95 % interval of the ratio, and by how far our op differs from itself in the same run, it is {}.",
            ours.len(),
            words.join(", ")
        )
    })
}

fn machine_code(site: &Site, op: &Op) -> Option<AnyView> {
    (op.machine_code.len() > 0).then(|| {
        view! {
            <h2 id="machine-code">"Machine code on AMD"</h2>
            <p>
                "Compiled, not run: no AMD GPU was at hand. The tests compile each kernel again and hold it to this table: no spills, 16-byte loads, and at least as many wavefronts on a SIMD as it takes to keep the memory busy. "
                <a href=site.href(&Route::Isa)>"See a kernel’s instructions"</a>
            </p>
            {table("Machine code", &op.machine_code, &MACHINE_CODE)}
        }
        .into_any()
    })
}

/// The columns that the file has, and of them those that say anything.
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

fn microseconds(milliseconds: &str) -> String {
    number(milliseconds, |ms| format!("{:.1}", ms * 1000.0))
}

fn rounded(value: &str) -> String {
    number(value, |value| format!("{value:.1}"))
}

fn percent(share: &str) -> String {
    number(share, |share| format!("{:.0} %", share * 100.0))
}

fn times(ratio: &str) -> String {
    number(ratio, |ratio| format!("{ratio:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_counted_by_medians_and_by_intervals() {
        let rows = "outcome,against_best\n,0.9\nFASTER,1.2\nSAME,0.998\nSAME,1.001\nSLOWER,0.97\n";
        assert_eq!(
            outcomes(&Table::parse(rows)).as_deref(),
            Some(
                "Our median is at or below the fastest rival's at 2 of 4 shapes. By the 95 % interval of the ratio, and by how far our op differs from itself in the same run, it is FASTER at 1, SAME at 2, SLOWER at 1."
            )
        );
        assert_eq!(outcomes(&Table::parse("op\nrope\n")), None);
    }
}
