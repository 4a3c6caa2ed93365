//! HW305: nvcc options in a build script written in Python.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{assigned_to, has_text};
use crate::rules::helpers::table_rules::{self, ApiPattern, ApiRule, api_rule};
use crate::semantic::{string, tells_rocm_apart};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds options that only nvcc accepts, such as `-gencode` and `--use_fast_math`, in `setup.py` and in calls of
    /// `torch.utils.cpp_extension.load`. Also finds macros such as `-DFUSED_CUDA` in `extra_compile_args={"nvcc": […]}`,
    /// `torch.cuda.get_gencode_flags()`, which raises ValueError on ROCm, and `RWKV_CUDA_ON=1`, with which the package rwkv uses
    /// such options.
    ///
    /// ## Why on ROCm
    ///
    /// `CUDAExtension` works on ROCm: PyTorch converts the sources, compiles them with hipcc and passes it the options
    /// in `extra_compile_args={"nvcc": […]}`. hipcc is clang, which stops at an unknown argument: `-gencode`,
    /// `-arch=sm_80`, `--expt-relaxed-constexpr`, `--expt-extended-lambda`, `--use_fast_math`, `--ptxas-options`,
    /// `-Xptxas`, `--threads`, `-maxrregcount`, `-ccbin`, `-rdc=true`, `--default-stream`. For hipcc, `PYTORCH_ROCM_ARCH` sets the architecture, relaxed
    /// `constexpr` and device lambdas need no option, and `-ffast-math` replaces `--use_fast_math`.
    ///
    /// In each of these options PyTorch replaces the first CUDA by HIP. `-U__CUDA_NO_HALF_OPERATORS__` thus has its effect on
    /// ROCm too, but `-DFUSED_CUDA` becomes `-DFUSED_HIP`, and `#ifdef FUSED_CUDA` is false. `load` and `load_inline` pass
    /// `extra_cuda_cflags` unchanged: `-U__CUDA_NO_HALF_OPERATORS__` leaves `__HIP_NO_HALF_OPERATORS__` defined there.
    ///
    /// hipify converts the headers of an extension that lie beside the source or in a folder of `include_dirs`. Headers in a folder
    /// that `extra_compile_args` names with `-I` keep `#include <cuda_runtime.h>`, which hipcc does not find.
    ///
    /// ## Example
    ///
    /// ```python
    /// from torch.utils.cpp_extension import CUDAExtension
    ///
    /// extension = CUDAExtension(
    ///     "ops",
    ///     ["ops.cu"],
    ///     extra_compile_args={"nvcc": ["-O3", "-gencode", "arch=compute_80,code=sm_80"]},
    /// )
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    /// from torch.utils.cpp_extension import CUDAExtension
    ///
    /// flags = ["-O3"] if torch.version.hip else ["-O3", "-gencode", "arch=compute_80,code=sm_80"]
    /// extension = CUDAExtension("ops", ["ops.cu"], extra_compile_args={"nvcc": flags})
    /// ```
    ///
    /// A source that checks `torch.version.hip` anywhere is not reported, nor are options in an argument that setuptools
    /// ignores, such as `extra_cuda_cflags` of a `CUDAExtension` and `extra_compile_args` of `setup`.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the options are correct for nvcc.
    ///
    /// ## References
    ///
    /// * [torch.utils.cpp_extension](https://docs.pytorch.org/docs/stable/cpp_extension.html)
    /// * [hipcc and clang options](https://rocm.docs.amd.com/projects/HIPCC/en/latest/)
    "HW305" "nvcc-flags" {
        title: "hipcc does not accept nvcc's options",
        family: BackendCode,
        severity: Error,
        also: [Warning "for a macro that has another name on ROCm, and for headers that hipify does not find"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        visit: [String, Call, Subscript],
    }
}
/// Prefixes of the options that make clang stop. `-lineinfo`, `-Xcompiler` as a word of its own and `-use_fast_math` only
/// cause a warning.
const UNKNOWN: &[&str] = &[
    "-gencode",
    "--generate-code",
    "--expt-relaxed-constexpr",
    "--expt-extended-lambda",
    "--extended-lambda",
    "-Xcompiler=",
    "--use_fast_math",
    "--ptxas-options",
    "-Xptxas",
    "-arch=",
    "-maxrregcount",
    "--maxrregcount",
    "--generate-line-info",
    "-ccbin",
    "-rdc=",
    "--relocatable-device-code",
    "--default-stream",
    "--threads",
    "--forward-unknown",
    "--Werror",
    "--diag_suppress",
    "-Xcudafe",
    "-Xfatbin",
    "--compiler-options",
    "--extra-device-vectorization",
    "--resource-usage",
    "-res-usage",
];

