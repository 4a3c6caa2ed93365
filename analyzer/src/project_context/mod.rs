//! The project context of a file: whether its build runs hipify or a header defines HIP names, the first-party modules
//! of its project, and whether there is an AMD version of the file, or it is for another vendor's hosts.
//!
//! The caller provides access to the files ([`FileSource`]): on a disk, or in a request. Independent of the rules.

mod amd_sibling;
mod builds;
mod by_path;
mod first_party_modules;
mod folder_cache;
mod hip_alias_header;
mod in_memory;
mod included_requirements;
mod patterns;

use std::borrow::Cow;
use std::sync::Arc;

use crate::analysis::Options;
use builds::{Build, Cmake, How};
use folder_cache::FolderCache;
use hip_alias_header::Header;
use hipward_analyzer_core::Language;
use patterns::is_source;

pub(crate) use in_memory::InMemoryFiles;
pub use included_requirements::included_requirements;

/// Files below one root. Paths are relative to it, with `/` between their parts; the root itself is empty.
pub trait FileSource {
    /// The names of the files and folders in a folder.
    fn names(&self, folder: &str) -> Vec<String>;

    /// Whether a file or folder exists.
    fn exists(&self, path: &str) -> bool;

    /// The content of a file, if it can be read.
    fn text(&self, path: &str) -> Option<Cow<'_, str>>;
}

/// The maximum number of files in a folder in which those that include a header are searched: each header reads them all.
const MAX_NEIGHBOURS: usize = 500;

/// Results about files, cached by folder because many files share them.
#[derive(Debug, Default)]
pub struct ProjectContext<F> {
    files: F,
    builds: FolderCache<Arc<Vec<Build>>>,
    first_party_modules: FolderCache<Arc<Vec<String>>>,
    unmarked: FolderCache<Arc<Vec<String>>>,
    headers: FolderCache<Arc<Header>>,
}

/// What a C++ file gets from the headers of its project.
#[derive(Debug, Default)]
pub struct HeaderContext {
    /// Whether one of them defines CUDA names as HIP names, and PyTorch's hipify does not convert the file.
    pub has_hip_names: bool,
    /// The macros that they define for AMD, separated by spaces.
    pub amd_macros: String,
}

impl<F: FileSource> ProjectContext<F> {
    /// Creates an empty cache.
    pub fn new(files: F) -> Self {
        ProjectContext {
            files,
            builds: FolderCache::default(),
            first_party_modules: FolderCache::default(),
            unmarked: FolderCache::default(),
            headers: FolderCache::default(),
        }
    }

    /// Whether hipify converts a C++ file when it is built, as in a PyTorch extension. `None` if no build file answers
    /// this.
    ///
    /// The nearest folder with a build file that names the source decides. Otherwise it is the nearest folder with a build
    /// that applies to all files below it. If only one of several builds runs hipify, the names stay CUDA's for it, except
    /// in a source that none of them names.
    pub fn pytorch_extension(&self, path: &str) -> Option<bool> {
        let mut general = None;
        let mut folder = parent(path);
        while let Some(here) = folder {
            let builds = self.builds(here);
            let from_here = path.get(here.len()..).unwrap_or_default();
            let mut named = builds
                .iter()
                .filter(|build| build.names(from_here.trim_start_matches('/')))
                .peekable();
            let is_for_headers =
                |build: &Build| build.how == How::Hipified && build.speaks_for(path);
            if named.peek().is_some() {
                return Some(
                    named.any(|build| {
                        build.how == How::Hipified
                            || build.cmake == Some(Cmake::Part) && self.is_hipified_above(here)
                    }) || !is_source(path) && builds.iter().any(is_for_headers),
                );
            }
            let mut speaks = builds
                .iter()
                .filter(|build| build.speaks_for(path))
                .peekable();
            if general.is_none() && speaks.peek().is_some() {
                general = Some(match is_source(path) {
                    true => speaks.all(|build| build.how == How::Hipified),
                    false => builds.iter().any(is_for_headers),
                });
            }
            folder = above(&self.files, here);
        }
        general.or_else(|| self.is_loaded_beside(path).then_some(true))
    }

