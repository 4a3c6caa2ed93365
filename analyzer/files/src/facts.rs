//! The facts that the parsers extract, independent of the file format.

use std::ops::Range;

use super::text::Text;

/// All facts of a file.
#[derive(Default)]
pub struct Facts<'a> {
    pub requirements: Vec<Requirement<'a>>,
    pub indexes: Vec<Text<'a>>,
    /// Those that uv selects here for a package, whatever extras and groups are chosen.
    pub required_indexes: Vec<Text<'a>>,
    /// The requirements and constraints files that it includes, without those that are installed on some machines only.
    pub includes: Vec<Include<'a>>,
    pub images: Vec<Image<'a>>,
    pub commands: Vec<Command<'a>>,
    pub settings: Vec<Setting<'a>>,
    /// The options for starting a container, if they are not part of a command.
    pub container_options: Vec<Command<'a>>,
    /// `key: value` in the description of a container or a pod.
    pub entries: Vec<Entry<'a>>,
    pub cmake_calls: Vec<CmakeCall<'a>>,
    /// The C++ standards in options of a PyTorch extension: the `14` of `-std=c++14`.
    pub cpp_standards: Vec<Text<'a>>,
    /// Python programs in shell commands: `python -c '…'`, `python - <<'EOF'`.
    pub python: Vec<Text<'a>>,
    /// A tool generates the file: a lock file of uv, Poetry, PDM or Pipenv.
    pub is_generated: bool,
    pub comments: Vec<Range<usize>>,
}

impl<'a> Facts<'a> {
    /// The settings of a variable, in order.
    pub fn settings_of<'c>(&'c self, name: &str) -> impl Iterator<Item = &'c Setting<'a>> {
        let settings = self.settings.iter();
        settings.filter(move |setting| setting.key.as_str() == name)
    }
}

/// The installer of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installer {
    Pip,
    Conda,
    /// A package in a lock file: the exact version that uv, Poetry, PDM or Pipenv installs.
    Lock,
}

/// A required package.
pub struct Requirement<'a> {
    pub installer: Installer,
    pub name: Text<'a>,
    /// `[cuda12]`, including brackets; empty without extras.
    pub extras: Text<'a>,
    /// `==2.4.0+cu124`, or the URL after `@`.
    pub specifier: Text<'a>,
    /// The whole requirement, without a marker.
    pub whole: Text<'a>,
    /// The package is required on some machines only: a marker, an optional group for CUDA, a branch of a script.
    pub guarded: bool,
}

impl<'a> Requirement<'a> {
    /// The name as package indexes normalize it: `Flash_Attn` is `flash-attn`.
    pub fn normalized(&self) -> String {
        normalized(self.name.as_str())
    }

    /// The names of its extras: `cuda12`.
    pub fn extra_names(&self) -> impl Iterator<Item = Text<'a>> {
        let parts = self.extras.split(|c| matches!(c, '[' | ',' | ']'));
        parts.map(Text::trim)
    }
}

/// Normalizes a package's name as indexes do.
pub fn normalized(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}

/// A requirements file that another file includes.
pub struct Include<'a> {
    pub path: Text<'a>,
    /// A command names it, relative to a folder that the file does not state.
    pub in_command: bool,
}

impl<'a> Include<'a> {
    /// A path relative to the file that includes it.
    pub fn in_file(path: Text<'a>) -> Include<'a> {
        Include {
            path,
            in_command: false,
        }
    }
}

/// A container image.
pub struct Image<'a> {
    /// `nvidia/cuda:12.4.1-devel-ubuntu22.04`
    pub name: Text<'a>,
    /// A matrix or an argument selects it.
    pub guarded: bool,
}

/// A shell command.
pub struct Command<'a> {
    /// The program, then its arguments, without quotes around a word.
    pub words: Vec<Text<'a>>,
    /// It runs on some machines only, or may fail.
    pub guarded: bool,
}

