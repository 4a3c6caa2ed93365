//! HW716: global variables of Python that a kernel reads.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::has_text;
use crate::rules::helpers::kernels::{is_for_other_vendor, is_kernel};
use crate::semantic::{Binding, Value};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Version;

declare_rule! {
    /// ## What it does
    ///
    /// Finds numbers, texts and other plain values of a module that a Triton kernel reads.
    ///
    /// ## Why on ROCm
    ///
    /// Triton 3, which comes with PyTorch 2.4 and newer, compiles a kernel only if its global variables are
    /// `tl.constexpr` objects; otherwise it raises `NameError: Cannot access global variable …`, on every backend. Triton 2
    /// took the value at the first compilation and missed later changes. Code for its releases fails with any Triton for
    /// ROCm 7. Since Triton 3.4 (PyTorch 2.8) the annotation `X: tl.constexpr = 1` is no longer enough.
    ///
    /// The default of a parameter, `BLOCK: tl.constexpr = SIZE`, is evaluated by Python and may be any value. So are the
    /// decorators of the kernel.
    ///
    /// ## Example
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    ///
    /// LOG2E = 1.4426950408889634
    ///
    /// @triton.jit
    /// def exponential(x):
    ///     return tl.exp2(x * LOG2E)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    ///
    /// LOG2E = tl.constexpr(1.4426950408889634)
    ///
    /// @triton.jit
    /// def exponential(x):
    ///     return tl.exp2(x * LOG2E)
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: Python code that reads the variable gets a `constexpr` object, whose number is its `value`.
    ///
    /// ## References
    ///
    /// * [triton: code_generator.py](https://github.com/triton-lang/triton/blob/main/python/triton/compiler/code_generator.py)
    "HW716" "triton-global" {
        title: "A global variable that a kernel cannot read",
        family: Triton,
        severity: Error,
        applicability: Unsafe,
        targets: "PyTorch 2.4 and newer (Triton 3)",
        lesson: Some("optimize/fused-rmsnorm"),
        visit: [FunctionDefinition],
    }
}

/// The first release of PyTorch whose Triton ignores the annotation of a variable.
const WITHOUT_ANNOTATION: Version = Version::new(2, 8);

fn check(cx: &PythonChecker<'_>, kernel: Node) {
    let has_triton_3 = has_text(cx, "triton") && cx.target().torch >= Version::new(2, 4);
    // A function around a kernel contains its reads as well.
    if !has_triton_3 || !is_kernel(cx, kernel) {
        return;
    }
    let tree = cx.tree();
    let reads = cx.once("global variables", || first_reads(cx));
    for read in reads.iter().filter(|read| tree.contains(kernel, **read)) {
        if is_for_other_vendor(cx, *read) {
            continue;
        }
        let name = tree.text(*read);
        cx.report(
            &RULE,
            *read,
            format!("Triton 3 does not compile a kernel that reads the global variable `{name}`, which is not a `tl.constexpr`."),
            fix(cx, name),
        );
    }
}

/// The first place in a kernel of each global variable that Triton refuses.
fn first_reads(cx: &PythonChecker<'_>) -> Vec<Node> {
    let tree = cx.tree();
    let names = &cx.semantics.names;
    let mut refused: Vec<&str> = names
        .top_level()
        .filter(|(_, bindings)| bindings.iter().all(|binding| is_refused(cx, binding)))
        .map(|(name, _)| name)
        .collect();
    let mut found = Vec::new();
    if refused.is_empty() {
        return found;
    }
    let module = names.scope_of(tree.root());
    let functions = tree
        .nodes()
        .filter(|node| tree.kind(*node) == Kind::FunctionDefinition && is_kernel(cx, *node));
    for body in functions.filter_map(|kernel| tree.child(kernel, Field::Body)) {
        for node in cx.within(body) {
            if tree.kind(node) != Kind::Identifier
                || matches!(tree.field(node), Field::Attribute | Field::Name)
            {
                continue;
            }
            let Some(at) = refused.iter().position(|name| *name == tree.text(node)) else {
                continue;
            };
            let home = names.lookup(names.scope_of(node), refused[at]);
            if home.is_some_and(|(home, _)| home == module) {
                refused.swap_remove(at);
                found.push(node);
            }
        }
    }
    found
}

/// Whether Triton refuses a variable with this value.
fn is_refused(cx: &PythonChecker<'_>, binding: Binding<'_>) -> bool {
    let tree = cx.tree();
    let is_annotated = || {
        tree.parent(binding.node).is_some_and(|assignment| {
            let mut parts = tree.parts(assignment);
            parts.any(|part| tree.kind(part) == Kind::Type)
        })
    };
    match binding.value {
        Value::Expression(value) => {
            is_plain(cx, value) && (cx.target().torch >= WITHOUT_ANNOTATION || !is_annotated())
        }
        _ => false,
    }
}

/// Whether an expression has a value of Python or PyTorch: neither a `tl.constexpr`, a type of Triton nor a module.
fn is_plain(cx: &PythonChecker<'_>, value: Node) -> bool {
    let tree = cx.tree();
    match tree.kind(value) {
        Kind::Integer | Kind::Float | Kind::String | Kind::True | Kind::False | Kind::None => true,
        Kind::BinaryOperator | Kind::UnaryOperator | Kind::ParenthesizedExpression => {
            tree.parts(value).all(|part| is_plain(cx, part))
        }
        // Its operator is a part too.
        Kind::ComparisonOperator => {
            let mut parts = tree.parts(value);
            let ends = (parts.next(), parts.last());
            matches!(ends, (Some(left), Some(right)) if is_plain(cx, left) && is_plain(cx, right))
        }
        Kind::Call => cx.callee(value).is_some_and(|name| name.root() == "math"),
        Kind::Attribute => cx.resolve(value).is_some_and(|name| {
            name.root() == "math" || name.is_any(&["torch.version.hip", "torch.version.cuda"])
        }),
        _ => false,
    }
}

/// Wraps the value, where `triton.language` has a name before it.
fn fix(cx: &PythonChecker<'_>, name: &str) -> RawFix {
    let tree = cx.tree();
    let title = "Make the variable a tl.constexpr";
    let names = &cx.semantics.names;
    let edit = || {
        let mut bindings = names.at_top_level(name).iter();
        let (binding, None) = (bindings.next()?, bindings.next()) else {
            return None;
        };
        let Value::Expression(value) = binding.value else {
            return None;
        };
        let (language, _) = names.top_level().find(|(_, modules)| {
            modules.len() == 1
                && modules.iter().all(|module| {
                    module.node < value
                        && match module.value {
                            Value::Module(path) => path == "triton.language",
                            Value::Member(from, member) => (from, member) == ("triton", "language"),
                            _ => false,
                        }
                })
        })?;
        let text = format!("{language}.constexpr({})", tree.text(value));
        Some(vec![(tree.span(value), text)])
    };
    match edit() {
        Some(edits) => RawFix::unsafe_edits(title, edits),
        None => RawFix::display_only(title),
    }
}