    /// Whether a module in a folder beside the source's loads it as an extension: `src/model.py` for `cuda/x.cu`, with the
    /// path from the folder of both.
    fn is_loaded_beside(&self, path: &str) -> bool {
        let both = parent(path).and_then(|folder| above(&self.files, folder));
        let Some(both) = both.filter(|_| is_source(path)) else {
            return false;
        };
        let from_there = path[both.len()..].trim_start_matches('/');
        self.files
            .names(both)
            .iter()
            .filter(|name| !name.contains('.'))
            .any(|name| {
                self.builds(&join(both, name))
                    .iter()
                    .any(|build| build.how == How::Hipified && build.names(from_there))
            })
    }

    /// Whether the CMake project that contains a folder runs hipify.
    fn is_hipified_above(&self, folder: &str) -> bool {
        let mut folder = above(&self.files, folder);
        while let Some(here) = folder {
            let builds = self.builds(here);
            let project = builds.iter().find(|build| build.cmake.is_some());
            if let Some(project) = project {
                if project.how == How::Hipified {
                    return true;
                }
                if project.cmake == Some(Cmake::Whole) {
                    return false;
                }
            }
            folder = above(&self.files, here);
        }
        false
    }

    fn builds(&self, folder: &str) -> Arc<Vec<Build>> {
        self.builds
            .answer(folder, || Arc::new(builds::read(&self.files, folder)))
    }

    /// The modules of every project that contains a folder, up to the root of its repository.
    pub fn first_party_modules(&self, folder: &str) -> Arc<Vec<String>> {
        self.first_party_modules.answer(folder, || {
            let above = above(&self.files, folder);
            let mut found =
                above.map_or_else(Vec::new, |above| self.first_party_modules(above).to_vec());
            first_party_modules::add(&self.files, folder, &mut found);
            Arc::new(found)
        })
    }

    /// Sets the project context in the options for a file of `options.language`.
    pub fn fill_options(&self, path: &str, options: &mut Options) {
        let folder = parent(path).unwrap_or_default();
        // Each value requires reading files, so only the necessary ones are determined.
        let (is_cpp, is_python) = match options.language {
            Some(Language::CudaCpp) => (true, false),
            Some(Language::Python | Language::Notebook) => (false, true),
            _ => (false, false),
        };
        options.pytorch_extension = match is_cpp {
            true => self.pytorch_extension(path),
            false => None,
        };
        let headers = match is_cpp {
            true => self.header_context(path),
            false => HeaderContext::default(),
        };
        options.has_hip_names = headers.has_hip_names;
        options.amd_macros = headers.amd_macros;
        options.first_party_modules = match is_python {
            true => self.first_party_modules(folder).to_vec(),
            false => Vec::new(),
        };
        options.has_amd_sibling = self.has_amd_sibling(path, options.language);
    }

    /// What a C++ file gets from the project's headers. A header also gets the macros that all files of its folder that
    /// include it have.
    pub fn header_context(&self, path: &str) -> HeaderContext {
        let own = self.included(path);
        let folder = parent(path).unwrap_or_default();
        let mut of_all = None;
        let mut names = match is_source(path) {
            true => Vec::new(),
            false => self.files.names(folder),
        };
        if names.len() > MAX_NEIGHBOURS {
            names.clear();
        }
        for name in names {
            let file = join(folder, &name);
            let is_includer = file != path
                && Language::of_path(&file) == Some(Language::CudaCpp)
                && self.header(&file).includes.iter().any(|it| it == path);
            if is_includer {
                let its = self.included(&file).amd_macros;
                of_all = Some(match of_all {
                    Some(all) => hip_alias_header::common(all, &its),
                    None => its,
                });
            }
        }
        HeaderContext {
            has_hip_names: own.is_shim && self.pytorch_extension(path) != Some(true),
            amd_macros: of_all.unwrap_or(own.amd_macros),
        }
    }

    fn header(&self, path: &str) -> Arc<Header> {
        let read = || Arc::new(hip_alias_header::read(&self.files, path));
        self.headers.answer(path, read)
    }

