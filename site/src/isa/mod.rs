//! The page for machine code: the compiler's answer, how it is read, and the island that shows a new one.
//!
//! The same view draws the recorded example on the server and an answer in the browser. The form is site/js/isa-form.js;
//! what an answer means stands in kernels/hipward_kernels/compile/.

#![expect(
    unreachable_pub,
    reason = "the macro of an island makes public functions"
)]

mod listing;
mod view;

use crate::browser;
use crate::wire::{Decode, Json, decode_struct, field};
use leptos::prelude::*;
use wasm_bindgen::prelude::*;

#[cfg(feature = "ssr")]
pub(crate) use view::answer;

/// Every target of a request.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    compiler: String,
    seconds: f64,
    /// What was compiled, guesses included; empty for HIP.
    signature: Vec<Argument>,
    num_warps: Option<u32>,
    targets: Vec<Target>,
}
decode_struct!(Answer {
    compiler,
    seconds,
    signature,
    num_warps,
    targets
});

/// An argument of a Triton kernel as it was compiled.
#[derive(Clone, Debug)]
struct Argument {
    name: String,
    kind: String,
    value: Option<Constant>,
    source: String,
}

impl Decode for Argument {
    fn decode(json: &impl Json) -> Option<Self> {
        Some(Argument {
            name: field(json, "name")?,
            kind: field(json, "type")?,
            value: field(json, "value")?,
            source: field(json, "source")?,
        })
    }
}

/// A constant's value, as text.
#[derive(Clone, Debug)]
struct Constant(String);

impl Decode for Constant {
    fn decode(json: &impl Json) -> Option<Self> {
        let number = || json.number().map(view::constant);
        let truth = || {
            json.truth()
                .map(|truth| if truth { "True" } else { "False" }.to_owned())
        };
        json.string().or_else(number).or_else(truth).map(Constant)
    }
}

/// What a source became on one GPU.
#[derive(Clone, Debug)]
struct Target {
    arch: String,
    seconds: f64,
    kernels: Vec<Kernel>,
    texts: Texts,
    lines: Vec<LineRange>,
    error: Option<Failure>,
}
decode_struct!(Target {
    arch,
    seconds,
    kernels,
    texts,
    lines,
    error
});

#[derive(Clone, Debug)]
struct Kernel {
    resources: Resources,
    occupancy: Occupancy,
}
decode_struct!(Kernel {
    resources,
    occupancy
});

#[derive(Clone, Debug)]
struct Resources {
    name: String,
    vgprs: usize,
    agprs: usize,
    sgprs: usize,
    vgpr_spills: usize,
    sgpr_spills: usize,
    scratch_bytes: usize,
    lds_bytes: usize,
    instructions: usize,
    matrix_instructions: usize,
    memory: Vec<Access>,
}
decode_struct!(Resources {
    name,
    vgprs,
    agprs,
    sgprs,
    vgpr_spills,
    sgpr_spills,
    scratch_bytes,
    lds_bytes,
    instructions,
    matrix_instructions,
    memory
});

/// Instructions that move the same number of bytes for a thread.
#[derive(Clone, Debug)]
struct Access {
    kind: String,
    bytes: usize,
    count: usize,
}
decode_struct!(Access { kind, bytes, count });

#[derive(Clone, Debug)]
struct Occupancy {
    waves_per_simd: usize,
    waves_per_cu: usize,
    limited_by: String,
}
decode_struct!(Occupancy {
    waves_per_simd,
    waves_per_cu,
    limited_by
});

#[derive(Clone, Debug)]
struct Texts {
    amdgcn: Option<String>,
}
decode_struct!(Texts { amdgcn });

/// Lines of the assembly, from 1, that a line of the source became.
#[derive(Clone, Debug)]
struct LineRange {
    first: usize,
    last: usize,
    source: usize,
}
decode_struct!(LineRange {
    first,
    last,
    source
});

#[derive(Clone, Debug)]
struct Failure {
    message: String,
    help: String,
    line: Option<usize>,
}
decode_struct!(Failure {
    message,
    help,
    line
});

/// A source, what it was compiled with, and the answer that was recorded of it.
#[cfg(feature = "ssr")]
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) command: String,
    pub(crate) date: String,
    pub(crate) arguments: String,
    pub(crate) source: String,
    pub(crate) answer: Answer,
}
#[cfg(feature = "ssr")]
impl Recorded {
    /// Whether the example was compiled for this architecture.
    pub(crate) fn includes(&self, arch: &str) -> bool {
        self.answer.targets.iter().any(|target| target.arch == arch)
    }
}
#[cfg(feature = "ssr")]
decode_struct!(Recorded {
    command,
    date,
    arguments,
    source,
    answer
});

/// Shows what the compiler answers to the form around it.
#[island]
pub(crate) fn MachineCode() -> impl IntoView {
    if cfg!(feature = "hydrate") {
        let on_answer = Closure::new(|json: JsValue, source: String| {
            match Answer::decode(&json) {
                Some(answer) => browser::fill("isa", view::answer(&answer, &source).as_str()),
                None => browser::fill("trouble", "This page is older than the runner; reload it."),
            };
        });
        browser::on_compiled(&on_answer);
        // It lives as long as the page.
        on_answer.forget();
    }
    view! { <div data-region="trouble" role="alert"></div> }
}
