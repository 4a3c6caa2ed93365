//! The value of conditions on the backend or on versions for the target. `guards.rs` decides which code runs there.

use super::literal::literal_text;
use super::names::Value;
use super::resolve::Semantics;
use crate::syntax::{Field, Kind, Node};

/// How deep a condition is followed: `a and (b or not c)`, through names and functions.
const MAX_DEPTH: u8 = 12;

/// How many names that are compared with AMD's are collected.
const MAX_NAMES: usize = 16;

/// The value of the condition at `node` on the target: a ROCm build of PyTorch, on its Python. `None` if unknown.
pub(super) fn truth_on_target(semantics: &Semantics<'_>, node: Node) -> Option<bool> {
    truth(semantics, node, MAX_DEPTH)
}

fn truth(semantics: &Semantics<'_>, node: Node, depth: u8) -> Option<bool> {
    let depth = depth.checked_sub(1)?;
    let tree = &semantics.tree;
    let node = tree.unparenthesized(node);
    match tree.kind(node) {
        Kind::True => Some(true),
        Kind::False | Kind::None => Some(false),
        Kind::NotOperator => {
            truth(semantics, tree.child(node, Field::Argument)?, depth).map(|truth| !truth)
        }
        Kind::BooleanOperator => {
            let left = truth(semantics, tree.child(node, Field::Left)?, depth);
            let right = truth(semantics, tree.child(node, Field::Right)?, depth);
            // The value that determines the result: false for `and`, true for `or`.
            let decides = tree.kind(tree.child(node, Field::Operator)?) == Kind::Or;
            match (left, right) {
                (Some(value), _) | (_, Some(value)) if value == decides => Some(decides),
                (Some(_), Some(_)) => Some(!decides),
                _ => None,
            }
        }
        Kind::ComparisonOperator => comparison(semantics, node),
        Kind::Call => call_truth(semantics, node, depth),
        Kind::NamedExpression => truth(semantics, tree.child(node, Field::Value)?, depth),
        Kind::Identifier if is_false_import(semantics, node) => Some(false),
        Kind::Identifier | Kind::Attribute => match presence(semantics, node) {
            Some(present) => Some(present),
            None => match semantics.binding(node).map(|binding| binding.value) {
                Some(Value::Expression(value)) => {
                    truth(semantics, value, depth).or_else(|| by_name(tree.text(node)))
                }
                _ => by_name(last_name(semantics, node)),
            },
        },
        _ => None,
    }
}

/// Whether a value that is either present or `None` (or falsy) is present on a ROCm host.
fn presence(semantics: &Semantics<'_>, node: Node) -> Option<bool> {
    let tree = &semantics.tree;
    if tree.kind(node) == Kind::Call
        && let Some(function) = semantics.callee(node)
        && function.is("shutil.which")
    {
        let tool = tree.parts(tree.child(node, Field::Arguments)?).next()?;
        return match literal_text(&semantics.tree, tool)? {
            "nvidia-smi" | "nvcc" => Some(false),
            "amd-smi" | "rocm-smi" | "rocminfo" | "hipcc" => Some(true),
            _ => None,
        };
    }
    let name = semantics.resolve(node)?;
    if name.is_any(&["torch.version.hip", "torch.utils.cpp_extension.ROCM_HOME"]) {
        Some(true)
    } else if name.is_any(&["torch.version.cuda", "typing.TYPE_CHECKING"]) {
        Some(false)
    } else {
        None
    }
}

