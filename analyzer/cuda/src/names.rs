//! The HIP equivalents of CUDA names: a table of the existing names, and the pattern that most of them follow.
//!
//! `names.txt` has a line for each name of CUDA's runtime, driver and libraries: `cudaMalloc` follows the pattern
//! below, `cudaMallocHost hipHostMalloc` is an exception, `cuTensorMapEncodeTiled -` has no equivalent, and a `!` means
//! that PyTorch's hipify does not convert the name. A name that is not in the table has no equivalent: none is derived.
//! `analyzer/renew-cuda-names` generates it from HIP's own headers and the tables of what HIPIFY supports. Its first line
//! states their releases.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::lexer::Kind;
use super::name_patterns::{camel_case, systematic, without_version};
use super::source::Source;

/// `names.txt` as packed by `build.rs`.
const PACKED: &str = include_str!(concat!(env!("OUT_DIR"), "/names.txt"));

/// Sorted by name, so that a lookup does not read the whole table.
static TABLE: LazyLock<String> = LazyLock::new(|| unpacked(PACKED));

/// The lines of [`PACKED`]: a character encodes the length of the prefix shared with the previous name, and one after a
/// CUDA name where its HIP name comes from.
fn unpacked(packed: &str) -> String {
    let mut sections = packed.split("\n\n");
    let mut section = || sections.next().unwrap_or_default();
    let (lengths, cuda_names) = (section(), section());
    let mut hip_names = section().lines();
    let mut table = String::new();
    let (mut cuda, mut hip) = (String::new(), String::new());
    for (length, line) in lengths.bytes().zip(cuda_names.lines()) {
        let name = line.trim_end_matches(['~', '}', '|', ' ']);
        go_on(&mut cuda, length, name);
        table.push_str(&cuda);
        let known = cuda.trim_end_matches('!');
        let derived;
        let hip_name = match &line[name.len()..] {
            "" => "",
            "~" => "-",
            "}" => {
                derived = without_version(known).unwrap_or_default();
                &derived
            }
            "|" => {
                derived = camel_case(known);
                &derived
            }
            _ => {
                let (length, rest) = hip_names.next().unwrap_or("!").split_at(1);
                go_on(&mut hip, length.as_bytes()[0], rest);
                &hip
            }
        };
        if !hip_name.is_empty() {
            table.push(' ');
            table.push_str(hip_name);
        }
        table.push('\n');
    }
    table
}

/// Turns the previous name into the next one.
fn go_on(name: &mut String, length: u8, rest: &str) {
    name.truncate(usize::from(length.saturating_sub(b'!')));
    name.push_str(rest);
}

/// The entry of a CUDA name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Name<'a> {
    /// The HIP equivalent.
    Hip {
        name: Cow<'a, str>,
        hipify_knows: bool,
    },
    /// HIP has no equivalent.
    Unsupported,
}

/// The entry of `cuda`; `None` if it is not a CUDA name.
pub(crate) fn name(cuda: &str) -> Option<Name<'_>> {
    let line = find(cuda)?;
    let (marked, hip) = line.split_once(' ').unwrap_or((line, ""));
    match hip {
        "-" => Some(Name::Unsupported),
        _ => Some(Name::Hip {
            name: if hip.is_empty() {
                Cow::Owned(systematic(cuda)?)
            } else {
                Cow::Borrowed(hip)
            },
            hipify_knows: !marked.ends_with('!'),
        }),
    }
}

/// The name before ROCm 7.0, if it was another one: hipBLAS had two forms of each function with complex or mixed types, of
/// which `_v2` has the types of CUDA, and the linker was part of hipRTC.
pub(crate) fn before_rocm_7(cuda: &str, hip: &str) -> Option<String> {
    if let Some(rest) = hip.strip_prefix("hipblas") {
        let (name, is_64) = match rest.strip_suffix("_64") {
            Some(name) => (name, "_64"),
            None => (rest, ""),
        };
        let has_two_forms = name.ends_with("Ex")
            || ["C", "Z", "Ic", "Iz", "Sca", "Scn", "Dz"]
                .iter()
                .any(|start| name.starts_with(start));
        return (has_two_forms && !name.ends_with("_t") && name != "Create")
            .then(|| format!("hipblas{name}_v2{is_64}"));
    }
    if let Some(option) = cuda
        .strip_prefix("CU_JIT_")
        .filter(|_| hip.starts_with("hipJit"))
    {
        return Some(match option {
            "NUM_INPUT_TYPES" => "HIPRTC_JIT_NUM_LEGACY_INPUT_TYPES".to_owned(),
            option => format!("HIPRTC_JIT_{}", option.replace("CUCONTEXT", "HIPCONTEXT")),
        });
    }
    match hip {
        "hipJitInputType" => Some("hiprtcJITInputType".to_owned()),
        "hipLinkState_t" => Some("hiprtcLinkState".to_owned()),
        "ihipLinkState_t" => Some("ihiprtcLinkState".to_owned()),
        "hipMemsetParams" if cuda.starts_with("CUDA_") => Some("HIP_MEMSET_NODE_PARAMS".to_owned()),
        _ => Some(format!("hiprtcLink{}", hip.strip_prefix("hipLink")?)),
    }
}

