//! The builds of the C++ sources below a folder, according to its build files: whether PyTorch's hipify converts the
//! sources, and which sources they list.
//!
//! A word in a script does not count as a build. A call of `CUDAExtension` or `cpp_extension.load`, a CMake function or
//! a command does.

use super::patterns::{Pattern, is_source};
use super::{FileSource, join};
use hipward_analyzer_core::Target;
use hipward_analyzer_files::facts::{CmakeCall, Command};
use hipward_analyzer_files::{cmake_calls, commands};
use hipward_analyzer_python::semantic::{Semantics, never_runs_on_target};
use hipward_analyzer_python::syntax::{Field, Kind, LastParse, Node, parse};

/// How a build processes C++.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Hipify renames CUDA's names.
    Hipified,
    /// Unchanged: CMake, or a compiler command.
    AsItStands,
    /// Not for AMD: behind `if torch.version.cuda:` in a script that also builds for ROCm.
    NotForAmd,
}

/// The information about C++ in a build file.
#[derive(Debug)]
pub(super) struct Build {
    pub(super) how: How,
    /// The sources that it names, relative to any folder.
    pub(super) sources: Vec<Pattern>,
    /// It also applies to sources that it does not name: CMake with CUDA enabled, a `setup.py` without a list of
    /// sources.
    pub(super) is_general: bool,
    /// It is a CMake file, which the parent folders may complete.
    pub(super) cmake: Option<Cmake>,
}

/// The part of a CMake project in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cmake {
    /// It enables CUDA itself.
    Whole,
    /// The functions it calls may be defined in a parent folder.
    Part,
}

impl Build {
    /// Whether it names the source at `path`.
    pub(super) fn names(&self, path: &str) -> bool {
        self.sources.iter().any(|source| source.fits(path))
    }

    /// Whether it applies to an unnamed file at `path`: a header belongs to the device code in its folder, and a source
    /// that is not listed belongs to another build.
    pub(super) fn speaks_for(&self, path: &str) -> bool {
        self.is_general
            || !is_source(path)
                && (self.how == How::Hipified || self.sources.iter().any(Pattern::is_device_code))
    }
}

/// The builds in a folder's own files.
pub(super) fn read(files: &dyn FileSource, folder: &str) -> Vec<Build> {
    let names = files.names(folder);
    let mut found = Vec::new();
    let mut calls = Vec::new();
    for name in names.iter() {
        let text = |name: &str| files.text(&join(folder, name));
        if name.ends_with(".py") {
            let builds = text(name).map(|text| of_python(&text, name == "setup.py"));
            found.extend(builds.into_iter().flatten());
        } else if is_cmake(name) {
            calls.extend(text(name).map(|text| of_cmake(&text)));
        } else if name == "Makefile" || name == "makefile" || name.ends_with(".mk") {
            found.extend(text(name).and_then(|text| of_makefile(&text)));
        } else if name.ends_with(".sh") {
            let script = text(name);
            let script = script.iter().flat_map(|text| commands(text));
            found.extend(script.filter_map(|command| of_command(&command)));
        } else if name == "BUILD" || name == "BUILD.bazel" {
            found.extend(text(name).and_then(|text| of_bazel(&text)));
        } else if name == "build.rs" {
            let script = text(name);
            let runs = script.is_some_and(|text| text.contains("\"hipify-"));
            found.extend(runs.then_some(Build {
                how: How::Hipified,
                sources: Vec::new(),
                is_general: true,
                cmake: None,
            }));
        }
    }
    found.extend(together(files, folder, calls));
    found
}

fn is_cmake(name: &str) -> bool {
    name == "CMakeLists.txt" || name.ends_with(".cmake")
}

