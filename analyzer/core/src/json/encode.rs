//! Encodes answers as JSON, in the same form as serde. A test compares the two.
//!
//! Written by hand, because serde's derived code for a dozen types is larger than three rules.

use crate::fix::{Applied, FixedSource};
use crate::report::{
    Applicability, Arch, Contract, DiffKind, DiffLine, Edit, Finding, Fix, HandledBy, Language,
    Note, Position, Report, Severity, Span, Target, Version,
};
use crate::report::{
    Effort, EffortItem, FamilyCount, JudgedCondition, Judgement, PortedFile, Summary,
};
use crate::rule::{Family, RuleMeta};

/// A value that can be encoded as JSON.
pub trait Encode {
    /// Appends the JSON encoding.
    fn encode(&self, out: &mut String);
}

/// The JSON encoding of `value`.
pub fn encode(value: &dyn Encode) -> String {
    let mut out = String::new();
    value.encode(&mut out);
    out
}

/// An object with these fields.
pub fn object(out: &mut String, fields: &[(&str, &dyn Encode)]) {
    let mut before = '{';
    for (name, value) in fields {
        out.push(before);
        name.encode(out);
        out.push(':');
        value.encode(out);
        before = ',';
    }
    out.push('}');
}

impl Encode for str {
    fn encode(&self, out: &mut String) {
        out.push('"');
        for character in self.chars() {
            match character {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                '\0'..'\u{20}' => {
                    out.push_str("\\u00");
                    for digit in [character as u32 >> 4, character as u32 & 15] {
                        out.extend(char::from_digit(digit, 16));
                    }
                }
                _ => out.push(character),
            }
        }
        out.push('"');
    }
}

impl Encode for &str {
    fn encode(&self, out: &mut String) {
        (**self).encode(out);
    }
}

impl Encode for String {
    fn encode(&self, out: &mut String) {
        self.as_str().encode(out);
    }
}

impl Encode for usize {
    fn encode(&self, out: &mut String) {
        out.push_str(&self.to_string());
    }
}

impl Encode for u32 {
    fn encode(&self, out: &mut String) {
        (*self as usize).encode(out);
    }
}

impl Encode for bool {
    fn encode(&self, out: &mut String) {
        out.push_str(if *self { "true" } else { "false" });
    }
}

impl<T: Encode> Encode for Option<T> {
    fn encode(&self, out: &mut String) {
        match self {
            Some(value) => value.encode(out),
            None => out.push_str("null"),
        }
    }
}

impl<T: Encode> Encode for [T] {
    fn encode(&self, out: &mut String) {
        out.push('[');
        for (index, item) in self.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            item.encode(out);
        }
        out.push(']');
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn encode(&self, out: &mut String) {
        self.as_slice().encode(out);
    }
}

impl<T: Encode> Encode for &[T] {
    fn encode(&self, out: &mut String) {
        (**self).encode(out);
    }
}

/// Types that are encoded as objects with their fields.
macro_rules! objects {
    ($($type:ident { $($field:ident),+ })+) => {
        $(impl Encode for $type {
            fn encode(&self, out: &mut String) {
                object(out, &[$((stringify!($field), &self.$field)),+]);
            }
        })+
    };
}

/// Types that are encoded as a string per variant.
macro_rules! words {
    ($($type:ident { $($variant:ident = $word:literal),+ })+) => {
        $(impl Encode for $type {
            fn encode(&self, out: &mut String) {
                match self { $($type::$variant => $word),+ }.encode(out);
            }
        })+
    };
}

crate::report_structs!(objects);
objects! {
    Applied { source, applied }
    FixedSource { source, applied }
}

/// The minimum and maximum.
impl Encode for (u32, u32) {
    fn encode(&self, out: &mut String) {
        [self.0, self.1].as_slice().encode(out);
    }
}

words! {
    Severity { Error = "error", Warning = "warning", Advice = "advice", Info = "info" }
    HandledBy { You = "you", Hipify = "hipify", RocmWheel = "rocm-wheel" }
    Applicability { Safe = "safe", Unsafe = "unsafe", DisplayOnly = "display-only" }
    DiffKind { Equal = "equal", Removed = "removed", Added = "added", Gap = "gap" }
}

words! {
    Family {
        BuildFiles = "build-files",
        VendorLibraries = "vendor-libraries",
        Environment = "environment",
        BackendCode = "backend-code",
        PythonVersion = "python-version",
        Compile = "compile",
        ModelPerformance = "model-performance",
        Triton = "triton",
        Measuring = "measuring",
        CudaCpp = "cuda-cpp"
    }
}

impl Encode for Language {
    fn encode(&self, out: &mut String) {
        self.name().encode(out);
    }
}

impl Encode for Version {
    fn encode(&self, out: &mut String) {
        self.to_string().encode(out);
    }
}

impl Encode for Arch {
    fn encode(&self, out: &mut String) {
        self.name().encode(out);
    }
}

impl Encode for &RuleMeta {
    fn encode(&self, out: &mut String) {
        let fields: [(&str, &dyn Encode); 9] = [
            ("id", &self.id),
            ("name", &self.name),
            ("title", &self.title),
            ("family", &self.family),
            ("severity", &self.severity),
            ("languages", &self.languages),
            ("targets", &self.targets),
            ("applicability", &self.applicability),
            ("lesson", &self.lesson),
        ];
        object(out, &fields);
    }
}
