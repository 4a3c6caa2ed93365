//! HW808: a utilization computed from an NVIDIA GPU's peak.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::backend::device_name::knows_amd;
use crate::rules::helpers::calls::{
    contains_any, function_around, given_to, has_text, name_of, operator,
};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds the peak FLOP/s of an NVIDIA GPU, such as `312e12` of an A100 or its 312 in `peak_tflops`, in a name, a table or a function for peaks, in
    /// a source that neither has AMD's products in a table nor tests for them. The first one of a source is reported, except
    /// after a test for an NVIDIA product, which is false on an AMD GPU.
    ///
    /// ## Why on ROCm
    ///
    /// A utilization such as MFU is the measured rate divided by the peak. With the peak of another GPU the program
    /// prints a number that looks plausible and is wrong: 40 % of an A100's 312 TFLOP/s is under 10 % of the 1,307 TFLOP/s
    /// of an MI300X. Nothing fails, so the error can stay unnoticed.
    ///
    /// ## Example
    ///
    /// ```python
    /// def mfu(flops_per_second):
    ///     peak_flops = 312e12
    ///     return flops_per_second / peak_flops
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// # Dense bfloat16.
    /// PEAKS = {"gfx90a": 191.5e12, "gfx942": 1307.4e12, "gfx950": 2516.6e12}
    ///
    /// def mfu(flops_per_second):
    ///     arch = torch.cuda.get_device_properties(0).gcnArchName.split(":")[0]
    ///     return flops_per_second / PEAKS[arch]
    /// ```
    ///
    /// This site's reference page on AMD GPUs has the peaks of all supported GPUs, with their sources.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the peak depends on the GPU and the data type.
    ///
    /// ## References
    ///
    /// * [NVIDIA A100 datasheet](https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/nvidia-a100-datasheet-nvidia-us-2188504-web.pdf)
    /// * [NVIDIA H100 datasheet](https://resources.nvidia.com/en-us-gpu-resources/h100-datasheet-24306)
    /// * [AMD Instinct MI300X data sheet](https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/data-sheets/amd-instinct-mi300x-data-sheet.pdf)
    "HW808" "nvidia-peak" {
        title: "The peak FLOP/s are those of an NVIDIA GPU",
        family: Measuring,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("baseline/roofline"),
        visit: [Float, Integer],
    }
}

/// Dense peaks in tenths of a TFLOP/s, from NVIDIA's datasheets.
const PEAKS: &[(u64, &str)] = &[
    (195, "an A100 in float32"),
    (1250, "a V100"),
    (3120, "an A100"),
    (3620, "an L40S"),
    (7560, "an H100 PCIe"),
    (7565, "an H100 PCIe"),
    (9890, "an H100"),
    (9894, "an H100"),
    (9895, "an H100"),
    (19790, "an H100 in FP8"),
    (19789, "an H100 in FP8"),
    (22500, "a B200"),
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    let Some((whole, product)) = peak(cx, node) else {
        return;
    };
    let find = || {
        let is_peak = |node: &Node| {
            matches!(cx.tree().kind(*node), Kind::Float | Kind::Integer)
                && peak(cx, *node).is_some_and(|(whole, _)| is_used_as_peak(cx, whole))
        };
        let first = cx.tree().nodes().find(is_peak);
        first.into_iter().collect()
    };
    // A diagram of measurements on that GPU.
    if !cx.once(RULE.id, find).contains(&node) || knows_amd(cx) || has_text(cx, "matplotlib") {
        return;
    }
    cx.report(
        &RULE,
        whole,
        format!(
            "{} is the peak of {product}, so a utilization computed from it is wrong on {}.",
            cx.tree().text(whole),
            cx.target().arch.name()
        ),
        RawFix::display_only("Choose the peak by torch.cuda.get_device_properties(0).gcnArchName"),
    );
}

/// `312e12` or `312 * 1e12`: the whole expression, and the product with that peak.
fn peak(cx: &PythonChecker<'_>, float: Node) -> Option<(Node, &'static str)> {
    let tree = cx.tree();
    let number = |node: Node| match tree.kind(node) {
        Kind::Float | Kind::Integer => Decimal::parse(tree.text(node)),
        _ => None,
    };
    let mut whole = float;
    let mut value = number(float)?;
    if value == TERA {
        whole = tree.parent(float).filter(|parent| {
            tree.kind(*parent) == Kind::BinaryOperator && operator(cx, *parent) == "*"
        })?;
        let factor = tree
            .parts(whole)
            .filter(|part| *part != float)
            .find_map(number)?;
        value.exponent = value.exponent.checked_add(factor.exponent)?;
        value.digits = factor.digits;
    }
    // `"peak_tflops": 312`
    if value.exponent < TERA.exponent - 1
        && given_to(cx, whole).is_some_and(|name| name.to_ascii_lowercase().contains("tflop"))
    {
        value.exponent += TERA.exponent;
    }
    let power = u32::try_from(value.exponent.checked_sub(TERA.exponent - 1)?).ok()?;
    let tenths = value.digits.checked_mul(10_u64.checked_pow(power)?)?;
    PEAKS
        .iter()
        .find(|(peak, _)| *peak == tenths)
        .map(|(_, product)| (whole, *product))
}

/// `digits * 10^exponent` without trailing zeros. Exact, and without the tables of a parser for floats, which would take
/// 10 KB of the browser's module.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Decimal {
    digits: u64,
    exponent: i32,
}

const TERA: Decimal = Decimal {
    digits: 1,
    exponent: 12,
};

impl Decimal {
    /// Parses `312e12`, `989.4e12` or `312_000_000_000_000.0`.
    fn parse(text: &str) -> Option<Self> {
        let text = text.replace('_', "").to_ascii_lowercase();
        let (number, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let fraction = fraction.trim_end_matches('0');
        let all = format!("{whole}{fraction}");
        let digits = all.trim_end_matches('0');
        let zeros = i32::try_from(all.len() - digits.len()).ok()?;
        let places = i32::try_from(fraction.len()).ok()?;
        let exponent: i32 = exponent.parse().ok()?;
        Some(Decimal {
            digits: digits.parse().ok()?,
            exponent: exponent.checked_add(zeros)?.checked_sub(places)?,
        })
    }
}

/// `peak_flops = 312e12`, `{"A100": 312e12}`, `def peak_flops(): return 312e12`
fn is_used_as_peak(cx: &PythonChecker<'_>, node: Node) -> bool {
    const WORDS: &[&str] = &[
        "flop", "peak", "mfu", "promised", "a100", "h100", "v100", "h200",
    ];
    let is_peak = |name: &str| contains_any(&name.to_ascii_lowercase(), WORDS);
    (given_to(cx, node).is_some_and(is_peak)
        || function_around(cx, node).is_some_and(|function| is_peak(name_of(cx, function))))
        && !is_for_a_product(cx, node)
}

/// `if "H100" in device_name:` around it: this does not run on an AMD GPU.
fn is_for_a_product(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    tree.ancestors(node)
        .filter(|body| tree.field(*body) == Field::Consequence)
        .filter_map(|body| tree.child(tree.parent(body)?, Field::Condition))
        .any(|condition| {
            let text = tree.text(condition);
            // `if __name__ == "__main__":` has no number of a product.
            text.contains("name")
                && text.contains(|c: char| c.is_ascii_digit())
                && !text.starts_with("not")
                && contains_any(text, &["\" in ", "' in ", " == "])
        })
}