/// `CUDAExtension(…)`, `load(…)` of `torch.utils.cpp_extension`, and hipify as a module or a program. The sources in code that
/// does not run on AMD are listed a second time.
pub(super) fn of_python(text: &str, is_setup: bool) -> Vec<Build> {
    let has_list = || text.contains("sources=") && text.contains(".cu");
    if !text.contains("cpp_extension") && !text.contains("hipify") && !has_list() {
        return Vec::new();
    }
    let Some(tree) = parse(text, &mut LastParse::default()) else {
        return Vec::new();
    };
    let semantics = Semantics::new(tree, Target::default());
    let tree = &semantics.tree;
    let mut builders = tree.nodes().filter(|node| builds_here(&semantics, *node));
    let builds = builders.next();
    let knows_rocm = ["version.hip", "ROCM", "rocm"]
        .iter()
        .any(|word| text.contains(word));
    let mut sources = Vec::new();
    let mut others = Vec::new();
    let strings = tree.nodes().filter(|node| tree.kind(*node) == Kind::String);
    for string in strings {
        let pattern = Pattern::of(&value(&semantics, string));
        if knows_rocm && never_runs_on_target(&semantics, string) {
            others.extend(pattern.clone());
        }
        sources.extend(pattern);
    }
    // A `setup.py` without a list may build any source, and a function that gets the list uses the headers in its folder.
    let is_function = |node| tree.kind(node) != Kind::String;
    let is_build = |first| is_setup || !sources.is_empty() || is_function(first);
    let own = builds.is_some_and(is_build).then_some(Build {
        how: How::Hipified,
        is_general: is_setup && sources.is_empty(),
        sources,
        cmake: None,
    });
    let not_for_amd = (!others.is_empty()).then_some(Build {
        how: How::NotForAmd,
        is_general: false,
        sources: others,
        cmake: None,
    });
    own.into_iter().chain(not_for_amd).collect()
}

/// The sources that the strings of a module name.
pub(super) fn source_strings(text: &str) -> Vec<Pattern> {
    let Some(tree) = parse(text, &mut LastParse::default()) else {
        return Vec::new();
    };
    let semantics = Semantics::new(tree, Target::default());
    let tree = &semantics.tree;
    tree.nodes()
        .filter(|node| tree.kind(*node) == Kind::String)
        .filter_map(|string| Pattern::of(&value(&semantics, string)))
        .collect()
}

fn builds_here(semantics: &Semantics<'_>, node: Node) -> bool {
    let tree = &semantics.tree;
    match tree.kind(node) {
        // Called, or assigned to another name: `Extension = CUDAExtension`.
        Kind::Identifier | Kind::Attribute => {
            let named = tree.text(node);
            let is_import = || {
                tree.ancestors(node).any(|around| {
                    matches!(
                        tree.kind(around),
                        Kind::ImportStatement | Kind::ImportFromStatement
                    )
                })
            };
            ["CUDAExtension", "load", "hipify"]
                .iter()
                .any(|end| named.ends_with(end))
                && semantics.resolve(node).is_some_and(|name| {
                    name.is_any(&[
                        "torch.utils.cpp_extension.CUDAExtension",
                        "torch.utils.cpp_extension.load",
                        "torch.utils.hipify.hipify_python.hipify",
                    ])
                })
                && !is_import()
        }
        // `load(name, sources=["x.cu"])`, with a function of the project around PyTorch's
        Kind::KeywordArgument => {
            let named = |field, of: Node| tree.child(of, field).map(|name| tree.text(name));
            let call = tree.parent(node).and_then(|list| tree.parent(list));
            let function = call.and_then(|call| named(Field::Function, call));
            named(Field::Name, node) == Some("sources")
                && function.is_some_and(|name| name.ends_with("load"))
        }
        // `subprocess.run(["hipify-perl", …])`
        Kind::String => {
            let runs = |arguments: Node| {
                let function = tree
                    .parent(arguments)
                    .and_then(|call| tree.child(call, Field::Function));
                function.is_some_and(|function| {
                    ["run", "call", "output", "Popen", "popen", "system"]
                        .iter()
                        .any(|end| tree.text(function).ends_with(end))
                })
            };
            let is_run = tree
                .parent(node)
                .is_some_and(|around| match tree.kind(around) {
                    Kind::List => true,
                    Kind::ArgumentList => runs(around),
                    _ => false,
                });
            is_run && is_hipify(value(semantics, node).split(' ').next().unwrap_or_default())
        }
        _ => false,
    }
}

/// The text of a string, with `*` for interpolations.
fn value(semantics: &Semantics<'_>, string: Node) -> String {
    let tree = &semantics.tree;
    tree.parts(string)
        .map(|part| match tree.kind(part) {
            Kind::StringContent => tree.text(part),
            _ => "*",
        })
        .collect()
}

/// `hipify-perl`, `/opt/rocm/bin/hipify-clang`
fn is_hipify(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.starts_with("hipify-") || name == "hipify_cli.py" || name == "hipify_torch"
}

/// The information in one CMake file.
#[derive(Default)]
struct Calls {
    hipifies: bool,
    has_cuda: bool,
    sources: Vec<Pattern>,
}

