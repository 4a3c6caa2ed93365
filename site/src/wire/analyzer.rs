//! The answers of the analyzer.

use super::{Decode, Json, decode_enum, decode_struct};
use hipward_analyzer_core::{
    Applicability, Arch, Contract, DiffKind, DiffLine, Edit, Effort, EffortItem, FamilyCount,
    Finding, Fix, HandledBy, JudgedCondition, Judgement, Language, Note, PortedFile, Position,
    Report, Severity, Span, Summary, Target, Version,
};

macro_rules! decode_structs {
    ($($type:ident { $($field:ident),+ })+) => {
        $(decode_struct!($type { $($field),+ });)+
    };
}
hipward_analyzer_core::report_structs!(decode_structs);

decode_enum!(Severity {
    "error" => Error, "warning" => Warning, "advice" => Advice, "info" => Info,
});
decode_enum!(HandledBy { "you" => You, "hipify" => Hipify, "rocm-wheel" => RocmWheel });
decode_enum!(Applicability {
    "safe" => Safe, "unsafe" => Unsafe, "display-only" => DisplayOnly,
});
decode_enum!(DiffKind {
    "equal" => Equal, "removed" => Removed, "added" => Added, "gap" => Gap,
});

impl Decode for Language {
    fn decode(json: &impl Json) -> Option<Self> {
        Language::of_name(&json.string()?)
    }
}

impl Decode for Arch {
    fn decode(json: &impl Json) -> Option<Self> {
        Arch::of_name(&json.string()?)
    }
}

impl Decode for Version {
    fn decode(json: &impl Json) -> Option<Self> {
        Version::try_from(json.string()?).ok()
    }
}
