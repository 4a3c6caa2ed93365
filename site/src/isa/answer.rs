//! The answer of `POST /api/v1/compile` as the page reads it. kernels/hipward_kernels/compile/ documents the fields.

use crate::format::{fixed, number};
use serde::Deserialize;
use serde_json::Value;

/// Machine code for every target of a request.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Answer {
    pub(super) compiler: String,
    pub(super) seconds: f64,
    /// The arguments it was compiled for, guesses included; empty for HIP.
    #[serde(default)]
    pub(super) signature: Vec<Argument>,
    pub(super) num_warps: Option<u32>,
    pub(super) targets: Vec<Target>,
}

/// An argument of a Triton kernel as it was compiled.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Argument {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) value: Option<Constant>,
    pub(super) source: String,
}

/// A constant's value, as Python writes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Value")]
pub(super) struct Constant(pub(super) String);

impl From<Value> for Constant {
    fn from(value: Value) -> Self {
        Constant(match value {
            Value::Bool(true) => "True".to_owned(),
            Value::String(text) => text,
            Value::Number(value) => number_text(value.as_f64().unwrap_or(f64::NAN)),
            _ => "False".to_owned(),
        })
    }
}

fn number_text(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        fixed(value, 0)
    } else {
        number(value)
    }
}

/// The machine code of a source for one GPU.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Target {
    pub(super) arch: String,
    pub(super) seconds: f64,
    pub(super) kernels: Vec<Kernel>,
    pub(super) texts: Texts,
    pub(super) lines: Vec<LineRange>,
    pub(super) error: Option<Failure>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Kernel {
    pub(super) resources: Resources,
    pub(super) occupancy: Occupancy,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Resources {
    pub(super) name: String,
    pub(super) vgprs: usize,
    pub(super) agprs: usize,
    pub(super) sgprs: usize,
    pub(super) vgpr_spills: usize,
    pub(super) sgpr_spills: usize,
    pub(super) scratch_bytes: usize,
    pub(super) lds_bytes: usize,
    pub(super) instructions: usize,
    pub(super) matrix_instructions: usize,
    pub(super) memory: Vec<Access>,
}

/// Instructions that move the same number of bytes for a thread.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Access {
    pub(super) kind: String,
    pub(super) bytes: usize,
    pub(super) count: usize,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Occupancy {
    pub(super) waves_per_simd: usize,
    pub(super) waves_per_cu: usize,
    pub(super) limited_by: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Texts {
    pub(super) amdgcn: Option<String>,
}

/// Lines of the assembly, from 1, that were generated from one line of the source.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct LineRange {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) source: usize,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Failure {
    pub(super) message: String,
    pub(super) help: String,
    pub(super) line: Option<usize>,
}

/// The recorded example: a source, how it was compiled, and the answer.
#[cfg(feature = "ssr")]
#[derive(Clone, Debug, Deserialize)]
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
