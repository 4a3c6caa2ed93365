//! HW409: names that NumPy's releases for the target's Python do not have any more.

use super::versions::is_told_apart;
use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{argument, arguments, call_of, has_text};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::words::listed;
use hipward_analyzer_core::{Severity, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds names that NumPy 1.24, 2.0, 2.3 and 2.4 removed: `np.float`, `np.int`, `np.object`, `np.Inf`, `np.NaN`, `np.float_`,
    /// `np.product`, `x.tostring()`, `np.fromstring` of binary data, `np.in1d` and others. `np.bool` is not reported, because NumPy 2 has it again.
    ///
    /// ## Why on ROCm
    ///
    /// Code that pins an old PyTorch pins an old NumPy too. PyTorch's builds for ROCm 7 need Python 3.10 or later, and NumPy has wheels for
    /// Python 3.12 since 1.26. There `np.float` raises `AttributeError`. An unpinned NumPy is 2.0 or later.
    ///
    /// Uses behind a test of the version, and names that the source defines itself (`np.float = float`), are not reported.
    ///
    /// ## Example
    ///
    /// ```python
    /// import numpy as np
    ///
    /// boxes = np.zeros((8, 4), dtype=np.float)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import numpy as np
    ///
    /// boxes = np.zeros((8, 4), dtype=float)
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe: the names were aliases of the ones that the fix writes. Display-only where the source gives the builtin's name another meaning,
    /// and for functions whose counterpart takes other arguments or is newer.
    ///
    /// ## References
    ///
    /// * [NumPy 1.24: release notes](https://numpy.org/doc/stable/release/1.24.0-notes.html)
    /// * [NumPy 2.4: release notes](https://numpy.org/doc/stable/release/2.4.0-notes.html)
    /// * [NumPy 2.0: migration guide](https://numpy.org/doc/stable/numpy_2_0_migration_guide.html)
    "HW409" "removed-numpy-api" {
        title: "NumPy does not have this any more",
        family: PythonVersion,
        severity: Error,
        also: [Warning "for what only NumPy 2 removed, and with a Python before 3.12"],
        applicability: Safe,
        targets: "every ROCm target; the severity depends on the target's Python",
        lesson: Some("port/right-pytorch"),
        visit: [Attribute],
    }
}

/// Python's own names, under which NumPy had aliases until 1.23.
const BUILTINS: &str = "float int object str complex";

/// What NumPy 2.0 removed, and the same thing under another name.
const RENAMED: &[(&str, &str)] = &[
    ("Inf", "inf"),
    ("Infinity", "inf"),
    ("infty", "inf"),
    ("PINF", "inf"),
    ("NaN", "nan"),
    ("float_", "float64"),
    ("complex_", "complex128"),
    ("unicode_", "str_"),
    ("string_", "bytes_"),
    ("bool8", "bool_"),
    ("product", "prod"),
    ("cumproduct", "cumprod"),
    ("sometrue", "any"),
    ("alltrue", "all"),
    ("round_", "round"),
    ("mat", "asmatrix"),
    ("longfloat", "longdouble"),
    ("RankWarning", "exceptions.RankWarning"),
    ("ComplexWarning", "exceptions.ComplexWarning"),
    (
        "VisibleDeprecationWarning",
        "exceptions.VisibleDeprecationWarning",
    ),
    ("AxisError", "exceptions.AxisError"),
];