fn of_cmake(text: &str) -> Calls {
    let mut found = Calls::default();
    for call in cmake_calls(text) {
        let name = call.name.as_str().to_ascii_lowercase();
        let arguments = || call.arguments.iter().map(|argument| argument.as_str());
        found.hipifies |= match &*name {
            "execute_process" | "add_custom_command" | "add_custom_target" => {
                arguments().any(is_hipify)
            }
            name => name.contains("hipify"),
        };
        found.has_cuda |= switches_cuda_on(&call) || name.starts_with("cuda_add_");
        found.sources.extend(arguments().filter_map(Pattern::of));
    }
    found
}

/// `project(x LANGUAGES CXX CUDA)`, `project(x CUDA)`, `enable_language(CUDA)`
fn switches_cuda_on(call: &CmakeCall<'_>) -> bool {
    (call.is("project") || call.is("enable_language"))
        && call
            .arguments
            .iter()
            .skip(usize::from(call.is("project")))
            .any(|argument| argument.as_str() == "CUDA")
}

/// The combined information in a folder's CMake files; their functions may be defined in `cmake/`.
fn together(files: &dyn FileSource, folder: &str, calls: Vec<Calls>) -> Option<Build> {
    if calls.is_empty() {
        return None;
    }
    let helpers = join(folder, "cmake");
    let hipifies = calls.iter().any(|calls| calls.hipifies)
        || files
            .names(&helpers)
            .iter()
            .filter(|name| is_cmake(name))
            .filter_map(|name| files.text(&join(&helpers, name)))
            .any(|text| text.contains("hipify") && of_cmake(&text).hipifies);
    let has_cuda = calls.iter().any(|calls| calls.has_cuda);
    let sources: Vec<Pattern> = calls.into_iter().flat_map(|calls| calls.sources).collect();
    (hipifies || has_cuda || !sources.is_empty()).then_some(Build {
        how: if hipifies {
            How::Hipified
        } else {
            How::AsItStands
        },
        sources,
        is_general: hipifies || has_cuda,
        cmake: Some(if has_cuda { Cmake::Whole } else { Cmake::Part }),
    })
}

/// `cuda_library(srcs = ["x.cu", "//other:y.cu"])`: Bazel's language has the syntax of Python.
fn of_bazel(text: &str) -> Option<Build> {
    if !text.contains(".cu") {
        return None;
    }
    let tree = parse(text, &mut LastParse::default())?;
    let semantics = Semantics::new(tree, Target::default());
    let tree = &semantics.tree;
    let strings = tree.nodes().filter(|node| tree.kind(*node) == Kind::String);
    let sources: Vec<Pattern> = strings
        .filter_map(|string| {
            let label = value(&semantics, string);
            Pattern::of(label.rsplit(':').next().unwrap_or(&label))
        })
        .collect();
    (!sources.is_empty()).then_some(Build {
        how: if text.contains("hipify") {
            How::Hipified
        } else {
            How::AsItStands
        },
        sources,
        is_general: false,
        cmake: None,
    })
}

/// `nvcc -o x x.cu`, `hipify-perl -inplace $f`
fn of_command(command: &Command<'_>) -> Option<Build> {
    let words = command.words.iter().map(|word| word.as_str());
    of_words(command.program(), words)
}

/// A rule `x: x.cu`, a command `$(NVCC) -c $<`; if one of them is hipify, it applies to all.
fn of_makefile(text: &str) -> Option<Build> {
    let mut how = None;
    let mut sources = Vec::new();
    for line in text.lines() {
        let code = line.split('#').next().unwrap_or_default();
        let words = code
            .split_whitespace()
            .map(|word| word.trim_start_matches(['@', '-']));
        let program = words.clone().next().unwrap_or_default();
        if is_hipify(program) {
            how = Some(How::Hipified);
        } else if program.ends_with("nvcc") || matches!(program, "$(NVCC)" | "${NVCC}") {
            how = how.or(Some(How::AsItStands));
        }
        sources.extend(words.filter_map(Pattern::of));
    }
    Some(Build {
        how: how?,
        sources,
        is_general: false,
        cmake: None,
    })
}

fn of_words<'a>(program: &str, words: impl Iterator<Item = &'a str> + Clone) -> Option<Build> {
    let how = match program {
        "nvcc" => How::AsItStands,
        _ if is_hipify(program) => How::Hipified,
        _ => return None,
    };
    let sources: Vec<Pattern> = words.filter_map(Pattern::of).collect();
    (!sources.is_empty()).then_some(Build {
        how,
        sources,
        is_general: false,
        cmake: None,
    })
}
