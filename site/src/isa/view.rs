//! An answer of the compiler as components: a table of figures, the assumed arguments, and the listings. The server renders
//! the recorded example with them, the browser a new answer.

use super::answer::{Answer, Argument, Failure, Kernel, Target};
use super::listing::listing;
use crate::format::number;
use crate::inline_code::inline_code;
use leptos::prelude::*;

/// The whole answer to a source.
#[component]
pub(crate) fn CompilerAnswer(answer: Answer, source: String) -> impl IntoView {
    let milliseconds = number(answer.seconds * 1000.0);
    let failures: Vec<_> = answer
        .targets
        .iter()
        .filter_map(|target| Some(failed(&target.arch, target.error.as_ref()?)))
        .collect();
    let rows: Vec<_> = answer
        .targets
        .iter()
        .flat_map(|target| target.kernels.iter().map(|kernel| row(target, kernel)))
        .collect();
    let listings: Vec<_> = answer
        .targets
        .iter()
        .filter_map(|target| Some((target, target.texts.amdgcn.as_ref()?)))
        .enumerate()
        .map(|(at, (target, assembly))| {
            view! {
                <details open=at == 0>
                    <summary>
                        {target.arch.clone()}
                        ": the instructions, each under the line of the source it came from"
                    </summary>
                    {listing(assembly, &target.lines, &source)}
                </details>
            }
        })
        .collect();
    view! {
        <p>"Compiled with " {answer.compiler.clone()} " in " {milliseconds} " ms."</p>
        {failures}
        {(!rows.is_empty()).then(|| figures(rows))}
        {assumed(&answer)}
        {listings}
    }
}

fn failed(arch: &str, failure: &Failure) -> impl IntoView + use<> {
    let message = match failure.line {
        Some(line) => format!("Line {line}: {}", failure.message),
        None => failure.message.clone(),
    };
    view! {
        <section class="failure">
            <h3>{arch.to_owned()} ": not compiled"</h3>
            <pre tabindex="0">{message}</pre>
            <p>{inline_code(&failure.help)}</p>
        </section>
    }
}

fn figures<T: IntoView + 'static>(rows: Vec<T>) -> impl IntoView + use<T> {
    view! {
        <table class="isa stack">
            <thead>
                <tr>
                    <th scope="col">"Kernel"</th>
                    <th scope="col">"VGPR"</th>
                    <th scope="col">"AGPR"</th>
                    <th scope="col">"SGPR"</th>
                    <th scope="col">"Spills"</th>
                    <th scope="col">"LDS, bytes"</th>
                    <th scope="col">"Waves on a compute unit"</th>
                    <th scope="col">"Moves of one thread"</th>
                    <th scope="col">"Instructions"</th>
                    <th scope="col">"Time"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
}

fn row(
    target: &Target,
    Kernel {
        resources,
        occupancy,
    }: &Kernel,
) -> impl IntoView + use<> {
    let spilled = resources.vgpr_spills + resources.sgpr_spills;
    let spills = if spilled + resources.scratch_bytes == 0 {
        view! { "none" }.into_any()
    } else {
        let scratch = format!(", {} bytes of scratch", resources.scratch_bytes);
        view! { <strong class="bad">{spilled.to_string()}</strong> {scratch} }.into_any()
    };
    let waves = format!(
        "{}, {} a SIMD; limited by {}",
        occupancy.waves_per_cu, occupancy.waves_per_simd, occupancy.limited_by
    );
    let moves: Vec<_> = resources
        .memory
        .iter()
        .enumerate()
        .map(|(at, access)| {
            let text = format!("{} × {} of {} B", access.count, access.kind, access.bytes);
            view! { {(at > 0).then(|| view! { <br /> })} {text} }
        })
        .collect();
    let mut instructions = resources.instructions.to_string();
    if resources.matrix_instructions > 0 {
        instructions.push_str(&format!(
            ", {} of them matrix",
            resources.matrix_instructions
        ));
    }
    view! {
        <tr>
            <th scope="row">{target.arch.clone()} " " <code>{resources.name.clone()}</code></th>
            {cell("VGPR", resources.vgprs.to_string())}
            {cell("AGPR", resources.agprs.to_string())}
            {cell("SGPR", resources.sgprs.to_string())}
            <td data-label="Spills">{spills}</td>
            {cell("LDS, bytes", resources.lds_bytes.to_string())}
            <td data-label="Waves on a compute unit">{waves}</td>
            <td data-label="Moves of one thread">
                <span>{moves}</span>
            </td>
            {cell("Instructions", instructions)}
            {cell("Time", format!("{} ms", number(target.seconds * 1000.0)))}
        </tr>
    }
}

/// A figure; on a narrow screen `label` is shown beside it.
fn cell(label: &'static str, text: String) -> impl IntoView + use<> {
    view! { <td class="number" data-label=label>{text}</td> }
}

/// The types and constants of a Triton kernel, and where each comes from.
fn assumed(answer: &Answer) -> Option<impl IntoView + use<>> {
    if answer.signature.is_empty() {
        return None;
    }
    let mut summary = "Compiled for these arguments".to_owned();
    if let Some(warps) = answer.num_warps {
        summary.push_str(&format!(" and {warps} wavefronts a workgroup"));
    }
    if answer.signature.iter().any(|one| one.source == "guess") {
        summary.push_str("; some are guesses");
    }
    let arguments: Vec<_> = answer.signature.iter().map(argument).collect();
    let view = view! {
        <details>
            <summary>{summary}</summary>
            <ul>{arguments}</ul>
        </details>
    };
    Some(view)
}

fn argument(argument: &Argument) -> impl IntoView + use<> {
    let code = match &argument.value {
        Some(value) => format!("{} = {}", argument.name, value.0),
        None => format!("{}: {}", argument.name, argument.kind),
    };
    let source = match argument.source.as_str() {
        "request" => " as asked",
        "annotation" => " from the annotation",
        "default" => " the default",
        "autotune" => " from the first autotune configuration",
        _ => " a guess",
    };
    view! { <li><code>{code}</code>{source}</li> }
}
