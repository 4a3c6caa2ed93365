//! The answers of the analyzer.

use super::{Decode, Json, decode_enum, decode_struct};
use hipward_analyzer_core::{
    Applicability, Arch, Contract, DiffKind, DiffLine, Edit, Effort, EffortItem, FamilyCount,
    Finding, Fix, HandledBy, JudgedCondition, Judgement, Language, Note, PortedFile, Position,
    Report, Severity, Span, Summary, Target, Version,
};

decode_struct!(Report {
    schema,
    language,
    target,
    findings,
    suppressed,
    notes,
    contract
});
decode_struct!(Target {
    arch,
    rocm,
    torch,
    python
});
decode_struct!(Finding {
    id,
    rule,
    severity,
    message,
    span,
    handled_by,
    link,
    fix
});
decode_struct!(Fix {
    title,
    applicability,
    edits
});
decode_struct!(Edit { span, text });
decode_struct!(Span { start, end });
decode_struct!(Position {
    byte,
    utf16,
    line,
    column
});
decode_struct!(Note {
    code,
    message,
    line
});
decode_struct!(Judgement { conditions });
decode_struct!(JudgedCondition {
    title,
    met,
    message
});
decode_struct!(Contract {
    model,
    model_new,
    get_inputs,
    get_init_inputs,
    modules
});
decode_struct!(DiffLine {
    kind,
    old,
    new,
    text
});

decode_struct!(Summary {
    files,
    files_with_findings,
    families,
    by_you,
    by_hipify,
    by_rocm_wheel,
    ported,
    effort
});
decode_struct!(FamilyCount {
    family,
    error,
    warning,
    advice,
    info
});
decode_struct!(PortedFile {
    path,
    port,
    findings
});
decode_struct!(Effort {
    minutes,
    items,
    note
});
decode_struct!(EffortItem {
    kind,
    findings,
    minutes_each,
    minutes
});

decode_enum!(Language {
    "python" => Python,
    "notebook" => Notebook,
    "cuda-cpp" => CudaCpp,
    "requirements" => Requirements,
    "pyproject" => Pyproject,
    "dockerfile" => Dockerfile,
    "cmake" => Cmake,
    "shell" => Shell,
    "yaml" => Yaml,
});
decode_enum!(Arch { "gfx90a" => Gfx90a, "gfx942" => Gfx942, "gfx950" => Gfx950 });
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

impl Decode for Version {
    fn decode(json: &impl Json) -> Option<Self> {
        Version::try_from(json.string()?).ok()
    }
}
