//! The machine code of a kernel: read as assembly text, or compiled from HIP or CUDA by clang.

use super::{Args, Package, not_started};
use hipward_analyzer::{Applicability, Arch, Language, Options, fix_all};
use hipward_emulator::SourceLine;
use serde_json::Value;
use std::{error::Error, fs, path::Path};

/// Name under which the compiler sees each source.
const COMPILED_NAME: &str = "kernel.hip";

/// Most characters of a line in a message.
const SHOWN: usize = 100;

/// Assembly text, and the source from which it was compiled.
pub(super) struct Code {
    /// The assembly text.
    pub(super) listing: String,
    /// Name of the source, as the user passed it.
    pub(super) file: String,
    /// The compiled source; for CUDA after the fixes. `None` for assembly text.
    pub(super) source: Option<String>,
    /// Number of fixes that made HIP of CUDA.
    pub(super) fixes: usize,
}

impl Code {
    /// Reads a file, and compiles it unless it is assembly text.
    pub(super) fn read(args: &Args, package: &mut Package<'_>) -> Result<Code, Box<dyn Error>> {
        let file = args.file.display().to_string();
        let text = fs::read(&args.file).map_err(|error| {
            format!("cannot read {file}: {error}; pass a file with HIP, CUDA or assembly text")
        })?;
        let text = String::from_utf8(text).map_err(|_| {
            format!(
                "{file} is not UTF-8 text; pass the source or the assembly text, not compiled code"
            )
        })?;
        let suffix = args.file.extension().and_then(|suffix| suffix.to_str());
        let arch = args.arch.unwrap_or(Arch::Gfx942);
        let (source, fixes) = match suffix {
            Some("s" | "S" | "asm" | "amdgcn") => {
                return Ok(Code {
                    listing: text,
                    file,
                    source: None,
                    fixes: 0,
                });
            }
            Some("hip" | "cpp" | "cc" | "cxx") => (text, 0),
            Some("cu") => hipified(&text, arch, args.unsafe_fixes),
            Some("py") => {
                return Err(format!(
                    "{file} is Python. To execute a Triton kernel, call hipward_kernels.emulate.launch"
                )
                .into());
            }
            _ => {
                return Err(format!(
                    "{file} has an unknown suffix; HIP is .hip or .cpp, CUDA is .cu, assembly text is .s"
                )
                .into());
            }
        };
        let listing = compile(&source, arch, package).map_err(|message| {
            let hint = match suffix {
                Some("cu") if !args.unsafe_fixes => {
                    "\nOnly the safe fixes were applied; --unsafe-fixes applies the others, and `hipward check` lists them."
                }
                _ => "",
            };
            format!("{file} does not compile for {}:\n{}{hint}", arch.name(), message.replace(COMPILED_NAME, &file))
        })?;
        Ok(Code {
            listing,
            file,
            source: Some(source),
            fixes,
        })
    }

    /// The name of a source file in a finding, as the user knows it; `None` for another file, such as a header.
    pub(super) fn own<'a>(&'a self, file: &'a str) -> Option<&'a str> {
        if self.source.is_none() {
            return Some(file);
        }
        (file == COMPILED_NAME).then_some(&self.file)
    }

    /// A line of the source, from 1.
    pub(super) fn line(&self, number: u32) -> Option<&str> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        self.source.as_ref()?.lines().nth(at)
    }

    /// An error of the emulator with the text of its line, since the user may not have the listing, with the line of the
    /// source, and with what to do.
    pub(super) fn explain(
        &self,
        source: Option<&SourceLine>,
        error: &hipward_emulator::Error,
        advice: &str,
    ) -> String {
        let source = source.and_then(|source| Some((self.own(&source.file)?, source.line)));
        let source = source.map_or_else(String::new, |(file, line)| format!(" ({file}:{line})"));
        let message = &error.message;
        let Some(at) = error.line.checked_sub(1) else {
            return format!("{message}. {advice}");
        };
        let text = self.listing.lines().nth(at as usize).unwrap_or_default();
        let text = text.split(';').next().unwrap_or(text).trim();
        let text: String = text.chars().take(SHOWN).collect();
        let text = match text.as_str() {
            "" => String::new(),
            text => format!(", `{}`", text.replace('\t', " ")),
        };
        format!(
            "line {} of the assembly text{text}{source}: {message}. {advice}",
            error.line
        )
    }
}

/// CUDA after the fixes of the analyzer, and their number.
fn hipified(source: &str, arch: Arch, unsafe_fixes: bool) -> (String, usize) {
    let mut options = Options::default();
    options.target.arch = arch;
    options.language = Some(Language::CudaCpp);
    options.pytorch_extension = Some(false);
    let up_to = if unsafe_fixes {
        Applicability::Unsafe
    } else {
        Applicability::Safe
    };
    let fixed = fix_all(source, &options, up_to);
    (fixed.source, fixed.applied)
}

/// Compiles HIP with the compiler of the Python package. The error is the compiler's.
fn compile(source: &str, arch: Arch, package: &mut Package<'_>) -> Result<String, String> {
    let path = package.scratch.path().join(COMPILED_NAME);
    // nvcc includes the header of the runtime on its own. `#line` keeps the numbers of the lines.
    let header = if source.contains("hip/hip_runtime.h") {
        String::new()
    } else {
        format!("#include <hip/hip_runtime.h>\n#line 1 \"{COMPILED_NAME}\"\n")
    };
    fs::write(&path, header + source).map_err(|error| {
        let shown = path.display();
        format!("cannot write {shown}: {error}; set TMPDIR to a folder with free space")
    })?;
    answer(&path, arch, package).map_err(|error| error.to_string())
}

fn answer(path: &Path, arch: Arch, package: &mut Package<'_>) -> Result<String, Box<dyn Error>> {
    let mut command = package.module("hipward_kernels.compile")?;
    command.arg(path).args(["--arch", arch.name(), "--json"]);
    let output = command
        .output()
        .map_err(|error| not_started(&command, &error))?;
    let Ok(answer) = serde_json::from_slice::<Value>(&output.stdout) else {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(match errors.trim() {
            "" => format!(
                "the compiler ended with {}; `hipward doctor` reports what this host lacks",
                output.status
            )
            .into(),
            errors => errors.into(),
        });
    };
    let target = &answer["targets"][0];
    if let Some(message) = target["error"]["message"].as_str() {
        return Err(match target["error"]["help"].as_str() {
            Some(help) if !help.starts_with("See ") => format!("{message} {help}").into(),
            _ => message.into(),
        });
    }
    let listing = target["texts"]["amdgcn"].as_str();
    Ok(listing
        .ok_or(
            "the compiler returned no assembly text; `hipward doctor` reports what this host lacks",
        )?
        .to_owned())
}
