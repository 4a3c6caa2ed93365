//! Reads assembly text as Triton (`asm["amdgcn"]`) and clang (`-S`) print it: instructions, labels, source lines, kernel
//! descriptors and the metadata of arguments.

pub(crate) mod data;
mod descriptor;
mod metadata;
pub(crate) mod operand;
pub(crate) mod text;

use std::collections::{BTreeMap, HashMap};

pub use descriptor::Descriptor;
pub use metadata::{Argument, ArgumentKind};

use crate::arch::Arch;
use crate::error::{Error, Result};
use text::Text;

/// Longest listing, in bytes.
const LONGEST: usize = 64 << 20;

/// The contents of an assembly file.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The architecture of `.amdgcn_target`.
    pub arch: Arch,
    /// The kernels, in the order of their descriptors.
    pub kernels: Vec<Kernel>,
    /// Number of lines.
    lines: u32,
    pub(crate) data: data::Data,
}

/// A kernel of a listing.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// Its symbol.
    pub name: String,
    /// Line of its label in the listing.
    pub line: u32,
    /// Its `.amdhsa_kernel` block.
    pub descriptor: Descriptor,
    /// Its arguments, in the order of the metadata.
    pub arguments: Vec<Argument>,
    /// Largest number of threads of a workgroup, from the metadata.
    pub largest_workgroup: u32,
    /// The code of the kernel and of the functions that it can call, in the order of the listing.
    pub(crate) code: Vec<Text>,
    pub(crate) labels: HashMap<String, usize>,
    /// Position of the kernel's first instruction.
    pub(crate) entry: usize,
}

/// A line of the source that an instruction comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The file's name, as the compiler wrote it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

struct Reader<'a> {
    arch: Option<Arch>,
    files: HashMap<&'a str, String>,
    source: Option<SourceLine>,
    code: Vec<Text>,
    labels: Vec<(String, usize, u32)>,
    data: data::Data,
    descriptors: Vec<(String, Descriptor)>,
}

impl Listing {
    /// Parses a listing.
    ///
    /// # Errors
    ///
    /// The text has no target, a target that cannot be executed, or a damaged block.
    pub fn parse(text: &str) -> std::result::Result<Self, Error> {
        if text.len() > LONGEST {
            return Err(Error::new(
                1,
                format!("the listing is longer than {} MiB", LONGEST >> 20),
            ));
        }
        let mut reader = Reader {
            arch: None,
            files: HashMap::new(),
            source: None,
            code: Vec::new(),
            labels: Vec::new(),
            data: data::Data::default(),
            descriptors: Vec::new(),
        };
        let mut metadata = metadata::Metadata::default();
        let mut lines = text.lines().zip(1u32..);
        while let Some((original, number)) = lines.next() {
            let line = text::without_comment(original).trim_end();
            let word = line.trim_start();
            if word.is_empty() {
            } else if word.starts_with(".amdgpu_metadata") {
                metadata.parse(&mut lines, number)?;
            } else if let Some(name) = word.strip_prefix(".amdhsa_kernel ") {
                let block = Descriptor::parse(&mut lines, number)?;
                reader.descriptors.push((name.trim().to_owned(), block));
            } else {
                reader.line(word, original, number)?;
            }
        }
        reader.finish(metadata, text.lines().count().max(1) as u32)
    }

