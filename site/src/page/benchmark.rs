//! The page to send a benchmark from: the form, and what this site's runner has or lacks.

use super::frame::Page;
use super::no_runner::no_runner;
use crate::code_area::CodeArea;
use crate::content::document::{code_figure, inline, plain};
use crate::content::highlight::highlight;
use crate::format::bytes;
use crate::inline_code::inline_code;
use crate::job::isolation_level;
use crate::{OWN_RUNNER, Site};
use hipward_protocol::{Capabilities, VariantId};
use leptos::prelude::*;

pub(super) fn page(site: &Site, capabilities: Option<&Capabilities>) -> Page {
    let main = view! {
        <h1>"Benchmark"</h1>
        <p class="lead">
            "A runner checks that each variant computes the same, then times them in turn until their medians are known to 1 %. You watch the numbers arrive."
        </p>
        {match capabilities {
            Some(capabilities) => runner(capabilities),
            None if !site.runners.is_empty() => remote_only(),
            None => no_runner(
                "No runner here",
                "benchmark something",
                "a machine with PyTorch (an AMD GPU, an NVIDIA GPU or just a processor)",
            ),
        }}
        <noscript>
            <p class="admonition note">
                "Sending needs JavaScript. In a terminal, "
                <code>"hipward bench model.py"</code>
                " does the same, and "
                <code>"--host"</code>
                " names the machine that runs it."
            </p>
        </noscript>
        {form(site, capabilities)}
        {examples(site)}
    };
    Page {
        title: "Benchmark".to_owned(),
        description:
            "Check precision, then time eager PyTorch against optimized variants on a real device."
                .to_owned(),
        main: main.into_any(),
        sidebar: None,
    }
}

/// On a site without a runner of its own, with runners elsewhere.
fn remote_only() -> AnyView {
    view! { <p>"This site runs no code. It sends benchmarks to the runner that you select below."</p> }
        .into_any()
}

/// The runners of the site to choose from. js/runner-choice.js shows the devices and the queue of each.
fn runner_choice(site: &Site) -> Option<AnyView> {
    let choices: Vec<AnyView> = site
        .runners
        .iter()
        .map(|address| {
            let is_own = address == OWN_RUNNER;
            let name = match is_own {
                true => "This server".to_owned(),
                false => address
                    .split_once("://")
                    .map_or(address.as_str(), |(_, name)| name)
                    .trim_end_matches('/')
                    .to_owned(),
            };
            // As in js/runner.js.
            let value = match is_own {
                true => site.base().to_owned(),
                false => address.clone(),
            };
            view! {
                <li>
                    <label>
                        <input type="radio" name="runner" value=value autocomplete="off" />
                        " "
                        <strong>{name}</strong>
                        " "
                        <span class="hint" data-runner-state></span>
                    </label>
                </li>
            }
            .into_any()
        })
        .collect();
    if choices.is_empty() {
        return None;
    }
    Some(
        view! {
            <fieldset class="needs-js" data-runner-choice>
                <legend>"Runner"</legend>
                <ul class="runners" role="list">{choices}</ul>
            </fieldset>
        }
        .into_any(),
    )
}

fn runner(capabilities: &Capabilities) -> AnyView {
    let devices = capabilities
        .devices
        .iter()
        .map(|device| {
            let memory = bytes(device.memory_bytes);
            format!("{} ({}, {memory})", device.name, device.arch)
        })
        .collect::<Vec<_>>()
        .join("; ");
    let limits = format!(
        "{} s, {} of memory, {} kB of code",
        capabilities.wall_limit_s,
        bytes(capabilities.memory_limit_bytes),
        capabilities.code_limit_bytes / 1000
    );
    let or_none = |text: String| {
        if text.is_empty() {
            "none".to_owned()
        } else {
            text
        }
    };
    view! {
        {missing(capabilities)}
        <dl class="facts">
            <div><dt>"Devices"</dt><dd>{or_none(devices)}</dd></div>
            <div><dt>"PyTorch"</dt><dd>{or_none(capabilities.torch.clone().unwrap_or_default())}</dd></div>
            <div><dt>"Isolation"</dt><dd>{isolation_level(capabilities.isolation.level)}</dd></div>
            <div><dt>"Limits"</dt><dd>{limits}</dd></div>
        </dl>
    }
    .into_any()
}