    fn included(&self, path: &str) -> Header {
        hip_alias_header::included(path, |path| self.header(path))
    }

    /// Whether a file is for other hosts only, because an AMD version exists, or by its name.
    pub fn has_amd_sibling(&self, path: &str, language: Option<Language>) -> bool {
        if amd_sibling::is_renamed(&self.files, path) {
            return true;
        }
        let is_image = language == Some(Language::Dockerfile);
        if (is_image || language == Some(Language::Shell)) && amd_sibling::is_of_runner(path)
            || is_image && amd_sibling::has_docker_folder(&self.files, path)
        {
            return true;
        }
        let is_for_a_host =
            is_image || matches!(language, Some(Language::Requirements | Language::Yaml));
        if (is_for_a_host || language == Some(Language::Pyproject))
            && amd_sibling::is_for_others(&self.files, path)
        {
            return true;
        }
        let folder = parent(path).unwrap_or_default();
        let find = || Arc::new(amd_sibling::unmarked(&self.files, folder));
        is_for_a_host
            && self
                .unmarked
                .answer(folder, find)
                .iter()
                .any(|name| path.ends_with(name) && join(folder, name) == path)
    }
}

/// The parent folder, within the repository.
fn above<'p>(files: &dyn FileSource, folder: &'p str) -> Option<&'p str> {
    parent(folder).filter(|_| !is_repository(files, folder))
}

fn is_repository(files: &dyn FileSource, folder: &str) -> bool {
    files.exists(&join(folder, ".git"))
}

/// The folder that contains a path; `None` for the root.
pub(crate) fn parent(path: &str) -> Option<&str> {
    match path.rsplit_once('/') {
        Some((folder, _)) => Some(folder),
        None => Some("").filter(|_| !path.is_empty()),
    }
}

