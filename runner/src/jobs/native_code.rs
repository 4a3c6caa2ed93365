//! Marks snippets with code in C, which can change the process that measures it without a trace.

use hipward_protocol::{EventBody, Measurement};

/// Names by which Python loads code in C, or accesses memory directly.
const NAMES: &[&str] = &[
    "ctypes",
    "cffi",
    "cpp_extension",
    "load_inline",
    "load_library",
    "ExtensionFileLoader",
];

/// The warning in the result of such a snippet.
pub(super) fn warning(code: &str) -> Option<EventBody> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let named = code
        .split(|c| !is_part(c))
        .find(|word| NAMES.contains(word))?;
    Some(EventBody::Measured(Measurement::Warning {
        text: format!(
            "The snippet uses {named}, so it can contain code in C. No check covers what such code does to the process that measures it: read it before you trust the result."
        ),
    }))
}

#[cfg(test)]
mod tests {
    use super::warning;

    #[test]
    fn code_that_names_a_way_to_load_c_is_marked() {
        assert!(warning("import ctypes\n").is_some());
        assert!(warning("from torch.utils import cpp_extension as c").is_some());
        assert!(warning("getattr(m, 'ctypes')").is_some());
        assert!(warning("my_ctypes = load_inlined").is_none());
    }
}
