//! `hipward run`: executes a HIP or CUDA kernel as AMD machine code in the emulator, and compares its results.

mod code;
mod data;
mod reference;
mod report;
mod spec;

use super::temporary_folder::temporary_folder;
use crate::{config::parse_arch, python};
use code::Code;
use hipward_analyzer::Arch;
use hipward_emulator::{Launch, Listing, Memory, Program, Writer, run as emulate};
use reference::{Comparison, Difference};
use report::Outcome;
use spec::{Argument, Spec};
use std::{
    error::Error,
    fs,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};
use tempfile::TempDir;

/// Arguments of `hipward run`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0, the kernel ran without findings and agrees with the reference; 1, findings, different results, \
                  or a kernel that does not end; 2, nothing was executed"
)]
pub(crate) struct Args {
    /// The kernel: HIP (.hip, .cpp), CUDA (.cu), or the assembly text of clang or Triton (.s)
    file: PathBuf,
    /// Launch and arguments (TOML)
    #[arg(long, value_name = "SPEC")]
    args: PathBuf,
    /// GPU architecture to compile for: gfx90a, gfx942 or gfx950 [default: gfx942, or that of the assembly text]
    #[arg(long, value_name = "GFX", value_parser = parse_arch)]
    arch: Option<Arch>,
    /// Python file with a function `reference` that returns the expected contents of buffers
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// CUDA: also apply the unsafe fixes of `hipward check`
    #[arg(long)]
    unsafe_fixes: bool,
    /// Most instructions that the wavefronts execute together; a smaller `budget` of the launch counts
    #[arg(long, value_name = "N")]
    budget: Option<u64>,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the assembly text to this file
    #[arg(long, value_name = "FILE")]
    listing: Option<PathBuf>,
    /// Python with Triton, to compile and to compare [default: $HIPWARD_PYTHON, the one that `make serve` installed, python3]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Text with the source lines
    Text,
    /// One JSON object
    Json,
}

/// What to do if a listing is damaged.
const WHOLE: &str = "Pass the whole assembly text that clang (-S) or Triton (asm[\"amdgcn\"]) writes for gfx90a, gfx942 or gfx950.";

/// What to do if the emulator cannot execute an instruction.
const SUPPORTED: &str = "Change the source or the compiler's options so that the code does without it; /reference/emulator/ lists what the emulator executes.";

