//! Information of the semantic layer other than names. Names and constants are tested in `fixtures/names`.

use hipward_analyzer::{Language, Options, Severity, analyze};

fn modules(source: &str) -> Vec<String> {
    analyze(source, &Options::default()).contract.modules
}

#[test]
fn base_classes_are_followed_within_one_module() {
    let source = "\
import torch.nn as nn
from torch import nn as layers
from lightning import LightningModule

class Base(layers.Module): ...
Alias = Base
class Child(Alias): ...
class Grandchild(Child): ...
class Stack(nn.Sequential): ...
class Trainer(LightningModule): ...
class Plain: ...
class Loop(Loop): ...
class Mixed(Plain, Grandchild): ...
";
    assert_eq!(
        modules(source),
        ["Base", "Child", "Grandchild", "Stack", "Trainer", "Mixed"]
    );
}

#[test]
fn class_with_another_base_is_not_a_module() {
    let source = "\
class nn:
    class Module: ...
class Model(nn.Module): ...
class Other(unknown.Module): ...
";
    assert!(modules(source).is_empty());
}

/// In flash-attn's own repository, `flash_attn` is the code to port, not a dependency to replace.
#[test]
fn first_party_modules_are_not_reported() {
    let source = "import flash_attn\nimport apex.normalization\nimport pynvml\nimport cupy\n";
    let rules = |first_party_modules: &[&str]| -> Vec<String> {
        let options = {
            let mut options = Options::default();
            options.first_party_modules = first_party_modules
                .iter()
                .map(|&name| name.to_owned())
                .collect();
            options
        };
        let findings = analyze(source, &options).findings;
        findings.into_iter().map(|finding| finding.rule).collect()
    };
    assert_eq!(rules(&[]), ["flash-attn", "apex", "pynvml", "cupy"]);
    assert_eq!(rules(&["flash_attn", "apex", "pynvml"]), ["cupy"]);
}

#[test]
fn returned_attention_weights_are_detected_by_name() {
    let says_so = |returned: &str| {
        let source = format!(
            "import torch\ndef attend(q, k, v):\n    weights = torch.softmax(q @ k.mT, dim=-1)\n    \
             out = weights @ v\n    return {returned}\n"
        );
        let report = analyze(&source, &Options::default());
        assert_eq!(report.findings.len(), 1, "{source}");
        report.findings[0].message.contains("also returned")
    };
    for returned in [
        "out, weights",
        "Output(out, weights=weights)",
        "(out, (weights,))",
    ] {
        assert!(says_so(returned), "{returned}");
    }
    for returned in [
        "out",
        "weights @ v",
        "torch.matmul(weights, v)",
        "torch.einsum('bhij,bhjd->bhid', weights, v)",
    ] {
        assert!(!says_so(returned), "{returned}");
    }
}

/// Functions of the project's other modules are false on AMD: checks by them fail, and code behind them does not run.
#[test]
fn gates_of_other_modules_are_followed() {
    let rules = |import: &str, body: &str| -> Vec<String> {
        let mut options = Options::default();
        options.language = Some(Language::Python);
        options.false_on_amd = "acme.utils.is_cuda_build .utils.is_cuda_build".to_owned();
        let source = format!("{import}\n\n\ndef run(x):\n{body}");
        let findings = analyze(&source, &options).findings;
        findings.into_iter().map(|finding| finding.rule).collect()
    };
    let check = "    assert is_cuda_build(), 'no GPU'\n    return x\n";
    let raises =
        "    if not is_cuda_build():\n        raise RuntimeError('no GPU')\n    return x\n";
    let branch =
        "    if is_cuda_build():\n        import pynvml\n        pynvml.nvmlInit()\n    return x\n";
    for import in [
        "from acme.utils import is_cuda_build",
        "from .utils import is_cuda_build",
        "from ..utils import is_cuda_build",
        "from ..utils import (\n    other as another,\n    is_cuda_build,\n)",
    ] {
        assert_eq!(rules(import, check), ["version-cuda-gate"], "{import}");
        assert_eq!(rules(import, raises), ["version-cuda-gate"], "{import}");
        assert!(rules(import, branch).is_empty(), "{import}");
    }
    let other = "from other.utils import is_cuda_build";
    assert!(rules(other, check).is_empty());
    assert_eq!(rules(other, branch), ["pynvml"]);
}

