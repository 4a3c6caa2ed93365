//! The kernel descriptor: `.amdhsa_kernel` … `.end_amdhsa_kernel`.

use std::collections::HashMap;

use super::text::{integer, without_comment};
use crate::error::{Error, Result};

/// Bytes of private memory for calls whose depth the compiler does not know: recursion, and calls of pointers.
const STACK: u32 = 16 << 10;

/// The directives of a kernel descriptor that decide a wavefront's initial state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// Line of `.amdhsa_kernel` in the listing.
    pub line: u32,
    /// Bytes of LDS that the code declares; a launch can add more.
    pub lds_bytes: u32,
    /// Bytes of private memory of a work-item. If the compiler does not know the depth of calls, 16 KiB for its stack are included.
    pub private_bytes: u32,
    /// Value and line of each directive.
    values: HashMap<String, (u32, u32)>,
}

impl Descriptor {
    pub(super) fn parse<'a>(
        lines: &mut impl Iterator<Item = (&'a str, u32)>,
        start: u32,
    ) -> Result<Self> {
        let mut values = HashMap::<String, (u32, u32)>::new();
        for (line, number) in lines {
            let line = without_comment(line).trim();
            if line.starts_with(".end_amdhsa_kernel") {
                let get = |name: &str| values.get(name).map_or(0, |(value, _)| *value);
                return Ok(Self {
                    line: start,
                    lds_bytes: get("group_segment_fixed_size"),
                    private_bytes: get("private_segment_fixed_size")
                        .saturating_add(STACK * u32::from(get("uses_dynamic_stack") != 0)),
                    values,
                });
            }
            let Some((name, value)) = line
                .strip_prefix(".amdhsa_")
                .and_then(|rest| rest.split_once(char::is_whitespace))
            else {
                continue;
            };
            // Register counts may be expressions of symbols; they do not change the execution.
            match integer(value.trim()).and_then(|value| u32::try_from(value).ok()) {
                Some(value) => {
                    values.insert(name.to_owned(), (value, number));
                }
                None if name.contains("next_free")
                    || name.contains("accum_offset")
                    || name.contains("reserve") => {}
                None => {
                    let message = format!(
                        ".amdhsa_{name} has the value {}, which is not an integer",
                        value.trim()
                    );
                    return Err(Error::new(number, message));
                }
            }
        }
        Err(Error::new(
            start,
            "the .amdhsa_kernel block has no end: the listing is incomplete",
        ))
    }

    pub(crate) fn get(&self, name: &str) -> u32 {
        self.get_or(name, 0)
    }

    pub(crate) fn get_or(&self, name: &str, default: u32) -> u32 {
        self.find(name).unwrap_or(default)
    }

    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        self.values.get(name).map(|(value, _)| *value)
    }

    /// Line of a directive; that of the block if it is missing.
    pub(crate) fn line_of(&self, name: &str) -> u32 {
        self.values.get(name).map_or(self.line, |(_, line)| *line)
    }
}
