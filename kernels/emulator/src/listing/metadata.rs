//! The arguments of each kernel, from the YAML between `.amdgpu_metadata` and `.end_amdgpu_metadata`.

use std::collections::HashMap;

use crate::error::{Error, Result};

/// An argument in the kernarg segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The parameter's name, if the compiler recorded it.
    pub name: Option<String>,
    /// Byte offset in the kernarg segment.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// What it contains.
    pub kind: ArgumentKind,
    /// Line of the listing at which its description starts.
    pub line: u32,
}

/// What an argument contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// The address of a buffer.
    Buffer,
    /// A value.
    Value,
    /// A value that the runtime provides, such as `hidden_block_count_x`.
    Hidden(String),
    /// A kind that the emulator does not provide.
    Other(String),
}

#[derive(Default)]
pub(super) struct Metadata {
    pub(super) kernels: HashMap<String, About>,
}

#[derive(Default)]
pub(super) struct About {
    pub(super) arguments: Vec<Argument>,
    pub(super) largest_workgroup: u32,
}

/// The keys of an argument, and the line at which they start.
#[derive(Default)]
struct Keys {
    line: u32,
    values: HashMap<String, String>,
}

impl About {
    /// Adds the argument that has ended.
    fn end(&mut self, argument: Option<Keys>) -> Result<()> {
        if let Some(keys) = argument {
            self.arguments.push(keys.argument()?);
        }
        Ok(())
    }
}

impl Metadata {
    /// Reads lines up to `.end_amdgpu_metadata`. Keys of arguments are indented deeper than those of kernels.
    pub(super) fn parse<'a>(
        &mut self,
        lines: &mut impl Iterator<Item = (&'a str, u32)>,
        start: u32,
    ) -> Result<()> {
        let (mut about, mut name) = (About::default(), None::<String>);
        let mut argument: Option<Keys> = None;
        let mut in_arguments = false;
        let mut has_end = false;
        for (line, number) in lines {
            let text = line.trim();
            if text.starts_with(".end_amdgpu_metadata") {
                has_end = true;
                break;
            }
            let indent = line.len() - line.trim_start().len();
            let starts_kernel = indent <= 2 && text.starts_with("- ");
            if starts_kernel || indent == 0 {
                about.end(argument.take())?;
                if let Some(name) = name.take() {
                    self.kernels.insert(name, std::mem::take(&mut about));
                }
                about = About::default();
                in_arguments = false;
            }
            let starts_argument = in_arguments && indent > 4 && text.starts_with("- ");
            if in_arguments && indent <= 4 && !text.starts_with("- ") {
                in_arguments = false;
                about.end(argument.take())?;
            }
            if starts_argument {
                about.end(argument.take())?;
                argument = Some(Keys {
                    line: number,
                    values: HashMap::new(),
                });
            }
            let entry = text.strip_prefix("- ").unwrap_or(text).trim();
            let Some((key, value)) = entry.split_once(':') else {
                continue;
            };
            let value = value
                .trim()
                .trim_matches(|c| c == '\'' || c == '"')
                .to_owned();
            if in_arguments {
                if let Some(argument) = &mut argument {
                    argument.values.insert(key.to_owned(), value);
                }
                continue;
            }
            match key {
                ".args" => in_arguments = true,
                ".name" => name = Some(value),
                ".max_flat_workgroup_size" => about.largest_workgroup = value.parse().unwrap_or(0),
                _ => {}
            }
        }
        if !has_end {
            return Err(Error::new(
                start,
                "the .amdgpu_metadata block has no end: the listing is incomplete",
            ));
        }
        about.end(argument)?;
        if let Some(name) = name {
            self.kernels.insert(name, about);
        }
        Ok(())
    }
}

impl Keys {
    fn argument(self) -> Result<Argument> {
        let kind = match self.get(".value_kind", Some)? {
            "global_buffer" => ArgumentKind::Buffer,
            "by_value" => ArgumentKind::Value,
            hidden if hidden.starts_with("hidden_") => ArgumentKind::Hidden(hidden.to_owned()),
            other => ArgumentKind::Other(other.to_owned()),
        };
        let number = |key| self.get(key, |value| value.parse().ok());
        Ok(Argument {
            name: self.values.get(".name").cloned(),
            offset: number(".offset")?,
            size: number(".size")?,
            kind,
            line: self.line,
        })
    }

    fn get<'a, T>(&'a self, key: &str, read: impl Fn(&'a str) -> Option<T>) -> Result<T> {
        let value = self.values.get(key).and_then(|value| read(value));
        value.ok_or_else(|| Error::new(self.line, format!("the argument has no valid {key}")))
    }
}
