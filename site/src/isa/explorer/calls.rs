//! Calls of the emulator's module, and its answers (`kernels/emulator/wasm/src/view.rs` documents the fields).

use super::launch::{Argument, Parameter};
use crate::browser::script;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(js_namespace = hipward)]
extern "C" {
    /// Calls a method of the emulator with a request as JSON; resolves to the answer as JSON.
    #[wasm_bindgen(catch, js_name = askEmulator)]
    async fn ask_emulator(method: &str, request: &str) -> Result<JsValue, JsValue>;
}

/// A listing and one of its kernels.
#[derive(Serialize)]
pub(super) struct Describe {
    pub(super) listing: String,
    pub(super) kernel: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Description {
    pub(super) arguments: Vec<Parameter>,
}

/// A launch.
#[derive(Serialize)]
pub(super) struct Start {
    pub(super) listing: String,
    pub(super) kernel: Option<String>,
    pub(super) grid: [u64; 3],
    pub(super) workgroup: [u64; 3],
    pub(super) lds: usize,
    pub(super) budget: u64,
    pub(super) arguments: Vec<Argument>,
}

/// A move to an instruction, and what the answer shows.
#[derive(Serialize)]
pub(super) struct Go {
    pub(super) to: Target,
    pub(super) registers_as: String,
    pub(super) watched: String,
    pub(super) lds_row: Option<usize>,
}

/// Where a move ends.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Target {
    Position(u64),
    End,
    NextWavefront,
    Line(usize),
}

/// The state of a launch after an instruction.
#[derive(Clone, Deserialize)]
pub(super) struct View {
    pub(super) position: u64,
    pub(super) error: Option<String>,
    pub(super) line: Option<usize>,
    pub(super) workgroup: [u32; 3],
    pub(super) wavefront: u32,
    pub(super) active: Vec<bool>,
    pub(super) masks: [String; 3],
    pub(super) wavefronts: Vec<(u32, String, Option<u32>)>,
    pub(super) scalars: Vec<(String, String)>,
    pub(super) vectors: Vec<(String, Vec<String>)>,
    pub(super) access: Option<Access>,
    pub(super) lds: Option<Lds>,
    pub(super) counts: Counts,
    pub(super) findings: Vec<Finding>,
    pub(super) buffers: Vec<Buffer>,
}

#[derive(Clone, Deserialize)]
pub(super) struct Access {
    pub(super) in_lds: bool,
    pub(super) bytes: usize,
    pub(super) lanes: Vec<(usize, String, usize)>,
    pub(super) segment_count: usize,
    pub(super) segments: Vec<(String, Vec<Vec<usize>>)>,
    pub(super) banks: Vec<Vec<usize>>,
    pub(super) conflicts: u64,
}

#[derive(Clone, Deserialize)]
pub(super) struct Lds {
    pub(super) bytes: usize,
    pub(super) first: usize,
    pub(super) total: usize,
    pub(super) rows: Vec<Vec<String>>,
}

#[derive(Clone, Deserialize)]
pub(super) struct Counts {
    pub(super) instructions: Vec<(String, u64)>,
    pub(super) lanes: [u64; 2],
    pub(super) matrix_cycles: u64,
    pub(super) global_bytes: [u64; 2],
    pub(super) distinct_bytes: u64,
    pub(super) lds_bytes: u64,
    pub(super) conflicts: u64,
}

#[derive(Clone, Deserialize)]
pub(super) struct Finding {
    pub(super) kind: String,
    pub(super) line: u32,
    pub(super) place: String,
    pub(super) message: String,
    pub(super) occurrences: u64,
}

#[derive(Clone, Deserialize)]
pub(super) struct Buffer {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) count: u64,
    pub(super) values: Vec<String>,
}

/// Calls a method. The error is a sentence for the reader.
pub(super) async fn call<T: DeserializeOwned>(
    method: &str,
    request: &impl Serialize,
) -> Result<T, String> {
    let request = serde_json::to_string(request).map_err(|error| error.to_string())?;
    let answer = ask_emulator(method, &request)
        .await
        .map_err(|error| script::message(&error))?;
    serde_json::from_str(&answer.as_string().unwrap_or_default()).map_err(|_| {
        "The emulator and this page are of different versions; reload the page.".to_owned()
    })
}
