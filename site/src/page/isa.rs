//! The page for machine code: a form for a kernel's source, and the machine code of a recorded example.

use super::frame::Page;
use super::no_runner::no_runner;
use crate::isa::{MachineCode, Recorded, RecordedAnswer};
use crate::{Route, Site};
use hipward_analyzer_core::Arch;
use hipward_protocol::Capabilities;
use leptos::prelude::*;

pub(super) fn page(site: &Site, capabilities: Option<&Capabilities>) -> Page {
    let recorded = site.ops.recorded.as_ref();
    let field = |read: fn(&Recorded) -> &String| {
        recorded.map_or_else(String::new, |recorded| read(recorded).clone())
    };
    let source = field(|recorded| &recorded.source);
    let arguments = field(|recorded| &recorded.arguments);
    // Selected at first are the targets of the example.
    let archs: Vec<(String, String, bool)> = Arch::ALL
        .into_iter()
        .map(|arch| {
            let is_selected = recorded.is_none_or(|recorded| recorded.includes(arch.name()));
            (
                arch.name().to_owned(),
                arch.products().to_owned(),
                is_selected,
            )
        })
        .collect();
    let example = recorded.map(example);
    let launches = site.ops.launches.as_ref();
    let examples = launches.map_or_else(Vec::new, |launches| launches.list.clone());
    let main = view! {
        <h1>"Machine code"</h1>
        <p class="lead">
            "See what a Triton or HIP kernel becomes on an AMD GPU: registers, LDS, spills, occupancy, how wide it loads, and each instruction under the line it came from. Then run it in the browser, instruction by instruction. Neither needs a GPU."
        </p>
        {capabilities
            .is_none()
            .then(|| no_runner("No compiler here", "compile a kernel of your own", "any machine with Triton or clang"))}
        <noscript>
            <p class="admonition note">
                "Sending needs JavaScript. In a terminal, "
                <code>"python -m hipward_kernels.compile FILE --arch gfx942 --asm"</code>
                " shows the same."
            </p>
        </noscript>
        <MachineCode base=site.base().to_owned() source arguments archs examples gpus=gpus()>
            {example}
        </MachineCode>
        <p>
            "The " <a href=site.href(&Route::Ops)>"ops"</a>
            " of this project are held to such figures by tests; each op’s page has the table."
        </p>
    };
    Page {
        title: "Machine code (ISA)".to_owned(),
        description:
            "What a Triton or HIP kernel becomes on AMD GPUs: registers, occupancy, instructions."
                .to_owned(),
        main: main.into_any(),
        sidebar: None,
    }
}

/// Figures for lower bounds: architecture, product, TB/s of the memory, SIMDs.
fn gpus() -> Vec<(String, String, f64, u32)> {
    hipward_gpu_facts::PRODUCTS
        .iter()
        .filter_map(|product| {
            let limits = hipward_gpu_facts::arch(product.arch)?.limits.as_ref()?;
            let simds = product.compute_units? * limits.simds;
            let (arch, name) = (product.arch.to_owned(), product.name.to_owned());
            Some((arch, name, product.bandwidth_tbs?, simds))
        })
        .collect()
}

fn example(recorded: &Recorded) -> AnyView {
    view! {
        <p class="hint">
            "Recorded on " {recorded.date.clone()} " by " <code>{recorded.command.clone()}</code> "."
        </p>
        <RecordedAnswer answer=recorded.answer.clone() source=recorded.source.clone() />
    }
    .into_any()
}