fn join(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("", only) | (only, "") => only.to_owned(),
        _ => [folder, name].join("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project_context<'t>(files: &[(&'t str, &'t str)]) -> ProjectContext<InMemoryFiles<'t>> {
        let mut given = InMemoryFiles::default();
        for (path, text) in files {
            given.add(path, Some(text));
        }
        ProjectContext::new(given)
    }

    const LOADS: &str =
        "from torch.utils import cpp_extension as cpp\n\ncpp.load('ops', ['kernels/x.cu'])";
    const SETUP: &str = "from torch.utils.cpp_extension import CUDAExtension\n\nCUDAExtension('ops', sources=['csrc/x.cu', f'csrc/{name}_bwd.cu'])";
    const SETUP_OF_ALL: &str = "from torch.utils.cpp_extension import CUDAExtension\n\nCUDAExtension('ops', sources=sources())";

    /// The tool that renames CUDA names: `hipify`, `none`, or `?`.
    fn who(files: &[(&str, &str)], path: &str) -> &'static str {
        let all = project_context(files);
        let first = all.pytorch_extension(path);
        assert_eq!(all.pytorch_extension(path), first);
        match first {
            Some(true) => "hipify",
            Some(false) => "none",
            None => "?",
        }
    }

    #[test]
    fn extension_is_hipified_within_its_repository() {
        let files = [
            ("setup.py", SETUP_OF_ALL),
            ("ours/.git/HEAD", ""),
            ("ours/setup.py", SETUP),
            ("all/.git", ""),
            ("all/setup.py", SETUP_OF_ALL),
            ("plain/.git/HEAD", ""),
            ("plain/x.cu", "CUDAExtension"),
            ("inline/.git", ""),
            ("inline/ext.py", LOADS),
        ];
        for (path, wanted) in [
            ("ours/csrc/x.cu", "hipify"),
            ("ours/csrc/x_bwd.cu", "hipify"),
            ("ours/csrc/deep/x.cuh", "hipify"),
            ("ours/benchmarks/alone.cu", "?"),
            ("all/csrc/deep/x.cu", "hipify"),
            ("inline/kernels/x.cu", "hipify"),
            ("inline/kernels/y.cu", "?"),
            ("plain/x.cu", "?"),
            ("new/folder/x.cu", "hipify"),
            ("x.cu", "hipify"),
        ] {
            assert_eq!(who(&files, path), wanted, "{path}");
        }
    }

    #[test]
    fn nearest_build_file_that_names_a_source_decides() {
        let files = [
            ("a/.git", ""),
            ("a/setup.py", SETUP_OF_ALL),
            (
                "a/demo/CMakeLists.txt",
                "project(demo LANGUAGES CXX CUDA)\nadd_executable(demo main.cu)",
            ),
            (
                "a/tool/CMakeLists.txt",
                "enable_language(CUDA)\nfile(GLOB S src/*.cu)\nadd_executable(t ${S})",
            ),
            (
                "a/host/CMakeLists.txt",
                "add_library(host ${CMAKE_CURRENT_SOURCE_DIR}/host.cpp)",
            ),
            ("a/bench/Makefile", "bench: bench.cu\n\t$(NVCC) -o $@ $<"),
            ("a/run/run.sh", "set -e\nnvcc -O3 -o x x.cu\n./x"),
            ("b/.git", ""),
            (
                "b/CMakeLists.txt",
                "project(b LANGUAGES CUDA)\nadd_subdirectory(csrc)",
            ),
            ("b/setup.py", SETUP),
            ("c/.git", ""),
            (
                "c/CMakeLists.txt",
                "project(c LANGUAGES CXX)\nadd_gpu_library(_C csrc/x.cu)",
            ),
            (
                "c/cmake/utils.cmake",
                "function(add_gpu_library)\n  hipify_sources(${ARGN})\nendfunction()",
            ),
            ("c/sub/CMakeLists.txt", "add_gpu_library(_S part.cu)"),
            (
                "c/demo/CMakeLists.txt",
                "project(demo LANGUAGES CUDA)\nadd_executable(demo demo.cu)",
            ),
            ("d/.git", ""),
            (
                "d/CMakeLists.txt",
                "project(d CUDA)\nadd_library(d csrc/x.cu)",
            ),
            ("d/setup.py", SETUP),
        ];
        for (path, wanted) in [
            ("a/csrc/x.cu", "hipify"),
            ("a/demo/main.cu", "none"),
            ("a/demo/other.cu", "none"),
            ("a/demo/helper.cuh", "none"),
            ("a/tool/src/x.cu", "none"),
            ("a/tool/src/x.cuh", "none"),
            ("a/host/host.cpp", "none"),
            ("a/bench/bench.cu", "none"),
            ("a/run/x.cu", "none"),
            ("b/csrc/x.cu", "hipify"),
            // A header of both builds.
            ("b/csrc/x.cuh", "hipify"),
            ("c/csrc/x.cu", "hipify"),
            ("c/sub/part.cu", "hipify"),
            ("c/demo/demo.cu", "none"),
            // Both build it, and no CUDA build may break.
            ("d/csrc/x.cu", "hipify"),
            ("d/csrc/x.cuh", "hipify"),
            ("d/csrc/y.cu", "none"),
        ] {
            assert_eq!(who(&files, path), wanted, "{path}");
        }
    }

    #[test]
    fn module_in_a_folder_beside_the_source_loads_it() {
        let load = "from torch.utils.cpp_extension import load\n\nload('ops', ['cuda/x.cu'])";
        let files = [
            ("train/src/model.py", load),
            ("train/cuda/x.cu", ""),
            ("train/cuda/y.cu", ""),
            ("train/cuda/deep/cuda/x.cu", ""),
        ];
        assert_eq!(who(&files, "train/cuda/x.cu"), "hipify");
        assert_eq!(who(&files, "train/cuda/y.cu"), "?");
        assert_eq!(who(&files, "train/cuda/deep/cuda/x.cu"), "?");
    }

    #[test]
    fn function_that_gets_the_sources_hipifies_headers() {
        let files = [
            ("x/.git", ""),
            (
                "x/ext/helper.py",
                "import torch.utils.cpp_extension\n\ndef get(name, sources):\n    return torch.utils.cpp_extension.load(name, sources=sources)",
            ),
            (
                "x/demo/run.py",
                "import subprocess\n\nsubprocess.run(['hipify-perl', file])",
            ),
        ];
        for (path, wanted) in [
            ("x/ext/csrc/x.cuh", "hipify"),
            ("x/ext/csrc/alone.cu", "?"),
            ("x/other/x.cuh", "?"),
            ("x/demo/x.cuh", "?"),
        ] {
            assert_eq!(who(&files, path), wanted, "{path}");
        }
    }

    #[test]
    fn mention_in_a_script_is_not_a_build() {
        for (name, text) in [
            (
                "tools/check.py",
                "# Runs hipify over cpp_extension's sources.",
            ),
            ("setup.py", "# TODO: hipify, CUDAExtension\nsetup(name='x')"),
            (
                "setup.py",
                "from torch.utils.cpp_extension import CUDA_HOME, CUDAExtension\n",
            ),
            (
                "setup.py",
                "\"\"\"Not built by cpp_extension.CUDAExtension.\"\"\"\nprint('hipify-perl is not used')",
            ),
            (
                "test_inline.py",
                "from torch.utils.cpp_extension import load_inline\nload_inline('x', '', source)",
            ),
            ("build.sh", "# hipify-perl x.cu\necho 'no hipify here'\n"),
            ("build.sh", "hipify-perl other.cu > other.hip"),
            ("Makefile", "# hipify-perl x.cu\nall:\n\tmake -C src"),
            (
                "CMakeLists.txt",
                "# hipify\nproject(x CXX)\nmessage(STATUS \"hipify-perl is not used\")\nfunction(hipify_all)\nendfunction()",
            ),
            ("build.rs", "// hipify would help\nfn main() {}"),
        ] {
            let name = if name.starts_with("tools/") {
                "check.py"
            } else {
                name
            };
            let files = [("a/.git", ""), (&*format!("a/{name}"), text)];
            assert_eq!(who(&files, "a/csrc/x.cu"), "?", "{text}");
        }
        for (name, text) in [
            ("build.sh", "hipify-perl -inplace csrc/*.cu"),
            ("Makefile", "%.hip: %.cu\n\thipify-perl $< > $@"),
            (
                "build.rs",
                "fn main() { Command::new(\"hipify-perl\").status(); }",
            ),
            ("CMakeLists.txt", "hipify_files(SOURCES)"),
            (
                "CMakeLists.txt",
                "execute_process(COMMAND /opt/rocm/bin/hipify-perl -inplace x.cu)",
            ),
            (
                "setup.py",
                "import subprocess\nsubprocess.run(['hipify-perl', '-inplace', 'csrc/x.cu'])",
            ),
            (
                "setup.py",
                "from torch.utils.hipify import hipify_python\nhipify_python.hipify(project_directory='.')",
            ),
        ] {
            let files = [("a/.git", ""), (&*format!("a/{name}"), text)];
            assert_eq!(who(&files, "a/csrc/x.cu"), "hipify", "{text}");
        }
    }

    #[test]
    fn file_for_other_hosts_is_found_within_the_repository() {
        let all = project_context(&[
            ("a/.git/HEAD", ""),
            ("a/docker/cuda/Dockerfile", ""),
            ("a/docker/rocm/Dockerfile", ""),
            ("a/platforms/cuda.py", ""),
            ("a/platforms/cuda_only.py", ""),
            ("a/platforms/rocm.py", ""),
            ("a/src/CudaStream.h", ""),
            ("a/src/HipStream.h", ""),
            ("a/Dockerfile", ""),
            ("a/Dockerfile.rocm", "# Dockerfile"),
            ("a/requirements.txt", ""),
            ("a/requirements-rocm.txt", "-r requirements.txt\ntorch"),
            ("a/requirements-cuda-legacy.txt", ""),
            ("a/constraints.txt", ""),
            ("a/rocm-constraints.txt", ""),
            ("a/targets/cuda/target_cuda.cmake", ""),
            ("a/targets/hip/target_hip.cmake", ""),
            ("a/targets/cuda/cuda.cmake", ""),
            ("a/kernels/nvidia/gemm.py", ""),
            ("a/kernels/amd/common.py", ""),
            ("a/nv_utils.py", ""),
            ("a/amd_utils.py", ""),
            ("a/utils/cuda.cu", ""),
            ("a/utils/rocm.cpp", ""),
            ("a/ops/wkv_cuda.cu", ""),
            ("a/ops/wkv_hip.hip", ""),
            ("a/ops/norm_cuda.cu", ""),
            (
                "a/ops/norm_hip.hip",
                "// !!! This is a file automatically generated by hipify!!!",
            ),
            ("a/setup.py", ""),
            ("a/setup_rocm.py", ""),
            ("a/images/cu124/Dockerfile.base", ""),
            ("a/images/amd/Dockerfile.7", ""),
            ("a/images/Dockerfile.server", ""),
            ("a/images/cu124/requirements.txt", ""),
            ("a/tools/rocm/build.sh", ""),
            ("a/tools/Dockerfile", ""),
            ("a/requirements_intel.txt", ""),
            ("a/requirements_win.txt", ""),
            ("a/requirements-intel-cuda.txt", ""),
            ("a/requirements/cpu_gpu.txt", ""),
            ("a/npu/server/requirements.txt", ""),
            ("a/Dockerfile.TPU", ""),
            ("a/pyproject_cpu.toml", ""),
            ("a/cpu/cuda/Dockerfile", ""),
            ("a/cpu.py", ""),
            ("cpu/.git/HEAD", ""),
            ("cpu/Dockerfile", ""),
            ("mine-cuda/.git/HEAD", ""),
            ("mine-cuda/x.py", ""),
            ("mine-rocm/x.py", ""),
        ]);
        let of = |path: &str| {
            let mut options = Options {
                language: Language::of_path(path),
                ..Options::default()
            };
            all.fill_options(path, &mut options);
            options.has_amd_sibling
        };
        for (path, amds) in [
            ("a/docker/cuda/Dockerfile", "a/docker/rocm/Dockerfile"),
            ("a/platforms/cuda.py", "a/platforms/rocm.py"),
            ("a/src/CudaStream.h", "a/src/HipStream.h"),
            ("a/Dockerfile", "a/Dockerfile.rocm"),
            ("a/constraints.txt", "a/rocm-constraints.txt"),
            (
                "a/images/cu124/Dockerfile.base",
                "a/images/amd/Dockerfile.7",
            ),
            ("a/requirements-cuda-legacy.txt", "a/requirements-rocm.txt"),
            ("a/kernels/nvidia/gemm.py", "a/kernels/amd/common.py"),
            ("a/nv_utils.py", "a/amd_utils.py"),
            ("a/utils/cuda.cu", "a/utils/rocm.cpp"),
            ("a/ops/wkv_cuda.cu", "a/ops/wkv_hip.hip"),
            (
                "a/targets/cuda/target_cuda.cmake",
                "a/targets/hip/target_hip.cmake",
            ),
        ] {
            assert!(of(path), "{path}");
            assert!(!of(amds), "{amds}");
        }
        for path in [
            "a/images/Dockerfile.server",
            "a/requirements_intel.txt",
            "a/requirements_win.txt",
            "a/npu/server/requirements.txt",
            "a/Dockerfile.TPU",
            "a/pyproject_cpu.toml",
        ] {
            assert!(of(path), "{path}");
        }
        for path in [
            "a/targets/cuda/cuda.cmake",
            "a/platforms/cuda_only.py",
            "a/requirements.txt",
            "a/ops/norm_cuda.cu",
            "a/setup.py",
            "mine-cuda/x.py",
            "a/images/cu124/requirements.txt",
            "a/tools/Dockerfile",
            "a/requirements-intel-cuda.txt",
            "a/requirements/cpu_gpu.txt",
            "a/cpu/cuda/Dockerfile",
            "a/cpu.py",
            "cpu/Dockerfile",
        ] {
            assert!(!of(path), "{path}");
        }
    }

    #[test]
    fn header_with_hip_aliases_applies_to_including_sources() {
        let all = project_context(&[
            ("a/.git/HEAD", ""),
            ("a/include/mine/gpu.hpp", "using cudaError_t = hipError_t;"),
            ("a/include/mine/all.hpp", "#include \"gpu.hpp\""),
            ("a/src/deep/x.cu", "# include <mine/all.hpp>"),
            ("a/src/deep/y.cu", "#include <cuda_runtime.h>"),
            (
                "a/src/gpu.h",
                "#define gpuError_t cudaError_t\n#include \"round.h\"",
            ),
            ("a/src/round.h", "#include \"gpu.h\""),
            ("a/src/z.cu", "#include \"gpu.h\""),
            ("mine/all.hpp", "#define cudaError_t  hipError_t"),
        ]);
        let of = |path: &str| {
            let mut options = Options {
                language: Language::of_path(path),
                ..Options::default()
            };
            all.fill_options(path, &mut options);
            options.has_hip_names
        };
        assert!(of("a/src/deep/x.cu"));
        assert!(of("mine/all.hpp"));
        assert!(!of("a/src/deep/y.cu"));
        assert!(!of("a/src/z.cu"));
    }

    #[test]
    fn macros_for_amd_apply_to_including_sources() {
        let all = project_context(&[
            (
                "a/compat.cuh",
                "#ifdef USE_ROCM\n#define __stwb(to, x) *to = x\n#else\n#define NVIDIAS 1\n#endif\n#define BOTH 1",
            ),
            ("a/more.cuh", "#include \"compat.cuh\""),
            ("a/cub.h", "#define CubDebugExit(e) check(e)"),
            ("a/x.cu", "#include \"more.cuh\"\n#include \"part.cuh\""),
            ("a/y.cu", "#include \"compat.cuh\"\n#include \"part.cuh\""),
            ("a/z.cu", "#include \"cub.h\"\n#include \"other.cuh\""),
            ("a/w.cu", "#include \"compat.cuh\"\n#include \"other.cuh\""),
            ("a/part.cuh", ""),
            ("a/other.cuh", ""),
            ("a/alone.cu", ""),
        ]);
        let of = |path: &str| {
            let mut options = Options {
                language: Language::of_path(path),
                ..Options::default()
            };
            all.fill_options(path, &mut options);
            options.amd_macros
        };
        for path in ["a/x.cu", "a/y.cu", "a/w.cu", "a/part.cuh", "a/more.cuh"] {
            assert_eq!(of(path), "__stwb ", "{path}");
        }
        assert_eq!(of("a/z.cu"), "CubDebugExit ");
        // Only some of those that include it have the macro.
        for path in ["a/other.cuh", "a/alone.cu"] {
            assert_eq!(of(path), "", "{path}");
        }
    }

    #[test]
    fn first_party_modules_are_limited_to_the_repository() {
        let all = project_context(&[
            ("b.py", ""),
            ("a/.git/HEAD", ""),
            ("a/flash_attn/__init__.py", ""),
            ("a/src/inner/__init__.py", ""),
            ("a/spaces/one/__init__.py", ""),
            ("a/other/setup.py", ""),
            ("a/other/other/__init__.py", ""),
            ("a/docs/index.md", ""),
            (
                "a/setup.py",
                "CUDAExtension(name=\"flash_attn_2_cuda\", sources=[])",
            ),
            ("a/hopper/setup.py", "setup(name='flash_attn_3')"),
            ("a/hopper/flash_attn_interface.py", ""),
            ("a/tests/test_it.py", ""),
        ]);
        let of = |folder: &str| {
            let mut modules = all.first_party_modules(folder).to_vec();
            modules.sort();
            modules.dedup();
            modules
        };
        let root = [
            "flash_attn",
            "flash_attn_2_cuda",
            "inner",
            "setup",
            "spaces",
            "src",
        ];
        assert_eq!(of("a/tests"), root);
        let hopper = [
            "flash_attn",
            "flash_attn_2_cuda",
            "flash_attn_3",
            "flash_attn_interface",
            "inner",
            "setup",
            "spaces",
            "src",
        ];
        assert_eq!(of("a/hopper"), hopper);
        assert_eq!(of(""), [""; 0]);
    }
}
