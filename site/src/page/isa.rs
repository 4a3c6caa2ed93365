//! The page for machine code: a form for a kernel's source, and what the recorded example became.

use super::frame::Page;
use super::no_runner::no_runner;
use super::playground::textarea;
use crate::isa::{MachineCode, Recorded, answer};
use crate::{Route, Site};
use hipward_analyzer_core::Arch;
use hipward_protocol::Capabilities;
use leptos::prelude::*;

pub(super) fn page(site: &Site, capabilities: Option<&Capabilities>) -> Page {
    let recorded = site.ops.recorded.as_ref();
    let main = view! {
        <h1>"Machine code"</h1>
        <p class="lead">
            "See what a Triton or HIP kernel becomes on an AMD GPU: registers, LDS, spills, occupancy, how wide it loads, and each instruction under the line it came from. It is compiled, not run, so no GPU is needed."
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
        {form(recorded)}
        <div data-region="isa-state" role="status"></div>
        <MachineCode />
        <section aria-labelledby="result">
            <h2 id="result">"What it becomes"</h2>
            <div data-region="isa">{recorded.map(example)}</div>
        </section>
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

fn form(recorded: Option<&Recorded>) -> AnyView {
    let source = recorded.map_or("", |recorded| recorded.source.as_str());
    let arguments = recorded.map_or_else(String::new, |recorded| recorded.arguments.clone());
    let archs: Vec<AnyView> = Arch::ALL
        .into_iter()
        .map(|arch| {
            let checked = recorded.is_none_or(|recorded| recorded.includes(arch.name()));
            view! {
                <label class="switch">
                    <input type="checkbox" name="arch" value=arch.name() checked=checked autocomplete="off" />
                    {arch.name()}
                    " "
                    <small>{arch.products()}</small>
                </label>
            }
            .into_any()
        })
        .collect();
    view! {
        <form class="benchmark" data-isa>
            <p class="needs-js">
                <label>
                    "Language "
                    <select name="language" autocomplete="off">
                        <option value="triton">"Triton"</option>
                        <option value="hip">"HIP"</option>
                    </select>
                </label>
            </p>
            <label for="code">"Source of the kernel"</label>
            {textarea(source, "source-help")}
            <p id="source-help" class="hint">
                "A whole file with its imports. It is compiled behind the same fence as a benchmark."
            </p>
            <fieldset class="needs-js">
                <legend>"Compile for"</legend>
                {archs}
            </fieldset>
            <div class="fields needs-js" data-triton>
                <label>
                    "Arguments "
                    <input type="text" name="arguments" value=arguments autocomplete="off" spellcheck="false" aria-describedby="arguments-help" />
                </label>
                <label>
                    "Kernel "
                    <input type="text" name="kernel" placeholder="the only one" autocomplete="off" spellcheck="false" />
                </label>
                <label>
                    "Warps "
                    <input type="number" name="warps" min="1" max="16" placeholder="4" autocomplete="off" />
                </label>
                <p id="arguments-help" class="hint">
                    "Types and constants, such as " <code>"x_ptr=*bf16, n=i32, BLOCK=1024"</code>
                    ". What is left out is guessed, and the answer says so."
                </p>
            </div>
            <p class="needs-js">
                <button type="submit" class="primary" disabled>"Compile"</button>
            </p>
        </form>
    }
    .into_any()
}

fn example(recorded: &Recorded) -> AnyView {
    let drawn = answer(&recorded.answer, &recorded.source)
        .as_str()
        .to_owned();
    view! {
        <p class="hint">
            "Recorded on " {recorded.date.clone()} " by " <code>{recorded.command.clone()}</code> "."
        </p>
        <div inner_html=drawn></div>
    }
    .into_any()
}
