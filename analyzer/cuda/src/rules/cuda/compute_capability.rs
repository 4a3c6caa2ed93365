//! HW923: host code that chooses kernels by the compute capability.

mod expression;

use crate::{CudaChecker, Tokens};
use expression::{Capability, evaluate};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{HandledBy, Severity};

declare_rule! {
    /// ## What it does
    ///
    /// Finds conditions on the compute capability of the device (`major` and `minor` of its properties, the attributes for
    /// them, functions such as `getSMVersion()`) with an unintended result on AMD: a check that fails, a series of
    /// `else if` in which no branch is for an AMD GPU, and a condition that is true for Hopper and AMD, but for no earlier GPU.
    ///
    /// ## Why on ROCm
    ///
    /// HIP has these numbers too, but they are those of the architecture: 9 and 4 for gfx942, 11 and 0 for gfx1100. They
    /// have nothing in common with NVIDIA's. `TORCH_CHECK(major == 8)` refuses an MI300X, and `major >= 9` takes it for a
    /// Hopper GPU.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    /// #include <cassert>
    ///
    /// void launch() {
    ///     hipDeviceProp_t properties;
    ///     if (hipGetDeviceProperties(&properties, 0) != hipSuccess) return;
    ///     assert(properties.major == 8 && properties.minor >= 0);
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    /// #include <cassert>
    ///
    /// void launch() {
    /// #ifndef __HIP_PLATFORM_AMD__
    ///     hipDeviceProp_t properties;
    ///     if (hipGetDeviceProperties(&properties, 0) != hipSuccess) return;
    ///     assert(properties.major == 8 && properties.minor >= 0);
    /// #endif
    /// }
    /// ```
    ///
    /// To choose between AMD GPUs, compare `gcnArchName` in the device's properties, which is a text such as
    /// `gfx942:sramecc+:xnack-`.
    ///
    /// ## Fix safety
    ///
    /// Display-only: which branch works on AMD depends on the kernels.
    ///
    /// ## References
    ///
    /// * [HIP: hipDeviceProp_t](https://rocm.docs.amd.com/projects/HIP/en/latest/doxygen/html/structhip_device_prop__t.html)
    /// * [HIP porting guide](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html)
    "HW923" "compute-capability" {
        title: "Host code compares an SM version with a gfx number",
        family: CudaCpp,
        severity: Warning,
        also: [Error "where a check fails"],
        applicability: DisplayOnly,
        targets: "every ROCm target; the numbers depend on the architecture",
        lesson: Some("port/nvidia-gates"),
        cuda: check,
    }
}

/// Volta, Turing, Ampere, Ada, Hopper and Blackwell.
const NVIDIAS: [Capability; 7] = [(7, 0), (7, 5), (8, 0), (8, 6), (8, 9), HOPPER, (10, 0)];
const HOPPER: Capability = (9, 0);

/// Macros that stop if their first argument is false.
const CHECKS: [&str; 7] = [
    "TORCH_CHECK",
    "TORCH_INTERNAL_ASSERT",
    "AT_ASSERTM",
    "AT_CHECK",
    "CHECK",
    "ASSERT",
    "assert",
];

/// Names with which a source gets the numbers.
const SOURCES: [&str; 9] = [
    "cudaDeviceProp",
    "hipDeviceProp_t",
    "getCurrentDeviceProperties",
    "getDeviceProperties",
    "cudaDevAttrComputeCapabilityMajor",
    "hipDeviceAttributeComputeCapabilityMajor",
    "getSMVersion",
    "get_sm_version",
    "getSmVersion",
];

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    if SOURCES.iter().all(|name| source.places(name).is_empty()) {
        return;
    }
    for name in CHECKS {
        for at in source
            .places(name)
            .iter()
            .filter(|at| source.directive_of(**at).is_none())
        {
            let condition = source
                .call(*at)
                .and_then(|call| source.arguments(&call).into_iter().next());
            if let Some(condition) = condition
                && Answers::of(cx, &condition).is_false_on_amd_only()
            {
                report(cx, Severity::Error, condition, "this check fails");
            }
        }
    }
    for at in source.places("if") {
        if source.before(*at, 1) == "else" {
            continue;
        }
        let branches = branches(cx, *at);
        let answers: Vec<_> = branches
            .conditions
            .iter()
            .map(|condition| Answers::of(cx, condition))
            .collect();
        let [first, ..] = &branches.conditions[..] else {
            continue;
        };
        if !branches.has_else
            && answers.len() > 1
            && answers.iter().all(Answers::is_false_on_amd_only)
        {
            report(cx, Severity::Warning, first.clone(), "no branch is taken");
        }
        for (condition, answers) in branches.conditions.iter().zip(&answers) {
            if answers.is_for_hopper() {
                report(
                    cx,
                    Severity::Warning,
                    condition.clone(),
                    "this is true, as on a Hopper GPU",
                );
            }
        }
    }
}

fn report(cx: &CudaChecker<'_>, severity: Severity, condition: Tokens, result: &str) {
    let arch = cx.target.arch;
    let (major, minor) = arch.capability();
    let severity = if cx.knows_amd {
        Severity::Info
    } else {
        severity
    };
    cx.report_as(
        &RULE,
        severity,
        HandledBy::You,
        condition,
        format!("HIP's compute capability of {} is {major}.{minor}, the number of its architecture: {result}.", arch.name()),
        RawFix::display_only(format!("Choose AMD's path first, under `#ifdef {}`", cx.amd_macro())),
    );
}

/// The results of a condition on the target and on NVIDIA's GPUs.
struct Answers {
    amd: Option<bool>,
    nvidia: [Option<bool>; NVIDIAS.len()],
}

impl Answers {
    fn of(cx: &CudaChecker<'_>, condition: &Tokens) -> Answers {
        let (major, minor) = cx.target.arch.capability();
        let answer = |device| {
            let value = evaluate(cx.source, condition.clone(), device);
            value
                .known
                .filter(|_| value.from_capability)
                .map(|number| number != 0)
        };
        Answers {
            amd: answer((i64::from(major), i64::from(minor))),
            nvidia: NVIDIAS.map(answer),
        }
    }

    fn is_false_on_amd_only(&self) -> bool {
        self.amd == Some(false) && self.nvidia.contains(&Some(true))
    }

    /// True on AMD and Hopper, and on no GPU before it.
    fn is_for_hopper(&self) -> bool {
        let mut older = NVIDIAS.iter().zip(self.nvidia);
        self.amd == Some(true)
            && older.all(|(device, answer)| *device > HOPPER || answer == Some(*device == HOPPER))
    }
}

/// The conditions of `if (…) … else if (…) … else`.
struct Branches {
    conditions: Vec<Tokens>,
    has_else: bool,
}

/// An upper limit for the tokens of a branch without braces.
const MAX_STATEMENT: u32 = 100;

fn branches(cx: &CudaChecker<'_>, first: u32) -> Branches {
    let source = cx.source;
    let mut found = Branches {
        conditions: Vec::new(),
        has_else: false,
    };
    let mut at = first;
    while source.token_text(at) == "if"
        && let Some(call) = source.call(at)
    {
        found.conditions.push(call.start + 1..call.end - 1);
        let body = match source.token_text(call.end) {
            "{" => source.partner(call.end),
            _ => (call.end..call.end + MAX_STATEMENT).find(|at| source.token_text(*at) == ";"),
        };
        let Some(body) = body else { break };
        at = body + 1;
        if source.token_text(at) != "else" {
            break;
        }
        at += 1;
        found.has_else = source.token_text(at) != "if";
    }
    found
}