    /// The kernel with a name, or the only one if `name` is `None`.
    ///
    /// # Errors
    ///
    /// There is no such kernel, or several and no name.
    pub fn kernel(&self, name: Option<&str>) -> std::result::Result<&Kernel, Error> {
        let names = || {
            self.kernels
                .iter()
                .map(|kernel| kernel.name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        match (name, self.kernels.as_slice()) {
            (None, [kernel]) => Ok(kernel),
            (_, []) => Err(Error::new(
                self.lines,
                "the listing ends here without a kernel: there is no .amdhsa_kernel block",
            )),
            (None, [first, ..]) => Err(Error::new(
                first.line,
                format!(
                    "this is the first of several kernels; name one: {}",
                    names()
                ),
            )),
            (Some(name), [first, ..]) => {
                let found = self.kernels.iter().find(|kernel| kernel.name == name);
                found.ok_or_else(|| {
                    let message = format!("the listing has no kernel {name}; it has: {}", names());
                    Error::new(first.line, message)
                })
            }
        }
    }
}

impl Listing {
    /// Line of the source for the line of an instruction, if the listing has it.
    #[must_use]
    pub fn source(&self, line: u32) -> Option<&SourceLine> {
        let mut code = self.kernels.iter().flat_map(|kernel| &kernel.code);
        code.find(|text| text.line == line)?.source.as_ref()
    }
}

impl<'a> Reader<'a> {
    fn line(&mut self, word: &'a str, original: &str, number: u32) -> Result<()> {
        self.data.section(word);
        if self.data.is_active() {
            match label(word) {
                Some(name) => self.data.label(name),
                None => self.data.line(word, number),
            }
            return Ok(());
        }
        if let Some(target) = word.strip_prefix(".amdgcn_target") {
            let target = target.trim().trim_matches('"');
            let name = target.rsplit('-').next().unwrap_or_default();
            let name = name.split(':').next().unwrap_or_default();
            self.arch = Some(Arch::named(name).ok_or_else(|| {
                Error::new(
                    number,
                    format!("{name} cannot be executed; gfx90a, gfx942 and gfx950 can"),
                )
            })?);
        } else if let Some(rest) = word.strip_prefix(".file") {
            let mut parts = rest.trim().splitn(2, char::is_whitespace);
            if let (Some(id), Some(names)) = (parts.next(), parts.next()) {
                // Directory and name are in quotes; a checksum can follow.
                let name = names.split('"').skip(1).step_by(2).last();
                let name = name.unwrap_or_default();
                self.files.insert(id, name.to_owned());
            }
        } else if let Some(rest) = word.strip_prefix(".loc") {
            let mut parts = rest.split_whitespace();
            let file = parts.next().and_then(|id| self.files.get(id));
            let line = parts
                .next()
                .and_then(|line| line.parse().ok())
                .filter(|line| *line > 0);
            if let Some(caller) = caller_of_inlined(original) {
                self.source = Some(caller);
            } else if let (Some(file), Some(line)) = (file, line) {
                self.source = Some(SourceLine {
                    file: file.clone(),
                    line,
                });
            }
        } else if let Some(label) = label(word) {
            self.labels
                .push((label.to_owned(), self.code.len(), number));
        } else if self.data.is_code() && (!word.starts_with('.') || is_code(word)) {
            self.code
                .push(Text::parse(word, number, self.source.clone()));
        }
        Ok(())
    }

    fn finish(mut self, mut metadata: metadata::Metadata, last: u32) -> Result<Listing> {
        let arch = self.arch.ok_or_else(|| {
            Error::new(last, "the listing ends here without an .amdgcn_target line: it is not the assembly text of an AMD kernel, or only a part of it")
        })?;
        let mut kernels = Vec::new();
        for (name, descriptor) in std::mem::take(&mut self.descriptors) {
            let Some(at) = self.labels.iter().position(|(label, _, _)| *label == name) else {
                return Err(Error::new(
                    descriptor.line,
                    format!("the kernel {name} has a descriptor but no code"),
                ));
            };
            let (code, labels, entry) = self.linked(at);
            let Some(about) = metadata.kernels.remove(&name) else {
                return Err(Error::new(
                    descriptor.line,
                    format!(
                        "the kernel {name} has no entry in .amdgpu_metadata; its arguments are unknown"
                    ),
                ));
            };
            kernels.push(Kernel {
                code,
                labels,
                entry,
                line: self.labels[at].2,
                descriptor,
                arguments: about.arguments,
                largest_workgroup: about.largest_workgroup,
                name,
            });
        }
        Ok(Listing {
            arch,
            kernels,
            lines: last,
            data: self.data,
        })
    }

    /// The code of a kernel, whose label is at `kernel`, and of the functions that it can call, with the labels in it and
    /// the position of the kernel.
    fn linked(&self, kernel: usize) -> (Vec<Text>, HashMap<String, usize>, usize) {
        let functions: HashMap<&str, usize> = self
            .labels
            .iter()
            .enumerate()
            .filter(|(_, (label, _, _))| !label.starts_with(".L"))
            .map(|(at, (label, _, _))| (label.as_str(), at))
            .collect();
        // Position of the label, of the label after it that ends the function, and the instructions between them.
        let mut found = BTreeMap::new();
        let mut open = vec![kernel];
        while let Some(at) = open.pop() {
            if found.contains_key(&at) {
                continue;
            }
            let start = self.labels[at].1;
            let last = self.labels[at..]
                .iter()
                .position(|(label, _, _)| label.starts_with(".Lfunc_end"))
                .map_or(self.labels.len(), |count| at + count + 1);
            let end = if last == self.labels.len()
                && !self.labels[last - 1].0.starts_with(".Lfunc_end")
            {
                self.code.len()
            } else {
                self.labels[last - 1].1
            };
            found.insert(at, (last, start..end));
            let mut uses_data = false;
            for word in self.code[start..end].iter().flat_map(|text| &text.operands) {
                if let Some((symbol, _)) = relocation(word) {
                    open.extend(functions.get(symbol));
                    uses_data |= self.data.symbols.contains_key(symbol);
                }
            }
            if uses_data {
                // Tables of functions.
                let symbols = self.data.addresses.iter().map(|(_, symbol, _, _)| symbol);
                open.extend(symbols.filter_map(|symbol| functions.get(symbol.as_str())));
            }
        }
        let (mut code, mut labels, mut entry) = (Vec::new(), HashMap::new(), 0);
        for (at, (last, range)) in found {
            let offset = code.len();
            if at == kernel {
                entry = offset;
            }
            for (label, index, _) in &self.labels[at..last] {
                labels.insert(label.clone(), index - range.start + offset);
            }
            code.extend_from_slice(&self.code[range]);
        }
        (code, labels, entry)
    }
}

/// A symbol whose address the code computes, and how.
pub(crate) fn relocation(word: &str) -> Option<(&str, &str)> {
    word.split_once("@rel32@")
        .or_else(|| word.split_once("@gotpcrel32@"))
}

/// The line in a file with a relative path into which the code of a header, which has an absolute path, was inlined.
///
/// Compilers print the calls in the comment of `.loc`: `/usr/include/a.h:264:58 @[ /usr/include/b.h:96:27 @[ x.hip:4:24 ] ]`.
fn caller_of_inlined(line: &str) -> Option<SourceLine> {
    let (_, comment) = line.split_once(';')?;
    let mut frames = comment
        .split("@[")
        .map(|frame| frame.trim().trim_end_matches([']', ' ']));
    if !frames.next()?.starts_with('/') {
        return None;
    }
    let frame = frames.find(|frame| !frame.starts_with('/'))?;
    let mut parts = frame.rsplitn(3, ':');
    let (_column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
    let line = line.parse().ok().filter(|line| *line > 0)?;
    let file = file.strip_prefix("./").unwrap_or(file).to_owned();
    Some(SourceLine { file, line })
}

/// Whether a directive stands for bytes or lines, which would be instructions if it is in the code of a kernel. Like any
/// word that is no instruction, it is refused when the kernel is decoded.
fn is_code(directive: &str) -> bool {
    const STARTS: [&str; 16] = [
        ".byte", ".short", ".2byte", ".word", ".long", ".int", ".4byte", ".quad", ".8byte",
        ".octa", ".inst", ".inc", ".macro", ".rept", ".irp", ".if",
    ];
    STARTS.iter().any(|start| directive.starts_with(start))
}

/// The name of a label, if the line is one.
fn label(word: &str) -> Option<&str> {
    let name = word.strip_suffix(':')?;
    let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '@');
    (!name.is_empty() && name.chars().all(valid)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inlined_header_code_has_the_line_of_its_caller() {
        let caller = |line| caller_of_inlined(line).map(|source| (source.file, source.line));
        let inlined = "\t.loc\t1 264 58 ; /a/b.h:264:58 @[ /a/c.h:296:27 @[ ./x.hip:4:24 ] ]";
        assert_eq!(caller(inlined), Some(("x.hip".to_owned(), 4)));
        for other in [
            "\t.loc\t0 4 22 ; x.hip:4:22",
            "\t.loc\t0 4 22 ; x.hip:4:22 @[ y.hip:5:1 ]",
            "\t.loc\t1 264 58 ; /a/b.h:264:58",
            "\t.loc\t1 264 58 ; /a/b.h:264:58 @[ x.hip",
            "\t.loc\t1 264 58",
        ] {
            assert_eq!(caller(other), None, "{other}");
        }
    }
}