/// An element of a buffer that differs, with the lane that stored it.
struct Mismatch {
    difference: Difference,
    writers: Vec<Option<Writer>>,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> ExitCode {
    match run_kernel(&args) {
        Ok(failed) => ExitCode::from(u8::from(failed)),
        Err(error) => {
            eprintln!("hipward run: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether the kernel has a problem.
fn run_kernel(args: &Args) -> Result<bool, Box<dyn Error>> {
    let mut spec = Spec::read(&args.args)?;
    spec.budget = spec.budget.min(args.budget.unwrap_or(u64::MAX));
    if let Some(reference) = args.check.as_deref().filter(|path| !path.is_file()) {
        let shown = reference.display();
        return Err(format!(
            "there is no file {shown}; --check takes a Python file with a function `reference`"
        )
        .into());
    }
    if let Some(arch) = args
        .arch
        .filter(|arch| hipward_emulator::Arch::named(arch.name()).is_none())
    {
        let name = arch.name();
        return Err(format!(
            "{name} cannot be executed; pass gfx90a, gfx942 or gfx950 with --arch"
        )
        .into());
    }
    let scratch = temporary_folder().map_err(|error| {
        format!("cannot create a temporary folder: {error}; set TMPDIR to a folder with free space")
    })?;
    let mut package = Package::new(args, &scratch);
    let code = Code::read(args, &mut package)?;
    if let Some(path) = &args.listing {
        fs::write(path, &code.listing).map_err(|error| {
            let shown = path.display();
            format!("cannot write {shown}: {error}; pass another file with --listing")
        })?;
    }
    let listing =
        Listing::parse(&code.listing).map_err(|error| code.explain(None, &error, WHOLE))?;
    if let Some(arch) = args.arch.filter(|arch| arch.name() != listing.arch.name()) {
        let (file, found) = (args.file.display(), listing.arch.name());
        return Err(format!(
            "{file} is for {found}, not for {}; leave out --arch, or compile the kernel for it",
            arch.name()
        )
        .into());
    }
    if listing.kernels.is_empty() {
        listing
            .kernel(None)
            .map_err(|error| code.explain(None, &error, WHOLE))?;
    }
    let symbol = spec.symbol(&listing)?;
    let program = Program::new(&listing, Some(&symbol))
        .map_err(|error| code.explain(listing.source(error.line), &error, SUPPORTED))?;

    let values = spec.values(args.args.parent())?;
    spec.check(&program, &values)?;
    let (mut memory, launch, addresses) = prepare(&spec, &values)?;
    let report = emulate(&program, &launch, &mut memory).map_err(|error| {
        let advice = format!("Correct the launch in {}.", args.args.display());
        code.explain(program.source(error.line), &error, &advice)
    })?;
    let mut comparison = Comparison::default();
    if let (Some(reference), None) = (&args.check, &report.error) {
        spec::check_comparable(&values)?;
        let after = contents(&memory, &values, &addresses);
        let folder = scratch.path().join("arrays");
        comparison = reference::compare(reference, &spec, &values, &after, &folder, &mut package)?;
    }
    let mismatches = writers(comparison.differences, &spec, &program, &values)?;
    let outcome = Outcome {
        code: &code,
        program: &program,
        launch: &launch,
        report: &report,
        compared: &comparison.compared,
        mismatches: &mismatches,
    };
    let text = match args.format {
        Format::Text => outcome.text(),
        Format::Json => format!("{:#}\n", outcome.json()),
    };
    // A closed pipe (`| head`) is not an error.
    let _ = io::stdout().write_all(text.as_bytes());
    Ok(outcome.is_failure())
}

/// Memory with the buffers of a launch, and the address of each argument's buffer.
fn prepare(spec: &Spec, values: &[Argument]) -> Result<(Memory, Launch, Vec<Option<u64>>), String> {
    let mut memory = Memory::new();
    let mut addresses = Vec::new();
    let mut arguments = Vec::new();
    for value in values {
        let too_large = || {
            format!(
                "the buffer of argument {} is too large, or there are too many buffers; make its shape smaller",
                value.name
            )
        };
        let address = match &value.contents {
            spec::Contents::Value(_) => None,
            spec::Contents::Buffer(bytes) => {
                Some(memory.add(&value.name, bytes).ok_or_else(too_large)?)
            }
            spec::Contents::Uninitialized(length) => Some(
                memory
                    .add_uninitialized(&value.name, *length)
                    .ok_or_else(too_large)?,
            ),
        };
        arguments.push(match (&value.contents, address) {
            (spec::Contents::Value(bytes), _) => bytes.clone(),
            (_, address) => address.unwrap_or(0).to_le_bytes().to_vec(),
        });
        addresses.push(address);
    }
    let launch = Launch {
        grid: spec.grid,
        workgroup: spec.block,
        arguments,
        dynamic_lds: spec.lds,
        budget: spec.budget,
    };
    Ok((memory, launch, addresses))
}

/// The contents of each argument's buffer.
fn contents(
    memory: &Memory,
    values: &[Argument],
    addresses: &[Option<u64>],
) -> Vec<Option<Vec<u8>>> {
    values
        .iter()
        .zip(addresses)
        .map(|(value, address)| memory.contents((*address)?, value.contents.length()))
        .collect()
}

/// Executes the launch again, and records which lanes store the elements that differ.
fn writers(
    differences: Vec<Difference>,
    spec: &Spec,
    program: &Program,
    values: &[Argument],
) -> Result<Vec<Mismatch>, String> {
    if differences.is_empty() {
        return Ok(Vec::new());
    }
    let (mut memory, launch, addresses) = prepare(spec, values)?;
    let mut watched = Vec::new();
    for difference in &differences {
        let value = values.iter().zip(&addresses);
        let found = value
            .filter(|(value, _)| value.name == difference.name)
            .find_map(|(value, address)| Some((address.as_ref()?, value.itemsize() as u64)));
        let (base, size) = found.map_or((0, 1), |(base, size)| (*base, size));
        let elements = difference.indices.iter();
        watched.push(
            elements
                .map(|index| base + index * size)
                .collect::<Vec<u64>>(),
        );
    }
    memory.watch(watched.iter().flatten().copied());
    emulate(program, &launch, &mut memory).map_err(|error| error.to_string())?;
    Ok(differences
        .into_iter()
        .zip(watched)
        .map(|(difference, addresses)| Mismatch {
            difference,
            writers: addresses
                .into_iter()
                .map(|address| memory.writer(address))
                .collect(),
        })
        .collect())
}

/// The Python package, unpacked at its first use: assembly text without a reference needs no Python.
struct Package<'a> {
    args: &'a Args,
    scratch: &'a TempDir,
    folder: Option<PathBuf>,
}

impl<'a> Package<'a> {
    fn new(args: &'a Args, scratch: &'a TempDir) -> Self {
        Self {
            args,
            scratch,
            folder: None,
        }
    }

    /// A command that runs a module of the package.
    fn module(&mut self, name: &str) -> Result<std::process::Command, Box<dyn Error>> {
        let folder = match &self.folder {
            Some(folder) => folder,
            None => self.folder.insert(python::unpack(self.scratch.path())?),
        };
        let mut command = std::process::Command::new(python::find(self.args.python.clone()));
        command
            .args(["-P", "-m", name])
            .env("PYTHONPATH", folder)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env_remove(crate::TOKEN_VARIABLE)
            .env_remove(crate::DATABASE_VARIABLE);
        Ok(command)
    }
}

/// The error if a program of Python does not start.
fn not_started(command: &std::process::Command, error: &io::Error) -> String {
    let program = command.get_program().to_string_lossy();
    format!("cannot run {program}: {error}; pass a Python with Triton with --python")
}