fn comparison(semantics: &Semantics<'_>, node: Node) -> Option<bool> {
    let tree = &semantics.tree;
    let parts: Vec<_> = tree.parts(node).collect();
    let [left, operator, right] = parts[..] else {
        return None;
    };
    let operator = tree.kind(operator);
    if tree.kind(right) == Kind::None {
        let present = presence(semantics, tree.unparenthesized(left))
            .or_else(|| presence(semantics, semantics.expression(left)))?;
        return match operator {
            Kind::Is | Kind::Equal => Some(!present),
            Kind::IsNot | Kind::NotEqual => Some(present),
            _ => None,
        };
    }
    if let Some(answer) = python_version(semantics, left, operator, right) {
        return Some(answer);
    }
    // Triton's `target.backend == "cuda"`: it is "hip" on ROCm; and a name that the source also compares with "rocm".
    if operator == Kind::Equal && literal_text(tree, right) == Some("cuda") {
        let name = tree.text(left);
        if name.ends_with(".backend") || compared_with_rocm(semantics).contains(&name) {
            return Some(false);
        }
    }
    // `device in ("xpu", "hip")`
    let is_amds = |item: Node| literal_text(tree, item).and_then(vendor) == Some(true);
    let is_list = matches!(tree.kind(right), Kind::Tuple | Kind::List | Kind::Set);
    let is_one = is_list && tree.parts(right).any(is_amds);
    let vendor = is_one.then_some(true).or_else(|| {
        let sides = [left, right].into_iter();
        let mut words = sides.filter_map(|side| literal_text(tree, side));
        words.find_map(vendor)
    })?;
    match operator {
        Kind::Equal | Kind::In => Some(vendor),
        Kind::NotEqual | Kind::NotIn => Some(!vendor),
        _ => None,
    }
}

/// The names that the source compares with a name of AMD's stack: `SYSTEM == "rocm"`. The type of a device is "cuda" there.
fn compared_with_rocm<'s, 'a>(semantics: &'s Semantics<'a>) -> &'s [&'a str] {
    let tree = &semantics.tree;
    semantics.compared_with_rocm.get_or_init(|| {
        tree.nodes()
            .filter(|node| tree.kind(*node) == Kind::ComparisonOperator)
            .filter_map(|node| {
                let mut parts = tree.parts(node);
                let left = tree.text(parts.next()?);
                let word = literal_text(tree, parts.last()?).and_then(vendor)?;
                (word && !left.ends_with("type")).then_some(left)
            })
            .take(MAX_NAMES)
            .collect()
    })
}

/// `sys.version_info >= (3, 11)` against the target's Python.
fn python_version(
    semantics: &Semantics<'_>,
    left: Node,
    operator: Kind,
    right: Node,
) -> Option<bool> {
    let tree = &semantics.tree;
    let mut subject = tree.unparenthesized(left);
    if tree.kind(subject) == Kind::Subscript {
        // `sys.version_info[:2]`; an index such as `[1]` is compared with a number, which is not a tuple.
        subject = tree.child(subject, Field::Value)?;
    }
    if !semantics.resolve(subject)?.is("sys.version_info") || tree.kind(right) != Kind::Tuple {
        return None;
    }
    let mut wanted = Vec::new();
    for part in tree.parts(right) {
        wanted.push(tree.text(part).parse::<u16>().ok()?);
    }
    wanted.truncate(2);
    let python = [semantics.target.python.major, semantics.target.python.minor];
    let ordering = python[..wanted.len()].cmp(&wanted[..]);
    match operator {
        Kind::GreaterEqual => Some(ordering.is_ge()),
        Kind::Greater => Some(ordering.is_gt() || ordering.is_eq() && wanted.len() < 3),
        Kind::Less => Some(ordering.is_lt()),
        Kind::LessEqual => Some(ordering.is_le()),
        Kind::Equal => Some(ordering.is_eq()),
        Kind::NotEqual => Some(ordering.is_ne()),
        _ => None,
    }
}

/// Whether a word names AMD's stack (true) or NVIDIA's (false).
pub(super) fn vendor(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "amd" | "rocm" | "hip" | "amdgpu" | "instinct" => Some(true),
        "nvidia" => Some(false),
        word if word.starts_with("gfx9") || word.starts_with("gfx1") => Some(true),
        _ => None,
    }
}