impl<'a> Command<'a> {
    /// The program's name, without its folder.
    pub fn program(&self) -> &'a str {
        let path = self.words.first().map_or("", |word| word.as_str());
        path.rsplit('/').next().unwrap_or(path)
    }

    /// From the first word to the last.
    pub fn range(&self) -> Range<usize> {
        let start = self.words.first().map_or(0, |word| word.range().start);
        let end = self.words.last().map_or(start, |word| word.range().end);
        start..end
    }
}

/// An environment variable that is set.
pub struct Setting<'a> {
    pub key: Text<'a>,
    pub value: Text<'a>,
    pub guarded: bool,
}

/// A key of a YAML file.
pub struct Entry<'a> {
    /// Empty for an item of a list without a key.
    pub key: Text<'a>,
    pub value: Text<'a>,
    /// The parent entry.
    pub parent: Option<usize>,
    /// The indentation of its key.
    pub column: usize,
    /// It is the first key of an item of a list.
    pub begins_item: bool,
}

/// A call of a CMake command.
pub struct CmakeCall<'a> {
    pub name: Text<'a>,
    pub arguments: Vec<Text<'a>>,
    /// It is behind a condition on CUDA, HIP or a vendor.
    pub guarded: bool,
}

impl CmakeCall<'_> {
    /// CMake commands are case-insensitive.
    pub fn is(&self, name: &str) -> bool {
        self.name.as_str().eq_ignore_ascii_case(name)
    }
}

/// True if a condition or a group's name refers to a GPU vendor. HIP reads `CUDA_VISIBLE_DEVICES` too.
pub fn names_a_vendor(text: &str) -> bool {
    let words = ["cublas", "nvidia", "nvcc", "nvml"];
    let is_cuda = |at: usize| !text[at..].starts_with("CUDA_VISIBLE_DEVICES");
    positions(text, "cuda").any(is_cuda)
        || words.iter().any(|word| contains(text, word))
        || names_rocm(text)
        || has_word(text, "amd")
}

/// True if `text` names ROCm or HIP, which means that its author supports them. Words that the analyzer's own fixes
/// write do not count, because one fix would otherwise hide other findings.
pub fn names_rocm(text: &str) -> bool {
    let words = [
        "rocm", "amdgpu", "gfx9", "gfx1", "hipcc", "hipify", "hipblas", "miopen",
    ];
    words.iter().any(|word| contains(text, word)) || has_word(text, "hip")
}

/// `AMD GPU`, `Running-on-AMD-GPU`: the author names AMD's GPUs, and not its CPUs or `amd64`.
pub(crate) fn names_amd_gpus(text: &str) -> bool {
    positions(text, "amd").any(|at| {
        let rest = &text[at + "amd".len()..];
        !rest.starts_with(|c: char| c.is_ascii_alphanumeric())
            && rest
                .split_whitespace()
                .take(2)
                .any(|word| contains(word, "gpu"))
    })
}

/// The joint of a body or a robot, and a fruit: `left_hip`, `hip_yaw`, `rose hip`.
fn is_hip_joint(before: &str, after: &str) -> bool {
    let is_separator = |c: char| matches!(c, '_' | '-' | ' ');
    let before = before.trim_end_matches(is_separator);
    let after = after.trim_start_matches(is_separator);
    ["left", "right", "rose"]
        .iter()
        .any(|word| before.ends_with(word))
        || ["yaw", "roll", "pitch", "joint"]
            .iter()
            .any(|word| after.starts_with(word))
}

/// Ignores upper and lower case.
pub fn contains(text: &str, word: &str) -> bool {
    positions(text, word).next().is_some()
}

/// `word` without a letter or digit next to it: `USE_HIP` contains `hip`, `ship` does not.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    positions(text, word).any(|at| {
        let bytes = text.as_bytes();
        let end = at + word.len();
        !is_part(at.checked_sub(1).and_then(|before| bytes.get(before)))
            && !is_part(bytes.get(end))
            && (word != "hip" || !is_hip_joint(&text[..at], &text[end..]))
    })
}

fn positions(text: &str, word: &str) -> impl Iterator<Item = usize> {
    text.as_bytes()
        .windows(word.len().max(1))
        .enumerate()
        .filter(move |(_, window)| window.eq_ignore_ascii_case(word.as_bytes()))
        .map(|(at, _)| at)
}