/// Missing software of the host: the consequence, and the command that installs it.
fn missing(capabilities: &Capabilities) -> Option<AnyView> {
    if capabilities.missing.is_empty() {
        return None;
    }
    let items: Vec<AnyView> = capabilities
        .missing
        .iter()
        .map(|missing| {
            view! {
                <li>
                    <strong>{missing.what.clone()}</strong>
                    ": " <span>{inline_code(&missing.consequence)}</span> " To fix it: "
                    <code>{missing.fix.clone()}</code>
                </li>
            }
            .into_any()
        })
        .collect();
    let (class, title) = if capabilities.ready {
        (
            "admonition note",
            "The runner works, but this host lacks something",
        )
    } else {
        (
            "admonition warning",
            "The runner cannot run benchmarks yet: this host lacks something",
        )
    };
    Some(
        view! {
            <section class=class aria-labelledby="missing">
                <h2 id="missing">{title}</h2>
                <ul>{items}</ul>
            </section>
        }
        .into_any(),
    )
}

fn form(site: &Site, capabilities: Option<&Capabilities>) -> AnyView {
    let benchmarks = site.benchmarks();
    let first = benchmarks.first().map_or("", |(_, bench)| &bench.code);
    let options: Vec<AnyView> = benchmarks
        .iter()
        .map(|(id, bench)| {
            view! { <option value=id.clone()>{plain(&bench.title)}</option> }.into_any()
        })
        .collect();
    let no_example = options.is_empty();
    let variants: Vec<AnyView> = capabilities
        .into_iter()
        .flat_map(|runner| &runner.variants)
        .filter(|variant| variant.id != VariantId::EAGER)
        .map(|variant| {
            view! {
                <label class="switch">
                    <input type="checkbox" name="variant" value=variant.id.name().to_owned() checked autocomplete="off" />
                    {variant.label.clone()}
                </label>
            }
            .into_any()
        })
        .collect();
    let nothing_to_choose = variants.is_empty();
    let about: Vec<AnyView> = capabilities
        .into_iter()
        .flat_map(|runner| &runner.variants)
        .map(|variant| {
            view! { <div><dt>{variant.label.clone()}</dt><dd>{variant.about.clone()}</dd></div> }
                .into_any()
        })
        .collect();
    let about = (!about.is_empty()).then(|| {
        view! { <details><summary>"What each of them is"</summary><dl class="facts">{about}</dl></details> }
    });
    let devices: Vec<AnyView> = capabilities
        .into_iter()
        .flat_map(|runner| &runner.devices)
        .map(|device| {
            view! { <option value=device.id.clone()>{format!("{} ({})", device.name, device.id)}</option> }
                .into_any()
        })
        .collect();
    view! {
        <form class="benchmark" data-benchmark>
            {runner_choice(site)}
            <p class="needs-js" hidden=no_example>
                <label>"Example "<select name="example" autocomplete="off">{options}</select></label>
            </p>
            <label for="code">"Code to benchmark"</label>
            <CodeArea text=first.to_owned() described_by="contract-help" />
            <p id="contract-help" class="hint">
                "It needs "<code>"class Model(nn.Module)"</code>", "<code>"get_inputs()"</code>" and "
                <code>"get_init_inputs()"</code>"; add "<code>"class ModelNew"</code>" to time your own optimized version beside it."
            </p>
            <fieldset class="needs-js" data-variants hidden=nothing_to_choose>
                <legend>"Variants, beside eager"</legend>
                {variants}
                {about}
            </fieldset>
            <p class="needs-js">
                <label>
                    "Device "
                    <select name="device" autocomplete="off">
                        <option value="">"the first that is free"</option>
                        {devices}
                    </select>
                </label>
            </p>
            <p class="needs-js">
                <button type="submit" class="primary" disabled>"Run the benchmark"</button>
            </p>
            <p class="trouble" role="alert"></p>
        </form>
    }
    .into_any()
}

/// The lessons' snippets: to read without a script, and where the form takes them from.
fn examples(site: &Site) -> Option<AnyView> {
    let items: Vec<AnyView> = site
        .benchmarks()
        .into_iter()
        .map(|(id, bench)| {
            let code = code_figure(
                Some(&bench.file),
                "python",
                &highlight(&bench.code, "python"),
            );
            view! {
                <details data-snippet=id data-title=plain(&bench.title)>
                    <summary inner_html=inline(&bench.title, site.base())></summary>
                    <p inner_html=inline(&bench.note, site.base())></p>
                    <div inner_html=code></div>
                </details>
            }
            .into_any()
        })
        .collect();
    if items.is_empty() {
        return None;
    }
    Some(
        view! {
            <section aria-labelledby="examples">
                <h2 id="examples">"Examples from the lessons"</h2>
                {items}
            </section>
        }
        .into_any(),
    )
}