fn call_truth(semantics: &Semantics<'_>, call: Node, depth: u8) -> Option<bool> {
    let tree = &semantics.tree;
    if let Some(present) = presence(semantics, call) {
        return Some(present);
    }
    let function = tree.child(call, Field::Function)?;
    let arguments: Vec<_> = tree.parts(tree.child(call, Field::Arguments)?).collect();
    if is_false_import(semantics, function) {
        return Some(false);
    }
    if tree.kind(function) == Kind::Identifier {
        match (tree.text(function), &arguments[..]) {
            ("bool", [value]) => return truth(semantics, *value, depth),
            ("hasattr", [object, name]) => {
                let version = semantics.resolve(*object)?.is("torch.version");
                return (version && literal_text(&semantics.tree, *name) == Some("hip"))
                    .then_some(true);
            }
            _ => {}
        }
        if let Some(Value::Function(definition)) =
            semantics.binding(function).map(|binding| binding.value)
            && let Some(returned) = only_return(semantics, definition)
            && let Some(answer) = truth(semantics, returned, depth)
        {
            return Some(answer);
        }
    }
    // vLLM's platform object: its `is_cuda()` is false on ROCm, unlike a tensor's `is_cuda`.
    if tree.text(function).ends_with("platform.is_cuda") {
        return Some(false);
    }
    // Convention of Triton and SGLang: `is_cuda()` next to `is_hip()`, or imported from a module that has both.
    let requests_cuda =
        tree.text(function).trim_start_matches('_') == "is_cuda" && arguments.is_empty();
    if requests_cuda {
        let imported = matches!(
            semantics.binding(function).map(|binding| binding.value),
            Some(Value::Member(..))
        );
        if imported
            || semantics
                .names
                .top_level()
                .any(|(name, _)| by_name(name) == Some(true))
        {
            return Some(false);
        }
    }
    by_name(last_name(semantics, function))
}

/// True for a name from another module of the project that is false on AMD: `from .utils import is_nvidia`.
pub fn is_false_import(semantics: &Semantics<'_>, name: Node) -> bool {
    if semantics.false_on_amd.is_empty() {
        return false;
    }
    let Some((module, member)) = imported(semantics, name) else {
        return false;
    };
    // `acme.utils`, or `.utils` of a folder around the file.
    let mut parts = module.rsplit('.');
    let module = parts.next().unwrap_or_default();
    let package = parts.next().unwrap_or_default();
    semantics.false_on_amd.split(' ').any(|known| {
        let rest = known.strip_prefix(package);
        let rest = rest.and_then(|rest| rest.strip_prefix('.')?.strip_prefix(module));
        rest.and_then(|rest| rest.strip_prefix('.')) == Some(member)
    })
}

/// The module and the name of an import, also of a relative one.
fn imported<'a>(semantics: &Semantics<'a>, name: Node) -> Option<(&'a str, &'a str)> {
    let tree = &semantics.tree;
    let binding = semantics.binding(name)?;
    match binding.value {
        Value::Member(module, member) => Some((module, member)),
        Value::Unknown => {
            let statement = tree
                .ancestors(binding.node)
                .take(3)
                .find(|around| tree.kind(*around) == Kind::ImportFromStatement)?;
            let module = tree.child(statement, Field::ModuleName)?;
            let aliased = tree
                .parent(binding.node)
                .and_then(|item| tree.child(item, Field::Name));
            let member = aliased.unwrap_or(binding.node);
            Some((tree.text(module), tree.text(member)))
        }
        _ => None,
    }
}

/// The functions and constants of a module that are false on AMD, because they need `torch.version.cuda`.
pub fn false_without_cuda<'a>(semantics: &Semantics<'a>) -> Vec<&'a str> {
    let names = semantics.names.top_level();
    names
        .filter_map(|(name, bindings)| {
            let mut values = bindings.iter();
            let (only, other) = (values.next()?, values.next());
            let value = match only.value {
                Value::Function(definition) => only_return(semantics, definition)?,
                Value::Expression(value) => value,
                _ => return None,
            };
            (other.is_none() && needs_cuda_version(semantics, value)).then_some(name)
        })
        .collect()
}

/// True for a condition that is false on AMD and reads `torch.version.cuda`.
pub fn needs_cuda_version(semantics: &Semantics<'_>, condition: Node) -> bool {
    truth_on_target(semantics, condition) == Some(false)
        && semantics.tree.subtree(condition).any(|node| {
            let name = semantics.resolve(node);
            name.is_some_and(|name| name.is("torch.version.cuda"))
        })
}