/// True if the source defines `word` itself: `#define cudaMalloc hipMalloc`, `cudaError_t cudaError = …`, an enumerator
/// `CU_TARGET_COMPUTE_70 = 70`.
pub(crate) fn is_the_projects(source: &Source<'_>, word: &str) -> bool {
    source.is_macro(word) || source.places(word).iter().any(|at| defines(source, *at))
}

/// True where a word is defined: a type, an enumerator, a variable, or a function with its body.
pub(crate) fn defines(source: &Source<'_>, at: u32) -> bool {
    let (before, after) = (source.before(at, 1), source.token_text(at + 1));
    match before {
        "struct" | "class" | "enum" | "union" => matches!(after, "{" | ":"),
        "using" | "namespace" => after == "=",
        "{" | "," => after == "=",
        _ => {
            let behind_word = at
                .checked_sub(1)
                .is_some_and(|before| source.kind(before) == Kind::Word);
            let declares = match after {
                "=" | ";" => true,
                "(" => source
                    .partner(at + 1)
                    .is_some_and(|close| source.token_text(close + 1) == "{"),
                _ => false,
            };
            behind_word
                && declares
                && !KEYWORDS.contains(&before)
                && source.directive_of(at).is_none()
        }
    }
}

/// Tokens that precede a name that is used, not declared.
const KEYWORDS: &[&str] = &[
    "return", "case", "else", "do", "throw", "goto", "const", "typename",
];

/// The line of a name.
fn find(cuda: &str) -> Option<&'static str> {
    // No name is shorter, and all have these prefixes: this excludes most words.
    if cuda.len() < 4
        || !cuda.is_ascii()
        || !matches!(
            cuda.as_bytes()[0],
            b'a' | b'c' | b'C' | b'n' | b'N' | b'_' | b'm' | b's' | b'g' | b'l'
        )
    {
        return None;
    }
    let table: &'static str = &TABLE;
    let (mut low, mut high) = (0, table.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let start = table[..middle].rfind('\n').map_or(0, |at| at + 1);
        let end = table[start..]
            .find('\n')
            .map_or(table.len(), |length| start + length);
        let line = &table[start..end];
        let known = line.split(['!', ' ']).next().unwrap_or(line);
        match known.cmp(cuda) {
            std::cmp::Ordering::Equal => return Some(line),
            std::cmp::Ordering::Less => low = end + 1,
            std::cmp::Ordering::Greater => high = start,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_table_equals_the_source_table() {
        let (release, table) = include_str!("names.txt")
            .split_once('\n')
            .expect("a first line");
        assert!(release.starts_with("# HIPIFY for ROCm "), "{release}");
        assert!(*TABLE == table);
    }

    #[test]
    fn every_line_is_found_by_name() {
        let mut before = "";
        for line in TABLE.lines() {
            let known = line.split(['!', ' ']).next().expect("a name");
            assert!(before < known, "{known} is out of order or twice");
            assert!(name(known).is_some(), "{line}");
            before = known;
        }
    }

    #[test]
    fn names_follow_the_pattern_except_for_listed_exceptions() {
        let hip = |cuda| match name(cuda) {
            Some(Name::Hip { name, .. }) => name.into_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(hip("cudaMalloc"), "hipMalloc");
        assert_eq!(hip("cudaMallocHost"), "hipHostMalloc");
        assert_eq!(hip("cublasLtMatmul"), "hipblasLtMatmul");
        assert_eq!(hip("CUBLAS_OP_N"), "HIPBLAS_OP_N");
        assert_eq!(hip("cuMemcpyDtoH_v2"), "hipMemcpyDtoH");
        assert_eq!(hip("cusolverDnHandle_t"), "hipsolverHandle_t");
        assert_eq!(hip("CUDA_R_16BF"), "HIP_R_16BF");
        assert_eq!(name("cuTensorMapEncodeTiled"), Some(Name::Unsupported));
        assert_eq!(
            name("cudaMyOwnWrapper"),
            None,
            "an unknown name has no equivalent"
        );
        assert_eq!(name("cuda"), None);
    }

    #[test]
    fn older_releases_have_other_names() {
        let older = |cuda| match name(cuda) {
            Some(Name::Hip { name, .. }) => before_rocm_7(cuda, &name),
            _ => None,
        };
        for (cuda, wanted) in [
            ("cublasCgemm", Some("hipblasCgemm_v2")),
            ("cublasScnrm2_v2_64", Some("hipblasScnrm2_v2_64")),
            ("cublasIzamax", Some("hipblasIzamax_v2")),
            ("cublasGemmEx", Some("hipblasGemmEx_v2")),
            ("cublasScopy", None),
            ("cublasSgemm", None),
            ("cublasCreate_v2", None),
            ("cublasComputeType_t", None),
            ("CU_JIT_TARGET", Some("HIPRTC_JIT_TARGET")),
            ("cuLinkCreate", Some("hiprtcLinkCreate")),
            ("cudaMalloc", None),
        ] {
            assert_eq!(older(cuda).as_deref(), wanted, "{cuda}");
        }
    }

    #[test]
    fn no_name_has_a_masquerading_prefix() {
        assert!(!TABLE.contains("Masquerading"));
    }
}
