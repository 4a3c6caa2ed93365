//! The program `hipward-emulate`, which `hipward` contains as well.
//!
//! It runs one launch: reads a description as JSON from standard input, and writes the report as JSON to standard output.
//! Buffers are files. The program reads each buffer's contents from its file and writes the result back.

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use serde::Deserialize;
use serde_json::{Number, Value, json};

use crate::{Launch, Listing, Memory, Program, Writer, report_to_json, run};

/// The description of a launch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    /// Path of the assembly text.
    listing: String,
    /// The kernel's name; may be left out if the listing has one kernel.
    kernel: Option<String>,
    /// Workgroups in each dimension.
    grid: [Number; 3],
    /// Work-items of a workgroup in each dimension.
    workgroup: [Number; 3],
    buffers: Vec<Buffer>,
    arguments: Vec<Argument>,
    /// Bytes of LDS beyond those that the code declares.
    #[serde(default = "no_lds")]
    lds: Number,
    /// Most instructions that the wavefronts execute together.
    #[serde(default = "default_budget")]
    budget: u64,
    /// Addresses, as those of arguments, whose last store is reported as `writers`.
    #[serde(default)]
    watch: Vec<(usize, u64)>,
}

fn no_lds() -> Number {
    0.into()
}

fn default_budget() -> u64 {
    1 << 32
}

/// A buffer of global memory.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Buffer {
    name: String,
    /// The file with its contents, and for the result.
    file: String,
    /// Whether its bytes count as never written, whatever the file contains.
    #[serde(default)]
    uninitialized: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Argument {
    /// The bytes of a value, in hexadecimal.
    Value(String),
    /// An address: a buffer's position in the list, and bytes from its start.
    Address(usize, u64),
}

/// Runs the launch that standard input describes.
///
/// Exit status: 0 if the kernel ran, 1 if it ended with an error, 2 if the description is wrong.
#[must_use]
pub fn run_command() -> ExitCode {
    match emulate() {
        Ok(report) => {
            if writeln!(io::stdout(), "{report}").is_err() {
                return ExitCode::from(2);
            }
            ExitCode::from(u8::from(!report["error"].is_null()))
        }
        Err(message) => {
            eprintln!("hipward-emulate: {message}");
            ExitCode::from(2)
        }
    }
}

fn emulate() -> Result<Value, String> {
    let description: Description = serde_json::from_reader(io::stdin().lock())
        .map_err(|error| format!("the description is not valid: {error}"))?;
    let text = fs::read_to_string(&description.listing)
        .map_err(|error| format!("{}: {error}", description.listing))?;
    let program = Listing::parse(&text)
        .and_then(|listing| Program::new(&listing, description.kernel.as_deref()))
        .map_err(|error| error.to_string())?;
    let mut memory = Memory::new();
    let mut addresses = Vec::new();
    for buffer in &description.buffers {
        let contents =
            fs::read(&buffer.file).map_err(|error| format!("{}: {error}", buffer.file))?;
        let length = contents.len();
        let address = if buffer.uninitialized {
            memory.add_uninitialized(&buffer.name, length as u64)
        } else {
            memory.add(&buffer.name, &contents)
        };
        addresses.push((
            address.ok_or_else(|| format!("the buffer {} is too large", buffer.name))?,
            length,
        ));
    }
    let mut arguments = Vec::new();
    for argument in &description.arguments {
        arguments.push(match argument {
            Argument::Value(digits) => bytes(digits)?,
            Argument::Address(buffer, offset) => address(&addresses, *buffer, *offset)?
                .to_le_bytes()
                .to_vec(),
        });
    }
    let watched = description
        .watch
        .iter()
        .map(|(buffer, offset)| address(&addresses, *buffer, *offset))
        .collect::<Result<Vec<u64>, _>>()?;
    memory.watch(watched.iter().copied());
    let launch = Launch {
        grid: sizes("grid", &description.grid)?,
        workgroup: sizes("workgroup", &description.workgroup)?,
        arguments,
        dynamic_lds: whole(&description.lds)
            .ok_or_else(|| not_possible("lds", &description.lds))?,
        budget: description.budget,
    };
    let report = run(&program, &launch, &mut memory).map_err(|error| error.to_string())?;
    for (buffer, (address, length)) in description.buffers.iter().zip(addresses) {
        let contents = memory.contents(address, length).unwrap_or_default();
        fs::write(&buffer.file, contents).map_err(|error| format!("{}: {error}", buffer.file))?;
    }
    let mut result = report_to_json(&report);
    let source = |line: u32| {
        program
            .source(line)
            .map(|source| format!("{}:{}", source.file, source.line))
    };
    if let Some(error) = &report.error {
        result["error"]["source"] = json!(source(error.line));
    }
    for (access, counts) in result["counts"]["accesses"]
        .as_array_mut()
        .into_iter()
        .flatten()
        .zip(&report.counts.accesses)
    {
        access["source"] = json!(source(counts.line));
    }
    if !watched.is_empty() {
        let writer = |writer: Writer| {
            json!({
                "workgroup": writer.workgroup,
                "wavefront": writer.wavefront,
                "lane": writer.lane,
                "line": writer.line,
                "source": source(writer.line),
            })
        };
        let writers = watched
            .iter()
            .map(|address| memory.writer(*address).map(writer));
        result["writers"] = writers.collect();
    }
    Ok(result)
}

fn sizes(name: &str, numbers: &[Number; 3]) -> Result<[u32; 3], String> {
    match numbers.each_ref().map(whole) {
        [Some(x), Some(y), Some(z)] => Ok([x, y, z]),
        _ => {
            let [x, y, z] = numbers;
            Err(not_possible(name, format!("({x}, {y}, {z})")))
        }
    }
}

fn whole(number: &Number) -> Option<u32> {
    number.as_u64().and_then(|number| number.try_into().ok())
}

fn not_possible(name: &str, found: impl std::fmt::Display) -> String {
    let most = u32::MAX;
    format!("{name}={found} is not possible: a size is a whole number from 0 to {most}")
}

/// An address in a buffer.
fn address(addresses: &[(u64, usize)], buffer: usize, offset: u64) -> Result<u64, String> {
    let (start, _) = addresses
        .get(buffer)
        .ok_or_else(|| format!("there is no buffer {buffer}"))?;
    Ok(start.wrapping_add(offset))
}

fn bytes(digits: &str) -> Result<Vec<u8>, String> {
    let wrong = || format!("{digits} is not a value in hexadecimal");
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return Err(wrong());
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| wrong()))
        .collect()
}
