//! HW412: comparisons with a part of a version, which take a new release for an old one.

use crate::checker::{PythonChecker, RawFix};
use crate::semantic::literal_text;
use crate::syntax::{Kind, Node};
use hipward_analyzer_core::Version;

declare_rule! {
    /// ## What it does
    ///
    /// Finds comparisons of the first three characters of a version, or of `major.minor` as one number, that have the wrong result
    /// for the target's PyTorch, torchvision or torchaudio: `float(torchvision.__version__[:3]) < 0.7`.
    ///
    /// ## Why on ROCm
    ///
    /// `"0.27.0"[:3]` is `"0.2"`, and 0.27 as a number is less than 0.7: the comparison takes torchvision 0.27 for a release of 2017, and
    /// the code for old releases runs. DETR and the many projects that contain its `util/misc.py` then import
    /// `torchvision.ops._new_empty_tensor`, which does not exist any more. The builds for ROCm 7 begin with PyTorch 2.10 and
    /// torchvision 0.25, so that this happens with each of them.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torchvision
    ///
    /// if float(torchvision.__version__[:3]) < 0.7:
    ///     from torchvision.ops import _new_empty_tensor
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torchvision
    ///
    /// if tuple(map(int, torchvision.__version__.split(".")[:2])) < (0, 7):
    ///     from torchvision.ops import _new_empty_tensor
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe: the fix compares the same two numbers, each as a whole.
    ///
    /// ## References
    ///
    /// * [torchvision: versions for each PyTorch](https://github.com/pytorch/vision#installation)
    "HW412" "version-prefix" {
        title: "A new release is taken for an old one",
        family: PythonVersion,
        severity: Error,
        applicability: Safe,
        targets: "every ROCm target; the result depends on the target's PyTorch",
        lesson: Some("port/right-pytorch"),
        visit: [ComparisonOperator],
    }
}

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let parts: Vec<Node> = tree.parts(node).collect();
    let [left, operator, right] = parts[..] else {
        return;
    };
    if !tree.text(left).contains("__version__") {
        return;
    }
    let found = tree.subtree(left).find_map(|part| {
        let (library, version) = version_of(cx, part)?;
        Some((part, library, version))
    });
    let Some((attribute, library, version)) = found else {
        return;
    };
    let Some(wanted) = number(literal_text(tree, right).unwrap_or(tree.text(right))) else {
        return;
    };
    let operator = tree.kind(operator);
    let is_text = tree.kind(right) == Kind::String;
    let whole = format!("{version}.0");
    let Some(count) = characters_read(tree.text(left), library, is_text) else {
        return;
    };
    let read = whole.get(..count).unwrap_or(&whole);
    let ordering = if is_text {
        Some(read.cmp(literal_text(tree, right).unwrap_or_default()))
    } else {
        decimal(read).and_then(|read| Some(read.cmp(&decimal(tree.text(right))?)))
    };
    let Some(result) = ordering.and_then(|ordering| holds(operator, ordering)) else {
        return;
    };
    if holds(operator, version.cmp(&wanted)) == Some(result) {
        return;
    }
    let result = if result { "True" } else { "False" };
    let kind = if is_text { "text" } else { "number" };
    let message = format!(
        "{library} {version} is read as the {kind} {read} here, so this comparison with {wanted} is {result}."
    );
    let name = tree.text(attribute);
    let fix = RawFix::safe_edits(
        "Compare the two numbers",
        vec![
            (
                tree.span(left),
                format!("tuple(map(int, {name}.split(\".\")[:2]))"),
            ),
            (
                tree.span(right),
                format!("({}, {})", wanted.major, wanted.minor),
            ),
        ],
    );
    cx.report(&RULE, node, message, fix);
}

/// The number of characters that are read: in `float(torch.__version__[:3])`, in `float(".".join(torch.__version__.split(".")[:2]))`
/// and, compared with a string, in `torchvision.__version__`. PyTorch's own version is of a class that compares releases.
fn characters_read(left: &str, library: &str, is_text: bool) -> Option<usize> {
    let compact: String = left
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| if c == '\'' { '"' } else { c })
        .collect();
    let (before, after) = compact.split_once("__version__")?;
    let read = match (before.starts_with("float("), is_text) {
        (true, false) => after.strip_suffix(')')?,
        (false, true) => after,
        _ => return None,
    };
    match read {
        "[:3]" | "[0:3]" => Some(3),
        "[:4]" | "[0:4]" => Some(4),
        ".split(\".\")[:2])" | ".split(\".\")[0:2])" if before.contains("\".\".join(") => Some(4),
        "" if library != "torch" => Some(usize::MAX),
        _ => None,
    }
}

/// The library of `torchvision.__version__`, and its version on the target.
fn version_of(cx: &PythonChecker<'_>, node: Node) -> Option<(&'static str, Version)> {
    if cx.tree().kind(node) != Kind::Attribute {
        return None;
    }
    let name = cx.resolve(node)?;
    let torch = cx.target().torch;
    if name.is("torch.__version__") {
        Some(("torch", torch))
    } else if name.is("torchaudio.__version__") {
        Some(("torchaudio", torch))
    } else if name.is("torchvision.__version__") && torch.major == 2 {
        // 0.15 is for PyTorch 2.0.
        Some(("torchvision", Version::new(0, torch.minor + 15)))
    } else {
        None
    }
}

/// `0.7`, `1.10.0`, `2`
fn number(text: &str) -> Option<Version> {
    let mut parts = text.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().unwrap_or("0").parse().ok()?;
    Some(Version::new(major, minor))
}

/// A number in ten-thousandths. Parsing a floating-point number would add 10 KB to the browser's module.
fn decimal(text: &str) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = format!("{fraction:0<4}");
    let whole: u32 = whole.parse().ok()?;
    whole
        .checked_mul(10_000)?
        .checked_add(fraction.get(..4)?.parse().ok()?)
}

fn holds(operator: Kind, ordering: std::cmp::Ordering) -> Option<bool> {
    match operator {
        Kind::Less => Some(ordering.is_lt()),
        Kind::LessEqual => Some(ordering.is_le()),
        Kind::Greater => Some(ordering.is_gt()),
        Kind::GreaterEqual => Some(ordering.is_ge()),
        _ => None,
    }
}
