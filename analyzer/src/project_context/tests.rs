//! What the files around a file say about it, on folders in memory.

use super::*;
use hipward_analyzer_core::Severity;

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
fn listed_path_in_a_setup_script_counts_more_than_a_cmake_file_below_it() {
    let files = [
        ("a/.git", ""),
        (
            "a/setup.py",
            "from torch.utils.cpp_extension import CUDAExtension\n\nCUDAExtension('ops', ['ops/csrc/x.cu'])",
        ),
        (
            "a/ops/csrc/CMakeLists.txt",
            "project(ops LANGUAGES CXX CUDA)\nfile(GLOB S ${CMAKE_CURRENT_SOURCE_DIR}/*.cu)\nadd_library(ops ${S})",
        ),
        (
            "a/other/ops/csrc/CMakeLists.txt",
            "project(other LANGUAGES CXX CUDA)\nadd_library(other x.cu)",
        ),
    ];
    for (path, wanted) in [
        ("a/ops/csrc/x.cu", "hipify"),
        ("a/ops/csrc/include/x.cuh", "hipify"),
        ("a/ops/csrc/test.cu", "none"),
        ("a/other/ops/csrc/x.cu", "none"),
        ("a/other/ops/csrc/x.cuh", "none"),
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
fn module_names_the_sources_and_another_one_builds_them() {
    let build = "from torch.utils.cpp_extension import load\n\ndef build(**arguments):\n    return load(**arguments)\n";
    let sources = "def sources(root, dtype):\n    return [str(root / 'gemm' / 'x.cu'), str(root / f'y_{dtype}.cu')]\n";
    let files = [
        ("setup.py", "from setuptools import setup\n\nsetup()\n"),
        ("package/utils/build.py", build),
        ("package/ops/gemm.py", sources),
        ("package/ops/all.py", "files = list(root.glob('*.cu'))"),
        (
            "package/ops/cupy.py",
            "module = RawModule(code=open('z.cu').read())",
        ),
        ("csrc/gemm/x.cu", ""),
        ("csrc/gemm/deep/x.cuh", ""),
        ("csrc/other/w.cuh", ""),
        ("vendored/setup.py", ""),
        ("vendored/x.cu", ""),
    ];
    for (path, wanted) in [
        ("csrc/gemm/x.cu", "hipify"),
        ("csrc/y_bf16.cu", "hipify"),
        ("csrc/gemm/deep/x.cuh", "hipify"),
        ("csrc/other/w.cuh", "?"),
        ("csrc/w.cu", "?"),
        ("csrc/z.cu", "?"),
        ("vendored/x.cu", "?"),
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
fn listed_source_includes_others() {
    let setup = "from torch.utils.cpp_extension import CUDAExtension\n\nCUDAExtension('ops', ['acme/all.cu', 'acme/x.cpp'])";
    let files = [
        ("a/.git", ""),
        ("a/setup.py", setup),
        (
            "a/acme/all.cu",
            "#include <vector>\n#include \"CUDA/pool.cu\"\n#include \"CUDA/norm.cu\"\n",
        ),
        ("a/acme/CUDA/pool.cu", ""),
        ("a/acme/CUDA/norm.cu", ""),
        ("a/acme/CUDA/alone.cu", ""),
    ];
    assert_eq!(who(&files, "a/acme/CUDA/pool.cu"), "hipify");
    assert_eq!(who(&files, "a/acme/CUDA/norm.cu"), "hipify");
    assert_eq!(who(&files, "a/acme/CUDA/alone.cu"), "?");
}

#[test]
fn source_of_a_branch_for_cuda_is_not_for_amd() {
    let setup = "import torch\nfrom torch.utils.cpp_extension import CUDAExtension\n\nuse_cuda = torch.version.cuda and CUDA_HOME\nsources = ['csrc/both.cu']\nif use_cuda:\n    sources.append('csrc/cutlass.cu')\n";
    let with_rocm = format!("{setup}use_rocm = torch.version.hip\nCUDAExtension('ops', sources)");
    let without = format!("{setup}CUDAExtension('ops', sources)");
    let all = project_context(&[
        ("a/.git", ""),
        ("a/setup.py", &with_rocm),
        ("a/csrc/both.cu", ""),
        ("a/csrc/cutlass.cu", ""),
        ("d/.git", ""),
        ("d/setup.py", &with_rocm),
        ("d/csrc/cutlass.cu", ""),
        ("b/.git", ""),
        // A project that is not ported yet.
        ("b/setup.py", &without),
        ("c/.git", ""),
        ("c/setup.py", &with_rocm),
        ("c/csrc/CMakeLists.txt", "add_library(ops cutlass.cu)"),
    ]);
    let is_information = |path| all.is_unused_on_amd(path, Some(Language::CudaCpp));
    assert!(is_information("a/csrc/cutlass.cu"));
    assert!(is_information("d/csrc/tiles.cuh"));
    for path in [
        "a/csrc/both.cu",
        "a/csrc/tiles.cuh",
        "b/csrc/cutlass.cu",
        "c/csrc/cutlass.cu",
    ] {
        assert!(!is_information(path), "{path}");
    }
}

#[test]
fn sources_that_no_build_lists_are_information() {
    let setup = |sources: &str| {
        format!(
            "from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('ops', {sources})"
        )
    };
    let listing = setup("['csrc/a.cu', 'csrc/b.cpp']");
    let listing_a_test = setup("['csrc/a.cu', 'library/test/listed.cu']");
    let matching = setup("glob('csrc/*.cu') + ['csrc/b.cpp']");
    let all = project_context(&[
        ("a/.git", ""),
        ("a/setup.py", &listing),
        ("a/csrc/a.cu", "#include \"part.cu\"\n"),
        ("a/csrc/b.cpp", ""),
        ("a/csrc/part.cu", ""),
        ("a/csrc/main.cu", ""),
        ("a/csrc/a.cuh", ""),
        ("a/tests/main.cu", ""),
        ("a/library/LICENSE.txt", ""),
        (
            "a/library/example/CMakeLists.txt",
            "add_executable(show show.cu)",
        ),
        ("a/library/example/show.cu", ""),
        ("a/library/example/show.hpp", ""),
        ("a/library/include/x.cuh", ""),
        ("b/.git", ""),
        ("b/setup.py", &matching),
        ("b/csrc/main.cu", ""),
        ("b/csrc/b.cpp", ""),
        ("d/.git", ""),
        ("d/setup.py", &listing_a_test),
        ("d/library/LICENSE", ""),
        ("d/library/test/listed.cu", ""),
        ("c/.git", ""),
        ("c/LICENSE", ""),
        (
            "c/csrc/CMakeLists.txt",
            "project(c LANGUAGES CUDA)\nadd_library(c a.cu)",
        ),
        ("c/csrc/a.cu", ""),
        ("c/csrc/main.cu", ""),
        ("c/examples/main.cu", ""),
        ("e/.git", ""),
        (
            "e/CMakeLists.txt",
            "project(e CUDA)\nadd_library(e csrc/a.cu)\nadd_executable(t csrc/${name}_test.cu)",
        ),
        ("e/csrc/a.cu", ""),
        ("e/csrc/main.cu", ""),
        ("e/csrc/a_test.cu", ""),
        ("e/old/stash/try.cu", ""),
        ("e/stash/CMakeLists.txt", "add_library(kept kept.cu)"),
        ("e/stash/kept.cu", ""),
        ("archive/f/setup.py", &listing),
        ("archive/f/tools/try.cu", ""),
    ]);
    let is_information = |path| all.is_unused_on_amd(path, Some(Language::CudaCpp));
    for path in [
        "a/csrc/main.cu",
        "a/library/example/show.cu",
        "a/library/example/show.hpp",
        "c/csrc/main.cu",
        "e/csrc/main.cu",
        "e/old/stash/try.cu",
    ] {
        assert!(is_information(path), "{path}");
    }
    for path in [
        "a/csrc/a.cu",
        "a/csrc/part.cu",
        "a/csrc/a.cuh",
        "a/tests/main.cu",
        "a/library/include/x.cuh",
        "b/csrc/main.cu",
        "c/csrc/a.cu",
        "c/examples/main.cu",
        "e/csrc/a_test.cu",
        "d/library/test/listed.cu",
    ] {
        assert!(!is_information(path), "{path}");
    }
}

#[test]
fn copy_of_cutlass_in_a_project_is_information() {
    let all = project_context(&[
        ("a/.git", ""),
        ("a/setup.py", "CUDAExtension('a', ['csrc/a.cu'])"),
        ("a/csrc/a.cu", ""),
        ("a/third_party/cutlass/include/cutlass/cutlass.h", ""),
        ("a/third_party/cutlass/include/cute/tensor.hpp", ""),
        ("cutlass/.git", ""),
        ("cutlass/include/cutlass/cutlass.h", ""),
    ]);
    let is_information = |path| all.is_unused_on_amd(path, Some(Language::CudaCpp));
    assert!(is_information(
        "a/third_party/cutlass/include/cute/tensor.hpp"
    ));
    assert!(!is_information("a/csrc/a.cu"));
    assert!(!is_information("cutlass/include/cutlass/cutlass.h"));
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
        ("a/mlx/requirements.txt", ""),
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
        options.is_unused_on_amd
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
        "a/mlx/requirements.txt",
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
fn checkpoints_with_arguments_are_found_in_modules_that_train() {
    let save = "import torch\ndef save(model, args):\n    state = {'args': args, 'steps': 1}\n    state['model'] = model.state_dict()\n    torch.save(state, 'last.pth')\n";
    let all = project_context(&[
        ("a/.git/HEAD", ""),
        ("a/vq/tokenizer/vq_train.py", save),
        (
            "a/models/layers.py",
            "state = {'args': args, 'layers': 1}\nsave(state)",
        ),
        (
            "a/engine.py",
            "torch.save({\"args\": vars(args), \"ema\": ema}, path)",
        ),
        ("b/.git/HEAD", ""),
        ("b/sample.py", ""),
        ("c/main.py", save),
    ]);
    let of = |folder: &str| all.saved_with_arguments(folder).to_vec();
    for folder in ["a", "a/sample/classes"] {
        assert_eq!(of(folder), ["steps", "model"], "{folder}");
    }
    assert!(of("b").is_empty());
    // Where the project ends is not known.
    assert!(of("c").is_empty());
}

#[test]
fn releases_are_limited_by_the_requirements_around_a_file() {
    let all = project_context(&[
        ("a/.git/HEAD", ""),
        (
            "a/requirements/base.txt",
            "transformers==4.36.2\nnumpy==1.24\npytorch_lightning>=1.5,<2",
        ),
        (
            "a/setup.cfg",
            "[options]\ninstall_requires =\n    librosa==0.9.2  # as in a/b\n",
        ),
        (
            "a/uv.lock",
            "[[package]]\nname = \"datasets\"\nversion = \"2.1.0\"\n",
        ),
        (
            "a/demo/environment.yml",
            "dependencies:\n  - moviepy=1.0.3\n  - pip:\n    - diffusers~=0.18.2\n",
        ),
        ("b/requirements.txt", "transformers>=4.36"),
    ]);
    let of = |folder: &str| all.release_limits(folder).to_vec();
    let root = [
        "librosa 0.9",
        "transformers 4.36",
        "pytorch-lightning 1.999",
    ];
    assert_eq!(of("a/src"), root);
    assert_eq!(
        of("a/demo/app"),
        [&root[..], &["moviepy 1.0", "diffusers 0.18"]].concat()
    );
    assert!(of("b").is_empty());
}

#[test]
fn modules_beside_requirements_import_torch() {
    let all = project_context(&[
        ("a/requirements.txt", "numpy==1.13.3"),
        ("a/train.py", "import torch"),
        ("b/requirements/base.txt", "numpy==1.13.3"),
        ("b/model.py", "from torch import nn"),
        ("c/requirements.txt", "numpy==1.13.3"),
        ("c/src/deep/model.py", "import torch"),
    ]);
    let found = ["a", "b/requirements", "c"].map(|folder| all.imports_torch(folder));
    assert_eq!(found, [true, true, false]);
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
        (
            "a/vendor.h",
            "#ifdef USE_ROCM\nnamespace cub = hipcub;\n#endif",
        ),
        ("a/v.cu", "#include \"vendor.h\""),
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
    assert_eq!(of("a/v.cu"), "cub ");
    // Only some of those that include it have the macro.
    for path in ["a/other.cuh", "a/alone.cu"] {
        assert_eq!(of(path), "", "{path}");
    }
}

#[test]
fn gates_of_modules_around_a_file_are_known() {
    let gates = "import torch\n\n\ndef is_cuda_build():\n    \"\"\"Not on ROCm.\"\"\"\n    return torch.cuda.is_available() and torch.version.cuda is not None\n\n\nHAS_NVIDIA = bool(torch.version.cuda)\nDEBUG = False\n\n\ndef both():\n    return torch.version.cuda or torch.version.hip\n";
    let all = project_context(&[
        ("a/.git/HEAD", ""),
        ("a/acme/__init__.py", ""),
        ("a/acme/utils.py", gates),
        ("a/acme/ops/deep/x.py", ""),
        (
            "a/acme/other/utils.py",
            "def is_cuda_build():\n    return True\n",
        ),
        ("a/benchmarks/x.py", ""),
        ("b/x.py", ""),
        ("c/.git/HEAD", ""),
        ("c/src/acme/__init__.py", ""),
        ("c/src/acme/utils/device.py", gates),
        ("c/tests/x.py", ""),
    ]);
    let known = |folder: &str| {
        all.false_on_amd(folder)
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let absolute = ["acme.utils.is_cuda_build", "acme.utils.HAS_NVIDIA"];
    let relative = [".utils.is_cuda_build", ".utils.HAS_NVIDIA"];
    let mut in_ops = known("a/acme/ops/deep");
    in_ops.sort();
    let mut both: Vec<_> = [absolute, relative].concat();
    both.sort_unstable();
    assert_eq!(in_ops, both);
    // The nearest module of a name counts in relative imports.
    assert_eq!(known("a/acme/other"), absolute);
    assert_eq!(known("a/benchmarks"), absolute);
    assert!(known("b").is_empty());
    let in_utils = ["utils.device.is_cuda_build", "utils.device.HAS_NVIDIA"];
    assert_eq!(known("c/tests"), in_utils);
}

#[test]
fn modules_that_their_neighbours_import_in_a_try_are_optional() {
    let model = "import torch\n\ntry:\n    from .flash_attention import FlashAttention\n\n    has_flash = True\nexcept ImportError:\n    from .slow_attention import SlowAttention\n    has_flash = False\n";
    let all = project_context(&[
        ("a/model/__init__.py", ""),
        ("a/model/modeling.py", model),
        ("a/model/encoder.py", model),
        ("a/model/flash_attention.py", "import flash_attn\n"),
        ("a/model/slow_attention.py", ""),
        ("a/model/attention.py", ""),
        ("b/modeling.py", model),
        ("b/head.py", "from .flash_attention import FlashAttention\n"),
        ("b/flash_attention.py", "import flash_attn\n"),
        (
            "c/lazy.py",
            "def run():\n    from flash_attention import run\n",
        ),
        ("c/flash_attention.py", "import flash_attn\n"),
    ]);
    assert!(all.is_optional_module("a/model/flash_attention.py"));
    for path in [
        "a/model/slow_attention.py",
        "a/model/attention.py",
        "a/model/modeling.py",
        "b/flash_attention.py",
        "c/flash_attention.py",
    ] {
        assert!(!all.is_optional_module(path), "{path}");
    }
    let source = "import flash_attn\n\n\ndef run(x):\n    import apex\n\n    return apex.run(x)\n";
    let mut options = Options {
        language: Some(Language::Python),
        ..Options::default()
    };
    let severities = |options: &Options| {
        let findings = crate::analyze(source, options).findings;
        let severities = findings.iter().map(|finding| finding.severity);
        severities.collect::<Vec<_>>()
    };
    let before = severities(&options);
    assert!(!before.contains(&Severity::Info), "{before:?}");
    options.is_optional_module = true;
    assert_eq!(severities(&options), [Severity::Info, before[1]]);
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

#[test]
fn switches_that_nothing_sets_are_found() {
    let header = "#pragma once\n#ifdef ACME_USE_FP8\n#endif\n#if defined(ACME_ENABLE_BF16)\n#endif\n#ifdef NDEBUG\n#endif\n";
    let setup =
        "from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('x', ['csrc/x.cu'])";
    let unset = |files: &[(&str, &str)]| {
        let mut all = InMemoryFiles::default();
        for (path, text) in [("a/.git", ""), ("a/csrc/types.cuh", header)]
            .iter()
            .chain(files)
        {
            all.add(path, Some(text));
        }
        ProjectContext::new(all).unset_switches("a/csrc/types.cuh")
    };
    let build = ("a/setup.py", setup);
    let source = ("a/csrc/x.cu", "#include \"types.cuh\"\n");
    assert_eq!(unset(&[build, source]), "ACME_USE_FP8 ACME_ENABLE_BF16");
    // Without a build nothing is known.
    assert_eq!(unset(&[source]), "");
    let with_flag = "from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('x', ['csrc/x.cu'], extra_compile_args=['-DACME_USE_FP8'])";
    assert_eq!(
        unset(&[("a/setup.py", with_flag), source]),
        "ACME_ENABLE_BF16"
    );
    for setting in [
        ("a/cmake/options.cmake", "option(ACME_USE_FP8 \"\" ON)"),
        ("a/Makefile", "FLAGS += -DACME_USE_FP8"),
        ("a/csrc/config.h", "# define ACME_USE_FP8 1\n"),
    ] {
        assert_eq!(
            unset(&[build, source, setting]),
            "ACME_ENABLE_BF16",
            "{setting:?}"
        );
    }
}

#[test]
fn sources_that_were_moved_are_hipified_as_those_that_the_build_lists() {
    let setup = "from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('scan', ['csrc/scan/a.cu', 'csrc/b.cu'])";
    let all = project_context(&[
        (".git", ""),
        ("kernels/setup.py", setup),
        ("kernels/scan/a.cu", ""),
        ("kernels/csrc/b.cu", ""),
        ("kernels/old/b.cu", ""),
    ]);
    assert_eq!(all.pytorch_extension("kernels/scan/a.cu"), Some(true));
    assert_eq!(all.pytorch_extension("kernels/old/b.cu"), None);
}
