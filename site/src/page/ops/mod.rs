//! The list of ops, and each op's page: how to call it, whether it is faster and than what, its backends and tables.

mod ratios;
mod tables;
mod training;

use super::frame::{Page, breadcrumbs};
use super::lesson::on_this_page;
use crate::content::document::{Section, code_figure};
use crate::content::ops::{Op, Source};
use crate::{Route, Site};
use leptos::prelude::*;

pub(super) use tables::conditions;

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
                ": each with a reference in PyTorch, a Triton kernel, a HIP kernel, measurements, and the machine code for AMD GPUs."
            </p>
            <p><a class="button" href=site.href(&Route::Isa)>"See the machine code of your own kernel"</a></p>
            <p>
                "What they do for whole models, in training and in decoding: "
                <a href=site.href(&Route::Models)>"the models, measured"</a> "."
            </p>
            <ul class="references">{fused}</ul>
            {(!routed.is_empty()).then(|| view! {
                <h2>"Routed"</h2>
                <p>"Parts of a model that select the fastest of several routes that supports the arguments."</p>
                <ul class="references">{routed}</ul>
            })}
            {tables::guide()}
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
            {breadcrumbs(&[(site.href(&Route::Ops), "Ops")], &op.name)}
            <h1>{op.name.clone()}</h1>
            <p class="lead">{linked(&op.summary)}</p>
            {contents(op)}
            {usage(site, op)}
            {measured(site, op)}
            {training::section(&op.training)}
            <h2 id="contract">"Arguments and result"</h2>
            <div inner_html=code_figure(None, "python", &op.contract.html)></div>
            {tables::sweep(op)}
            {tables::machine_code(site, op)}
            <h2 id="backends">"Source"</h2>
            {backends}
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
        section("use", "Use it", ""),
        section("contract", "Arguments and result", ""),
        section("backends", "Source", &backends.join(" ")),
    ];
    if op.measured.len() > 0 {
        let text = ratios::summary(&op.measured).unwrap_or_default();
        sections.push(section("measured", "Is it faster?", &text));
    }
    if op.sweep.len() > 0 {
        sections.push(section("routes", "Routes over rows", ""));
    }
    if op.machine_code.len() > 0 {
        sections.push(section("machine-code", "Machine code on AMD", ""));
    }
    sections
}

/// The parts that the page has.
fn contents(op: &Op) -> AnyView {
    let entries = [
        ("#use", "Use it", true),
        ("#measured", "Is it faster?", op.measured.len() > 0),
        ("#training", training::TITLE, op.training.len() > 0),
        ("#contract", "Arguments and result", true),
        ("#routes", "Routes over rows", op.sweep.len() > 0),
        (
            "#machine-code",
            "Machine code on AMD",
            op.machine_code.len() > 0,
        ),
        ("#backends", "Source", true),
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

/// How to install the package, and a call.
fn usage(site: &Site, op: &Op) -> AnyView {
    let install = code_figure(None, "sh", "pip install ./kernels");
    let example = op.example.as_ref().map(|html| {
        let figure = code_figure(None, "python", html);
        view! { <div inner_html=figure></div> }
    });
    let more = [
        (
            "how-to/own-program",
            "Use the optimizations in your own program",
        ),
        ("how-to/install-pytorch", "Install PyTorch for ROCm"),
    ];
    let more: Vec<AnyView> = more
        .into_iter()
        .filter_map(|(address, title)| {
            let (part, lesson) = site.content.lesson_at(address)?;
            let href = site.href(&Route::lesson(part, lesson));
            Some(view! { <li><a href=href>{title}</a></li> }.into_any())
        })
        .collect();
    view! {
        <h2 id="use">"Use it"</h2>
        <p>"In a clone of Hipward, beside a PyTorch for ROCm, CUDA or the CPU:"</p>
        <div inner_html=install></div>
        {example}
        {(!more.is_empty()).then(|| view! { <ul>{more}</ul> })}
    }
    .into_any()
}

/// Whether it is faster, where, and than what.
fn measured(site: &Site, op: &Op) -> Option<AnyView> {
    (op.measured.len() > 0).then(|| {
        let guide = format!("{}#how-to-read", site.href(&Route::Ops));
        view! {
            <h2 id="measured">"Is it faster?"</h2>
            {ratios::summary(&op.measured).map(|summary| view! { <p>{summary}</p> })}
            {ratios::table(&op.measured)}
            <p class="hint"><a href=guide>"How to read the tables"</a></p>
            {tables::measurements(op)}
            <details>
                <summary>"Conditions"</summary>
                {tables::conditions(&op.measured)}
            </details>
        }
        .into_any()
    })
}