/// The expression of a function that only returns one.
fn only_return(semantics: &Semantics<'_>, definition: Node) -> Option<Node> {
    let tree = &semantics.tree;
    let body = tree.child(definition, Field::Body)?;
    let mut statements = tree.parts(body).filter(|statement| {
        // A docstring may precede it.
        !(tree.kind(*statement) == Kind::ExpressionStatement
            && tree
                .parts(*statement)
                .next()
                .is_some_and(|only| tree.kind(only) == Kind::String))
    });
    let only = statements.next()?;
    if statements.next().is_some() || tree.kind(only) != Kind::ReturnStatement {
        return None;
    }
    tree.parts(only).next()
}

/// The last name of `a.b.c`.
pub(super) fn last_name<'a>(semantics: &Semantics<'a>, node: Node) -> &'a str {
    let tree = &semantics.tree;
    tree.text(tree.child(node, Field::Attribute).unwrap_or(node))
}

/// The meaning of a flag's own name: `IS_ROCM`, `is_hip()`, `TEST_WITH_ROCM`, `is_nvidia`.
///
/// Used last. A wrong interpretation only suppresses findings.
fn by_name(name: &str) -> Option<bool> {
    let lower = name.to_ascii_lowercase();
    let mut words = lower.split('_').filter(|word| !word.is_empty());
    let has = |wanted: &[&str]| lower.split('_').any(|word| wanted.contains(&word));
    if has(&["not", "no", "non", "skip", "disable", "version"]) {
        return None;
    }
    if has(&["rocm", "hip", "amd", "amdgpu", "cdna"])
        || words.any(|word| matches!(word, "iship" | "isrocm" | "isamd"))
    {
        Some(true)
    } else if has(&["nvidia"]) && has(&["is", "has", "contains", "on", "vendor"]) {
        Some(false)
    } else {
        None
    }
}

/// True if a condition contains a flag named after AMD's stack, such as `IS_ROCM`.
pub fn names_rocm(semantics: &Semantics<'_>, condition: Node) -> bool {
    rocms_flag(semantics, condition, &|_| true)
}

/// True if code at or within `node` handles ROCm separately, with such a flag.
pub fn tells_rocm_apart(semantics: &Semantics<'_>, node: Node) -> bool {
    rocms_flag(semantics, node, &|flag| {
        !is_checked_for_both(semantics, flag)
    })
}

fn rocms_flag(semantics: &Semantics<'_>, node: Node, counts: &dyn Fn(Node) -> bool) -> bool {
    let tree = &semantics.tree;
    tree.subtree(node).any(|node| {
        tree.kind(node) == Kind::Identifier
            && by_name(tree.text(node)) == Some(true)
            // `dict(os.environ, AMD_LOG_LEVEL="3")` sets a variable, and is not a test.
            && (tree.field(node) != Field::Name
                || tree.text(node).contains(|c: char| c.is_ascii_lowercase()))
            && counts(node)
    })
}

/// True for `torch.version.hip` in `torch.version.cuda or torch.version.hip`, and in the same test with `is None` and
/// `and`: it accepts every GPU, and does not show how ROCm is handled.
pub fn is_checked_for_both(semantics: &Semantics<'_>, hip: Node) -> bool {
    let tree = &semantics.tree;
    let mut side = hip;
    for parent in tree.ancestors(hip) {
        match tree.kind(parent) {
            Kind::BooleanOperator => {
                // `x and cuda is None and hip is None`: the left side ends with the other test.
                let wanted = tree.text(side).replace("hip", "cuda");
                return tree.parts(parent).any(|other| {
                    tree.text(other)
                        .strip_suffix(&*wanted)
                        .is_some_and(|start| {
                            start.is_empty() || start.ends_with("and ") || start.ends_with("or ")
                        })
                });
            }
            Kind::Attribute
            | Kind::ComparisonOperator
            | Kind::NotOperator
            | Kind::ParenthesizedExpression => side = parent,
            _ => return false,
        }
    }
    false
}
