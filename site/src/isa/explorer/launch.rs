//! Kernels with a launch: recorded ones, and those of the compiler's answer.

use crate::isa::answer::{Answer, LineRange, Occupancy};
use serde::{Deserialize, Serialize};

/// The path of the recorded launches, below the site's base.
pub(crate) const LAUNCHES: &str = "isa/launches.json";

/// Start of the names of the reader's kernels.
pub(super) const OWN: &str = "own:";

/// Elements of a buffer of the reader's kernel at first.
const ELEMENTS: u64 = 4096;

/// Architectures that the emulator executes.
const ARCHS: [&str; 3] = ["gfx90a", "gfx942", "gfx950"];

/// The recorded launches.
#[cfg(feature = "ssr")]
#[derive(Clone, Debug)]
pub(crate) struct Launches {
    /// The file.
    pub(crate) json: String,
    /// Names, titles and descriptions.
    pub(crate) list: Vec<(String, String, String)>,
}

#[cfg(feature = "ssr")]
impl Launches {
    pub(crate) fn parse(json: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Entry {
            name: String,
            title: String,
            about: String,
        }
        #[derive(Deserialize)]
        struct File {
            launches: Vec<Entry>,
        }
        let file: File = serde_json::from_str(json).ok()?;
        let list = file.launches.into_iter();
        Some(Launches {
            json: json.to_owned(),
            list: list
                .map(|entry| (entry.name, entry.title, entry.about))
                .collect(),
        })
    }
}

/// The file of the recorded launches.
#[derive(Deserialize)]
pub(super) struct Recorded {
    pub(super) launches: Vec<Kernel>,
}

/// A kernel and the launch that is suggested for it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) arch: String,
    pub(super) source: String,
    pub(super) listing: String,
    pub(super) lines: Vec<LineRange>,
    /// The symbol, if the listing has several kernels.
    #[serde(default)]
    pub(super) symbol: Option<String>,
    /// LDS of a workgroup, in bytes.
    pub(super) lds: usize,
    pub(super) occupancy: Occupancy,
    pub(super) grid: [u64; 3],
    pub(super) workgroup: [u64; 3],
    /// Empty if they follow from the listing and `types`.
    pub(super) arguments: Vec<Argument>,
    /// Names and types of a Triton kernel's arguments.
    #[serde(default)]
    pub(super) types: Vec<(String, String)>,
}

/// An argument of a launch; the emulator's module documents the fields (`kernels/emulator/wasm/src/request.rs`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Argument {
    pub(super) name: String,
    /// `None` is a null address.
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fill: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<String>,
}

/// An argument of a kernel as the emulator describes it.
#[derive(Deserialize)]
pub(super) struct Parameter {
    name: Option<String>,
    size: u32,
    is_buffer: bool,
}

/// The kernels of the compiler's answer that the emulator can execute.
pub(super) fn own_kernels(answer: Option<&(Answer, String)>) -> Vec<Kernel> {
    let Some((answer, source)) = answer else {
        return Vec::new();
    };
    let mut kernels = Vec::new();
    for target in &answer.targets {
        let Some(listing) = &target.texts.amdgcn else {
            continue;
        };
        if !ARCHS.contains(&target.arch.as_str()) {
            continue;
        }
        let symbols: Vec<&str> = listing
            .lines()
            .filter_map(|line| line.trim().strip_prefix(".amdhsa_kernel "))
            .collect();
        for (symbol, kernel) in symbols.iter().zip(&target.kernels) {
            let waves = answer.num_warps.unwrap_or(1);
            kernels.push(Kernel {
                name: format!("{OWN}{}:{symbol}", target.arch),
                title: format!("Your kernel {} on {}", kernel.resources.name, target.arch),
                arch: target.arch.clone(),
                source: source.clone(),
                listing: listing.clone(),
                lines: target.lines.clone(),
                symbol: Some((*symbol).to_owned()),
                lds: kernel.resources.lds_bytes,
                occupancy: kernel.occupancy.clone(),
                grid: [1; 3],
                workgroup: [(64 * waves).into(), 1, 1],
                arguments: Vec::new(),
                types: answer
                    .signature
                    .iter()
                    .filter(|argument| argument.value.is_none())
                    .map(|argument| (argument.name.clone(), argument.kind.clone()))
                    .collect(),
            });
        }
    }
    kernels
}

/// Suggested arguments for the parameters of a kernel.
pub(super) fn suggested(kernel: &Kernel, parameters: &[Parameter]) -> Vec<Argument> {
    let mut types = kernel.types.iter();
    let is_triton = !kernel.types.is_empty();
    parameters
        .iter()
        .enumerate()
        .map(|(at, parameter)| {
            let declared = types.next();
            let name = declared
                .map(|(name, _)| name.clone())
                .or_else(|| parameter.name.clone())
                .unwrap_or_else(|| format!("argument {at}"));
            let kind = match declared {
                Some((_, kind)) => element(kind),
                // Addresses that Triton adds are null for kernels without scratch.
                None if is_triton => None,
                None => Some(match (parameter.is_buffer, parameter.size) {
                    (true, _) => "f32",
                    (_, 8) => "i64",
                    (_, 2) => "i16",
                    (_, 1) => "u8",
                    _ => "i32",
                }),
            };
            let is_float = matches!(kind, Some("f32" | "f64" | "f16" | "bf16"));
            let is_buffer = parameter.is_buffer && kind.is_some();
            let number = if is_float { "1" } else { "64" };
            Argument {
                name,
                kind: kind.map(str::to_owned),
                count: is_buffer.then_some(ELEMENTS),
                fill: is_buffer.then(|| "random".to_owned()),
                value: (!is_buffer && kind.is_some()).then(|| number.to_owned()),
            }
        })
        .collect()
}

/// The emulator's name of a Triton type, without the mark of a pointer and of divisibility.
fn element(kind: &str) -> Option<&'static str> {
    let kind = kind.trim_start_matches('*');
    Some(match kind.split(':').next().unwrap_or_default() {
        "fp32" => "f32",
        "fp16" => "f16",
        "bf16" => "bf16",
        "fp64" => "f64",
        "i64" | "u64" => "i64",
        "i32" => "i32",
        "u32" => "u32",
        "i16" | "u16" => "i16",
        "i8" => "i8",
        _ => "u8",
    })
}