/// Other names without a counterpart for the same arguments in all releases: since when they are absent, and what to do.
const REPLACED: &[(&str, &str, &str)] = &[
    ("NINF", "2.0", "Use -np.inf"),
    (
        "asfarray",
        "2.0",
        "Use asarray with a dtype of floating point",
    ),
    ("cast", "2.0", "Use asarray with the dtype"),
    ("find_common_type", "2.0", "Use result_type"),
    ("msort", "2.0", "Use sort with axis=0"),
    (
        "in1d",
        "2.4",
        "Use isin, whose result has the shape of the first argument",
    ),
    (
        "fromstring",
        "2.3",
        "Use frombuffer, whose result is read-only",
    ),
    ("trapz", "2.4", "Use trapezoid, which NumPy has since 2.0"),
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let Some(member) = tree.child(node, Field::Attribute) else {
        return;
    };
    let name = tree.text(member);
    if name == "tostring" {
        check_tostring(cx, node, member);
        return;
    }
    let is_builtin = listed(BUILTINS, name);
    let renamed = RENAMED.iter().find(|(old, _)| *old == name);
    let replaced = REPLACED.iter().find(|(old, _, _)| *old == name);
    if !is_builtin && renamed.is_none() && replaced.is_none() {
        return;
    }
    if !is_numpys(cx, node, name)
        || name == "fromstring" && !is_call_without_separator(cx, node)
        || is_defined_here(cx, node)
        || is_told_apart(cx, node)
    {
        return;
    }
    let since = match replaced {
        Some((_, since, _)) => since,
        None if is_builtin => "1.24",
        None => "2.0",
    };
    let message = match name {
        "fromstring" => format!("Since {since} NumPy's fromstring reads text only, with sep."),
        _ => format!("NumPy has no {name} since {since}."),
    };
    let severity = match is_builtin && cx.target().python >= Version::new(3, 12) {
        true => Severity::Error,
        false => Severity::Warning,
    };
    let fix = match (renamed, replaced) {
        (Some((_, new)), _) => RawFix::safe_edits(
            format!("Use {new}"),
            vec![(tree.span(member), (*new).to_owned())],
        ),
        (None, Some((_, _, title))) => RawFix::display_only(*title),
        (None, None) if is_free(cx, node, name) => RawFix::safe_edits(
            format!("Use {name}"),
            vec![(tree.span(node), name.to_owned())],
        ),
        (None, None) => RawFix::display_only(format!("Use Python's {name}")),
    };
    cx.report_as(&RULE, severity, node, message, fix);
}

/// `np.float`, also where `np` comes from another module: `from utils import *`.
fn is_numpys(cx: &PythonChecker<'_>, node: Node, name: &str) -> bool {
    let resolved = cx.resolve(node);
    resolved.is_some_and(|resolved| matches!(resolved.parts(), ["numpy", last] if *last == name))
        || !cx.semantics.names.stars.is_empty()
            && cx.tree().text(node) == format!("np.{name}")
            && is_free(cx, node, "np")
}

/// `np.fromstring(data, dtype)`: with `sep` it reads text.
fn is_call_without_separator(cx: &PythonChecker<'_>, node: Node) -> bool {
    call_of(cx, node).is_some_and(|call| {
        let mut arguments = arguments(cx, call).into_iter();
        argument(cx, call, 3, "sep").is_none()
            && !arguments.any(|part| cx.tree().kind(part) == Kind::DictionarySplat)
    })
}

/// `array.tostring()`; functions of modules have arguments.
fn check_tostring(cx: &PythonChecker<'_>, node: Node, member: Node) {
    let is_called = call_of(cx, node).is_some_and(|call| arguments(cx, call).is_empty());
    if !is_called || !has_text(cx, "numpy") || cx.resolve(node).is_some() || is_told_apart(cx, node)
    {
        return;
    }
    let fix = RawFix::safe_edits(
        "Use tobytes",
        vec![(cx.tree().span(member), "tobytes".to_owned())],
    );
    let message = "NumPy's arrays have no tostring since 2.3.";
    cx.report_as(&RULE, Severity::Warning, node, message, fix);
}

/// `np.float = float` somewhere in the source.
fn is_defined_here(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    tree.source().contains(&format!("{} =", tree.text(node)))
}

/// True if `name` is Python's builtin where `node` is.
fn is_free(cx: &PythonChecker<'_>, node: Node, name: &str) -> bool {
    let names = &cx.semantics.names;
    names.lookup(names.scope_of(node), name).is_none()
}