/// A requirement of a release without a wheel for the target's Python has to change.
#[test]
fn limit_below_what_the_python_can_install_hides_nothing() {
    let source = "import librosa\n\nwindow = librosa.util.pad_center(x, 1024, axis=0)\n";
    let ids = |limit: &str| -> Vec<String> {
        let mut options = Options::default();
        options.language = Some(Language::Python);
        options.release_limits = vec![limit.to_owned()];
        let findings = analyze(source, &options).findings;
        findings
            .iter()
            .map(|finding| finding.id.to_string())
            .collect()
    };
    assert_eq!(ids("librosa 0.6"), ["HW413"]);
    assert!(ids("librosa 0.9").is_empty());
}

/// Pins are for the Python of the project's PyTorch.
#[test]
fn pins_are_checked_beside_code_that_imports_torch() {
    let ids = |imports_torch: bool| -> Vec<String> {
        let mut options = Options::default();
        options.language = Some(Language::Requirements);
        options.imports_torch = imports_torch;
        let findings = analyze("numpy==1.13.3\nray==2.6.1\n", &options).findings;
        findings
            .iter()
            .map(|finding| finding.id.to_string())
            .collect()
    };
    assert_eq!(ids(true), ["HW019", "HW019"]);
    assert!(ids(false).is_empty());
}

/// What a later release removed is there.
#[test]
fn removed_names_are_not_reported_below_a_limit_of_the_project() {
    let source =
        "from transformers import AdamW\nfrom PIL import Image\n\nsize = Image.ANTIALIAS\n";
    let severities = |limits: &[&str]| -> Vec<Severity> {
        let mut options = Options::default();
        options.language = Some(Language::Python);
        options.release_limits = limits.iter().map(|limit| (*limit).to_owned()).collect();
        let findings = analyze(source, &options).findings;
        findings.iter().map(|finding| finding.severity).collect()
    };
    let both = [Severity::Warning, Severity::Error];
    assert_eq!(severities(&[]), both);
    assert_eq!(
        severities(&["transformers 4.50", "transformers-x 4.1"]),
        both
    );
    assert_eq!(severities(&["transformers 4.49"]), [Severity::Error]);
    // Nothing that the project could install for this Python has it.
    assert_eq!(
        severities(&["transformers 4.9", "pillow 9.5"]),
        [Severity::Error]
    );
}

/// Another module of the project saves the parsed arguments in the checkpoint.
#[test]
fn checkpoints_of_other_modules_are_recognized_by_their_keys() {
    let found = |body: &str, keys: &[&str]| {
        let mut options = Options::default();
        options.language = Some(Language::Python);
        options.saved_with_arguments = keys.iter().map(|key| (*key).to_owned()).collect();
        let source = format!("import torch\n\n\ndef load(args, model):\n{body}");
        let findings = analyze(&source, &options).findings;
        findings.iter().any(|finding| {
            finding.rule == "torch-load-weights-only"
                && finding.message.contains("another file of the project")
        })
    };
    let named = "    checkpoint = torch.load(args.vq_ckpt, map_location=\"cpu\")\n    model.load_state_dict(checkpoint['model'])\n";
    let direct = "    model.load_state_dict(torch.load(args.resume)[\"model\"])\n";
    for body in [named, direct] {
        assert!(found(body, &["steps", "model"]), "{body}");
        assert!(!found(body, &["state_dict"]), "{body}");
        assert!(!found(body, &[]), "{body}");
    }
    let computed = "    saved = torch.load(args.resume)\n    for key in args.keys:\n        model.load_state_dict(saved[key])\n";
    assert!(found(computed, &["model"]));
    assert!(!found(computed, &[]));
    for other in [
        "    model.load_state_dict(torch.load(args.pretrained_ckpt)[\"model\"])\n",
        "    model.load_state_dict(torch.load(args.weights)[\"model\"])\n",
        "    model.load_state_dict(torch.load(args.resume, weights_only=False)[\"model\"])\n",
        "    model.load_state_dict(torch.load(args.resume))\n",
    ] {
        assert!(!found(other, &["model"]), "{other}");
    }
}