const USES: &[ApiRule] = &[
    api_rule(
        ApiPattern::Call("torch.cuda.get_gencode_flags"),
        Severity::Error,
        "On ROCm this raises ValueError: it expects names such as sm_90, not {arch}.",
        "Omit nvcc's options if torch.version.hip is set",
    ),
    api_rule(
        ApiPattern::Variable("RWKV_CUDA_ON", &["1"]),
        Severity::Error,
        "With this rwkv builds its extension with --use_fast_math, at which hipcc stops.",
        "Set it to 0: rwkv then uses PyTorch's operators",
    ),
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    if cx.tree().kind(node) != Kind::String {
        if !cx.mentions_hip() {
            table_rules::check(cx, &RULE, USES, node);
        }
        return;
    }
    let tree = cx.tree();
    let option = tree
        .text(node)
        .trim_matches(['"', '\'', 'f'])
        .split(['=', ' '])
        .next()
        .unwrap_or_default();
    // Only in `{"nvcc": ["-DFUSED_CUDA"]}`: CUDA becomes HIP.
    let is_macro = option.starts_with("-D")
        && option.ends_with("_CUDA")
        && tree
            .ancestors(node)
            .nth(1)
            .and_then(|pair| tree.child(pair, Field::Key))
            .is_some_and(|key| tree.text(key).contains("nvcc"));
    if !is_macro && !is_unknown(cx, node) || cx.mentions_hip() {
        return;
    }
    let root = tree.root();
    let find = || Vec::from_iter(tells_rocm_apart(&cx.semantics, root).then_some(root));
    if !cx.once("names of ROCm", find).is_empty() {
        return;
    }
    // `"-ccbin={}".format(compiler)`, `"-ccbin=" + compiler`
    let item = tree
        .ancestors(node)
        .take_while(|around| {
            let kind = tree.kind(*around);
            matches!(kind, Kind::Attribute | Kind::Call | Kind::BinaryOperator)
                && tree.span(*around).start == tree.span(node).start
        })
        .last()
        .unwrap_or(node);
    // A list of options is one finding.
    let Some(parent) = tree.parent(item) else {
        return;
    };
    let is_listed = match tree.kind(parent) {
        Kind::List | Kind::Tuple => true,
        // `flags.append("-gencode")`, and not `flag.startswith("-gencode")`
        Kind::ArgumentList => tree
            .parent(parent)
            .and_then(|call| tree.child(call, Field::Function))
            .and_then(|function| tree.child(function, Field::Attribute))
            .is_some_and(|method| matches!(tree.text(method), "append" | "insert")),
        _ => false,
    };
    let is_repeated = tree
        .parts(parent)
        .take_while(|other| *other != item)
        .any(|other| is_unknown(cx, other));
    if !is_listed || is_repeated && !is_macro || is_ignored(cx, parent) {
        return;
    }
    if is_macro {
        cx.report_as(
            &RULE,
            Severity::Warning,
            node,
            "PyTorch replaces CUDA by HIP in this macro on ROCm, so sources do not see it.",
            RawFix::display_only("Test for the name with HIP as well"),
        );
        return;
    }
    let mut options = option.to_owned();
    for other in tree
        .parts(parent)
        .filter(|other| *other != item && is_unknown(cx, *other))
    {
        options += ", ";
        options += tree.text(other).trim_matches(['"', '\'']);
    }
    cx.report(
        &RULE,
        node,
        format!("On ROCm hipcc gets this option: clang stops at {options}."),
        RawFix::display_only("Omit nvcc's options if torch.version.hip is set"),
    );
}

/// True if no compiler gets this list: all its uses are in extensions that do not pass it on.
fn is_ignored(cx: &PythonChecker<'_>, list: Node) -> bool {
    let tree = cx.tree();
    let Some(name) = assigned_to(cx, list) else {
        return is_unread(cx, list);
    };
    let mut uses = tree
        .nodes()
        .filter(|node| *node != name && tree.kind(*node) == Kind::Identifier)
        .filter(|node| tree.text(*node) == tree.text(name))
        .peekable();
    uses.peek().is_some() && uses.all(|usage| is_unread(cx, usage))
}

/// True in an extension whose sources are all C++, and in an argument that setuptools ignores, such as
/// `extra_cuda_cflags`, or `extra_compile_args` of `setup`.
fn is_unread(cx: &PythonChecker<'_>, options: Node) -> bool {
    let tree = cx.tree();
    let mut is_setup = false;
    let mut is_load = false;
    let extension = tree.ancestors(options).find(|call| {
        cx.callee(*call).is_some_and(|name| {
            is_setup = name.last() == "setup";
            is_load = name.last() == "load";
            is_setup || is_load || name.last() == "CUDAExtension"
        })
    });
    let Some(arguments) = extension.and_then(|call| tree.child(call, Field::Arguments)) else {
        return false;
    };
    tree.parts(arguments).any(|argument| {
        let name = tree
            .child(argument, Field::Name)
            .map(|name| tree.text(name));
        let sources = match name {
            Some("sources") => tree.child(argument, Field::Value),
            Some(name) => {
                return !is_load
                    && (name == "extra_compile_args") == is_setup
                    && tree.contains(argument, options);
            }
            None => Some(argument),
        };
        sources
            .map(|value| cx.semantics.expression(value))
            .filter(|list| tree.kind(*list) == Kind::List && tree.parts(*list).next().is_some())
            .is_some_and(|list| {
                tree.parts(list).all(|file| {
                    string(&cx.semantics, file)
                        .is_some_and(|file| file.ends_with(".cpp") || file.ends_with(".cc"))
                })
            })
    })
}

fn is_unknown(cx: &PythonChecker<'_>, node: Node) -> bool {
    let text = cx.tree().text(node);
    // Other programs have this option too.
    if text.contains("--threads") && !has_text(cx, "nvcc") {
        return false;
    }
    text.len() < 120
        && text
            .find('-')
            .filter(|start| *start <= 2)
            .and_then(|start| text.get(start..))
            .is_some_and(|text| UNKNOWN.iter().any(|option| text.starts_with(option)))
}
