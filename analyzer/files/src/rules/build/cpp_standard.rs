//! HW017: the C++ standard of a PyTorch extension.

use crate::checker::FileChecker;
use crate::facts::CmakeCall;
use crate::text::Text;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{Language, Severity, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds a C++ standard that is older than PyTorch's headers: `-std=c++14` in the options of a PyTorch extension, and
    /// `CMAKE_CXX_STANDARD`, `CXX_STANDARD` and the same for CUDA and HIP in a CMake file that finds the package Torch.
    ///
    /// ## Why on ROCm
    ///
    /// An extension that is ported to a current ROCm is compiled with a current PyTorch. Its headers stop with `#error`
    /// below C++17 since PyTorch 2.1, and below C++20 since PyTorch 2.14. PyTorch selects the right standard itself, but not
    /// if the project names one.
    ///
    /// ## Example
    ///
    /// ```cmake
    /// find_package(Torch REQUIRED)
    /// set(CMAKE_CXX_STANDARD 14)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cmake
    /// find_package(Torch REQUIRED)
    /// set(CMAKE_CXX_STANDARD 17)
    /// ```
    ///
    /// In a `setup.py`, remove the option. A source that also names a standard that is new enough is not reported: it
    /// chooses one.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: an older PyTorch may not compile with the newer standard.
    ///
    /// ## References
    ///
    /// * [PyTorch: C++17 is required](https://github.com/pytorch/pytorch/pull/100557)
    /// * [PyTorch: C++20 is required](https://github.com/pytorch/pytorch/pull/178150)
    "HW017" "cpp-standard" {
        title: "PyTorch's headers need a newer C++ standard",
        family: BuildFiles,
        severity: Error,
        applicability: Unsafe,
        targets: "every ROCm target; the standard depends on the release of PyTorch",
        lesson: Some("port/hipify"),
        files: [Cmake, Pyproject] check,
    }
}

fn check(cx: &FileChecker<'_>) {
    let torch = cx.target.torch;
    let needed = match torch {
        release if release >= Version::new(2, 14) => 20,
        release if release >= Version::new(2, 1) => 17,
        _ => return,
    };
    let standards: Vec<Text<'_>> = if cx.language == Language::Cmake {
        let calls = &cx.facts.cmake_calls;
        let finds_torch = calls.iter().any(|call| {
            call.is("find_package")
                && call.arguments.first().map(|name| name.as_str()) == Some("Torch")
        });
        let calls = calls.iter().filter(|call| finds_torch && !call.guarded);
        calls.filter_map(in_cmake).collect()
    } else {
        cx.facts.cpp_standards.clone()
    };
    let is_older = |standard: &Text<'_>| year(standard.as_str()).is_some_and(|year| year < needed);
    if !standards.iter().all(is_older) {
        return;
    }
    for standard in standards {
        cx.report(
            &RULE,
            Severity::Error,
            standard.range(),
            format!("PyTorch {torch}'s headers stop at this standard: they need C++{needed}."),
            RawFix::unsafe_edits(
                format!("Select C++{needed}"),
                vec![(standard.range(), needed.to_string())],
            ),
        );
    }
}

/// The number in `set(CMAKE_CXX_STANDARD 14)` and in `set_target_properties(ops PROPERTIES CXX_STANDARD 14)`.
fn in_cmake<'a>(call: &CmakeCall<'a>) -> Option<Text<'a>> {
    let sets = ["set", "set_property", "set_target_properties"];
    if !sets.iter().any(|name| call.is(name)) {
        return None;
    }
    let mut pairs = call.arguments.iter().zip(call.arguments.iter().skip(1));
    let is_name = |name: &str| {
        let language = name.trim_start_matches("CMAKE_").strip_suffix("_STANDARD");
        language.is_some_and(|language| matches!(language, "CXX" | "CUDA" | "HIP"))
    };
    let (_, standard) = pairs.find(|(name, _)| is_name(name.as_str()))?;
    year(standard.as_str()).map(|_| *standard)
}

/// 14 for `14` and for `1y`, the names that compilers had before a standard was final.
fn year(standard: &str) -> Option<u32> {
    match standard {
        "98" | "03" => Some(3),
        "0x" => Some(11),
        "1y" => Some(14),
        "1z" => Some(17),
        "2a" => Some(20),
        "2b" => Some(23),
        number => number.parse().ok(),
    }
}