/// A header defines macros for AMD: none of these names is CUDA's there.
#[test]
fn macros_of_a_header_for_amd_are_not_cudas_names() {
    let source = "#include <torch/extension.h>\n#include \"compat.cuh\"\nstd::vector<cudaKernelNodeParams> nodes;\n__device__ float f(float x) {\n    __stwb(&x, x);\n    return __shfl_sync(0xffffffff, x, 0);\n}\n";
    let count = |names: &str| {
        let mut options = Options::default();
        options.language = Some(Language::CudaCpp);
        options.amd_macros = names.to_owned();
        analyze(source, &options).findings.len()
    };
    assert_eq!(count(""), 3);
    assert_eq!(count("__stwb __shfl_sync"), 1);
    assert_eq!(count("__stwb __shfl_sync cudaKernelNodeParams"), 0);
}

/// Nothing in the project sets a switch: what its branch contains is not compiled.
#[test]
fn branches_of_switches_that_nothing_sets_are_information() {
    let source = "#include <torch/extension.h>\n#ifdef ACME_USE_FP8\n#include <cuda_fp8.h>\n__nv_fp8_e4m3 small(float x) { return __nv_fp8_e4m3(x); }\n#endif\n#ifdef ACME_USE_PTX\n__device__ void wait() { asm volatile(\"bar.sync 0;\"); }\n#endif\n";
    let severities = |unset: &str| {
        let mut options = Options::default();
        options.language = Some(Language::CudaCpp);
        options.unset_switches = unset.to_owned();
        let findings = analyze(source, &options).findings;
        let errors = findings.iter().filter(|it| it.severity == Severity::Error);
        (errors.count(), findings.len())
    };
    let (errors, all) = severities("");
    assert_eq!((errors, all), (all, all));
    assert_eq!(severities("ACME_USE_FP8"), (1, all));
    assert_eq!(severities("ACME_USE_FP8 ACME_USE_PTX"), (0, all));
}

/// A header defines CUDA's names for AMD. A library's header beside it does not change that; CUDA's own header does, because it
/// is missing on AMD.
#[test]
fn names_of_a_header_for_amd_need_no_change() {
    let rules = |header: &str| -> Vec<String> {
        let mut options = Options::default();
        options.language = Some(Language::CudaCpp);
        options.has_hip_names = true;
        let source = format!(
            "#include \"common.cuh\"\n#ifdef USE_CUB\n#include <{header}>\n#endif\nvoid f(cudaStream_t stream);\n"
        );
        let findings = analyze(&source, &options).findings;
        findings.into_iter().map(|finding| finding.rule).collect()
    };
    assert_eq!(rules("cub/cub.cuh"), ["cuda-header"]);
    assert_eq!(rules("cuda_runtime.h"), ["cuda-header", "cuda-api"]);
}

/// One finding for a library that has to be rewritten, with the lines of its other uses.
#[test]
fn uses_of_a_library_are_listed_in_one_finding() {
    let mut options = Options::default();
    options.language = Some(Language::CudaCpp);
    let source = "#include <cutlass/gemm.h>\n#include <cutlass/half.h>\nusing Half = cutlass::half_t;\n\nint a;\ncutlass::gemm::Mode mode(cutlass::half_t);\n";
    let report = analyze(source, &options);
    let messages: Vec<&str> = report
        .findings
        .iter()
        .map(|it| it.message.as_str())
        .collect();
    let [message] = messages[..] else {
        panic!("{messages:?}");
    };
    assert!(message.ends_with(" Also in lines 2-3, 6."), "{message}");
    // The lines of a string are not those of its source.
    let python = format!(
        "from torch.utils.cpp_extension import load_inline\n\nload_inline('a', cpp_sources='', cuda_sources=\"\"\"{source}__global__ void k() {{}}\\n\"\"\")\n"
    );
    let report = analyze(&python, &Options::default());
    let named: Vec<&str> = report
        .findings
        .iter()
        .map(|it| it.message.as_str())
        .filter(|it| it.contains("CUTLASS"))
        .collect();
    assert!(
        matches!(named[..], [message] if !message.contains("Also in")),
        "{named:?}"
    );
}
