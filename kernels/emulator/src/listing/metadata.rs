//! The arguments of each kernel, from the YAML between `.amdgpu_metadata` and `.end_amdgpu_metadata`.

use std::collections::HashMap;

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

impl Metadata {
    /// Reads lines up to `.end_amdgpu_metadata`. Keys of arguments are indented deeper than those of kernels.
    pub(super) fn parse<'a>(&mut self, lines: &mut impl Iterator<Item = (&'a str, u32)>) {
        let (mut about, mut name) = (About::default(), None::<String>);
        let mut argument: Option<HashMap<String, String>> = None;
        let mut in_arguments = false;
        for (line, _) in lines {
            let text = line.trim();
            if text.starts_with(".end_amdgpu_metadata") {
                break;
            }
            let indent = line.len() - line.trim_start().len();
            let starts_kernel = indent <= 2 && text.starts_with("- ");
            if starts_kernel || indent == 0 {
                about.arguments.extend(argument.take().and_then(finished));
                if let Some(name) = name.take() {
                    self.kernels.insert(name, std::mem::take(&mut about));
                }
                about = About::default();
                in_arguments = false;
            }
            let starts_argument = in_arguments && indent > 4 && text.starts_with("- ");
            if in_arguments && indent <= 4 && !text.starts_with("- ") {
                in_arguments = false;
                about.arguments.extend(argument.take().and_then(finished));
            }
            if starts_argument {
                about
                    .arguments
                    .extend(argument.replace(HashMap::new()).and_then(finished));
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
                    argument.insert(key.to_owned(), value);
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
        about.arguments.extend(argument.take().and_then(finished));
        if let Some(name) = name {
            self.kernels.insert(name, about);
        }
    }
}

fn finished(keys: HashMap<String, String>) -> Option<Argument> {
    let kind = match keys.get(".value_kind")?.as_str() {
        "global_buffer" => ArgumentKind::Buffer,
        "by_value" => ArgumentKind::Value,
        hidden if hidden.starts_with("hidden_") => ArgumentKind::Hidden(hidden.to_owned()),
        other => ArgumentKind::Other(other.to_owned()),
    };
    let (offset, size) = (
        keys.get(".offset")?.parse().ok()?,
        keys.get(".size")?.parse().ok()?,
    );
    Some(Argument {
        name: keys.get(".name").cloned(),
        offset,
        size,
        kind,
    })
}
