//! Does this code run on the target? Conditions on the backend or the versions, and guarded imports.
//!
//! An author who wrote `if torch.version.hip` has been here: the other branch is theirs to keep.

use super::constants::plain_string;
use super::names::Value;
use super::resolve::Semantics;
use crate::syntax::{Field, Kind, Node};

/// How deep a condition is followed: `a and (b or not c)`, through names and functions.
const MAX_DEPTH: u8 = 12;

/// What the condition at `node` is on the target: a ROCm build of PyTorch, on its Python. `None` where the source
/// does not say.
pub(crate) fn truth_on_target(semantics: &Semantics<'_>, node: Node) -> Option<bool> {
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
            // The value that decides alone: false for `and`, true for `or`.
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

/// Whether a value that is either there or `None` (or falsy) is there on a ROCm host.
fn presence(semantics: &Semantics<'_>, node: Node) -> Option<bool> {
    let tree = &semantics.tree;
    if tree.kind(node) == Kind::Call
        && let Some(function) = semantics.callee(node)
        && function.is("shutil.which")
    {
        let tool = tree.parts(tree.child(node, Field::Arguments)?).next()?;
        return match plain_string(semantics, tool)? {
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
    // Triton's `target.backend == "cuda"`: it is "hip" on ROCm.
    let is_backend = tree.text(left).ends_with(".backend") && operator == Kind::Equal;
    if is_backend && plain_string(semantics, right) == Some("cuda") {
        return Some(false);
    }
    let vendor = [left, right]
        .into_iter()
        .filter_map(|side| plain_string(semantics, side))
        .find_map(vendor)?;
    match operator {
        Kind::Equal | Kind::In => Some(vendor),
        Kind::NotEqual | Kind::NotIn => Some(!vendor),
        _ => None,
    }
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
fn vendor(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "amd" | "rocm" | "hip" | "amdgpu" | "instinct" => Some(true),
        "nvidia" => Some(false),
        word if word.starts_with("gfx9") => Some(true),
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
    if tree.kind(function) == Kind::Identifier {
        match (tree.text(function), &arguments[..]) {
            ("bool", [value]) => return truth(semantics, *value, depth),
            ("hasattr", [object, name]) => {
                let version = semantics.resolve(*object)?.is("torch.version");
                return (version && plain_string(semantics, *name) == Some("hip")).then_some(true);
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
    // Triton's and SGLang's habit: `is_cuda()` next to `is_hip()`, or imported from where both are.
    let asks_for_cuda = tree.text(function) == "is_cuda" && arguments.is_empty();
    if asks_for_cuda {
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

/// The expression of a function that does nothing but return one.
fn only_return(semantics: &Semantics<'_>, definition: Node) -> Option<Node> {
    let tree = &semantics.tree;
    let body = tree.child(definition, Field::Body)?;
    let mut statements = tree.parts(body).filter(|statement| {
        // A docstring may stand before it.
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
fn last_name<'a>(semantics: &Semantics<'a>, node: Node) -> &'a str {
    let tree = &semantics.tree;
    tree.text(tree.child(node, Field::Attribute).unwrap_or(node))
}

/// What a flag's own name says: `IS_ROCM`, `is_hip()`, `TEST_WITH_ROCM`, `is_nvidia`.
///
/// Consulted last. Reading too much into a name only makes the analyzer quiet.
fn by_name(name: &str) -> Option<bool> {
    let lower = name.to_ascii_lowercase();
    let mut words = lower.split('_').filter(|word| !word.is_empty());
    let has = |wanted: &[&str]| lower.split('_').any(|word| wanted.contains(&word));
    if has(&["not", "no", "non", "skip", "disable", "version"]) {
        return None;
    }
    if has(&["rocm", "hip", "amd", "amdgpu"])
        || words.any(|word| matches!(word, "iship" | "isrocm" | "isamd"))
    {
        Some(true)
    } else if has(&["nvidia"]) && has(&["is", "on", "vendor"]) {
        Some(false)
    } else {
        None
    }
}

/// True when a condition has a flag in it that is named after AMD's stack, such as `IS_ROCM`.
pub(crate) fn names_rocm(semantics: &Semantics<'_>, condition: Node) -> bool {
    let tree = &semantics.tree;
    tree.subtree(condition)
        .any(|node| tree.kind(node) == Kind::Identifier && by_name(tree.text(node)) == Some(true))
}

/// True when the source says that the code at `node` does not run on the target.
pub(crate) fn never_runs_on_target(semantics: &Semantics<'_>, node: Node) -> bool {
    let tree = &semantics.tree;
    let mut child = node;
    for parent in tree.ancestors(node) {
        let skipped = match tree.kind(parent) {
            Kind::IfStatement | Kind::ElifClause => branch_is_skipped(semantics, parent, child),
            Kind::ConditionalExpression => {
                let parts: Vec<_> = tree.parts(parent).collect();
                match parts[..] {
                    [yes, condition, _] if child == yes => {
                        truth_on_target(semantics, condition) == Some(false)
                    }
                    [_, condition, no] if child == no => {
                        truth_on_target(semantics, condition) == Some(true)
                    }
                    _ => false,
                }
            }
            Kind::BooleanOperator if tree.field(child) == Field::Right => {
                let is_or = tree
                    .child(parent, Field::Operator)
                    .is_some_and(|operator| tree.kind(operator) == Kind::Or);
                tree.child(parent, Field::Left)
                    .is_some_and(|left| truth_on_target(semantics, left) == Some(is_or))
            }
            Kind::Block | Kind::Module => is_after_an_exit(semantics, parent, child, names_vendor),
            Kind::DecoratedDefinition => is_skipped_test(semantics, parent),
            _ => false,
        };
        if skipped {
            return true;
        }
        child = parent;
    }
    false
}

fn branch_is_skipped(semantics: &Semantics<'_>, statement: Node, child: Node) -> bool {
    let tree = &semantics.tree;
    let condition_is = |clause: Node, wanted: bool| {
        tree.child(clause, Field::Condition)
            .is_some_and(|condition| truth_on_target(semantics, condition) == Some(wanted))
    };
    match tree.field(child) {
        Field::Consequence => condition_is(statement, false),
        Field::Alternative => {
            condition_is(statement, true)
                || tree
                    .children_in(statement, Field::Alternative)
                    .take_while(|earlier| *earlier != child)
                    .any(|earlier| {
                        tree.kind(earlier) == Kind::ElifClause && condition_is(earlier, true)
                    })
        }
        _ => false,
    }
}

/// `if torch.version.hip: return …` or `assert torch.version.hip is None` earlier in the same block, with a condition that
/// `counts` accepts.
fn is_after_an_exit(
    semantics: &Semantics<'_>,
    block: Node,
    child: Node,
    counts: fn(&Semantics<'_>, Node) -> bool,
) -> bool {
    let tree = &semantics.tree;
    tree.parts(block)
        .take_while(|statement| *statement != child)
        .any(|statement| {
            let (condition, exits_when) = match tree.kind(statement) {
                Kind::IfStatement if exits(semantics, statement) => {
                    (tree.child(statement, Field::Condition), true)
                }
                Kind::AssertStatement => (tree.parts(statement).next(), false),
                _ => return false,
            };
            condition.is_some_and(|condition| {
                counts(semantics, condition)
                    && truth_on_target(semantics, condition) == Some(exits_when)
            })
        })
}

/// True when an earlier `if` around `node` leaves on the target, for whatever reason.
///
/// Other findings need a reason that names the vendor: after `assert torch.version.cuda` the author thinks there is no GPU, and
/// the rest is of use once that gate is mended.
pub(crate) fn follows_an_exit(semantics: &Semantics<'_>, node: Node) -> bool {
    let tree = &semantics.tree;
    let mut child = node;
    tree.ancestors(node).any(|parent| {
        let follows = matches!(tree.kind(parent), Kind::Block | Kind::Module)
            && is_after_an_exit(semantics, parent, child, is_if);
        child = parent;
        follows
    })
}

/// True for the condition of an `if`, not of an `assert`.
fn is_if(semantics: &Semantics<'_>, condition: Node) -> bool {
    semantics.tree.field(condition) == Field::Condition
}

/// True when a condition asks for a vendor by a name of its own: `IS_ROCM`, `is_cuda()`.
fn names_vendor(semantics: &Semantics<'_>, condition: Node) -> bool {
    let tree = &semantics.tree;
    names_rocm(semantics, condition)
        || tree.subtree(condition).any(|node| {
            tree.kind(node) == Kind::Identifier
                && matches!(tree.text(node), "is_cuda" | "is_nvidia")
        })
}

/// True when the body of an `if` ends by leaving.
fn exits(semantics: &Semantics<'_>, statement: Node) -> bool {
    let tree = &semantics.tree;
    tree.child(statement, Field::Consequence)
        .and_then(|body| tree.parts(body).last())
        .is_some_and(|last| {
            matches!(
                tree.kind(last),
                Kind::ReturnStatement
                    | Kind::RaiseStatement
                    | Kind::ContinueStatement
                    | Kind::BreakStatement
            )
        })
}

/// `@skipIfRocm`, `@unittest.skipIf(TEST_WITH_ROCM, …)`, `@pytest.mark.skipif(torch.version.hip, …)`.
fn is_skipped_test(semantics: &Semantics<'_>, definition: Node) -> bool {
    let tree = &semantics.tree;
    tree.parts(definition)
        .filter(|part| tree.kind(*part) == Kind::Decorator)
        .filter_map(|decorator| tree.parts(decorator).next())
        .any(|expression| {
            let function = tree
                .child(expression, Field::Function)
                .unwrap_or(expression);
            match last_name(semantics, function) {
                "skipIf" | "skipif" => tree
                    .child(expression, Field::Arguments)
                    .and_then(|arguments| tree.parts(arguments).next())
                    .is_some_and(|condition| truth_on_target(semantics, condition) == Some(true)),
                name => name.starts_with("skipIfRocm"),
            }
        })
}

/// True when the source copes with the failure of what `node` does: it is in a `try` with a handler for one of
/// `errors` (or for everything), under `contextlib.suppress`, or behind a question whether something is available.
pub(crate) fn is_import_guarded(semantics: &Semantics<'_>, node: Node, errors: &[&str]) -> bool {
    let tree = &semantics.tree;
    let mut child = node;
    for parent in tree.ancestors(node) {
        match tree.kind(parent) {
            Kind::FunctionDefinition | Kind::ClassDefinition | Kind::Lambda => return false,
            Kind::TryStatement if tree.field(child) == Field::Body => {
                let handled = tree
                    .parts(parent)
                    .filter(|part| tree.kind(*part) == Kind::ExceptClause)
                    .any(|handler| catches(semantics, handler, errors));
                if handled {
                    return true;
                }
            }
            Kind::ExceptClause => {
                // `try: import amdsmi` … `except ImportError: import pynvml`: a ROCm host never gets here.
                let has_rocm_import = tree
                    .parent(parent)
                    .and_then(|whole| tree.child(whole, Field::Body))
                    .is_some_and(|body| {
                        tree.subtree(body).any(|name| {
                            tree.kind(name) == Kind::DottedName
                                && matches!(
                                    tree.text(name).split('.').next(),
                                    Some("amdsmi" | "aiter" | "rocm_smi" | "pyrsmi")
                                )
                        })
                    });
                if has_rocm_import {
                    return true;
                }
            }
            Kind::IfStatement | Kind::ElifClause if tree.field(child) == Field::Consequence => {
                let asks = tree
                    .child(parent, Field::Condition)
                    .is_some_and(|condition| asks_for_availability(semantics, condition));
                if asks {
                    return true;
                }
            }
            // `if not is_apex_available(): raise ImportError(…)` earlier in the same block.
            Kind::Block => {
                let left_before =
                    tree.parts(parent)
                        .take_while(|statement| *statement != child)
                        .any(|statement| {
                            tree.kind(statement) == Kind::IfStatement
                                && exits(semantics, statement)
                                && tree.child(statement, Field::Condition).is_some_and(
                                    |condition| asks_for_availability(semantics, condition),
                                )
                        });
                if left_before {
                    return true;
                }
            }
            Kind::WithStatement => {
                let suppresses = tree
                    .subtree(parent)
                    .take_while(|inner| tree.kind(*inner) != Kind::Block)
                    .any(|inner| {
                        semantics
                            .callee(inner)
                            .is_some_and(|function| function.is("contextlib.suppress"))
                    });
                if suppresses {
                    return true;
                }
            }
            _ => {}
        }
        child = parent;
    }
    false
}

fn catches(semantics: &Semantics<'_>, handler: Node, errors: &[&str]) -> bool {
    let tree = &semantics.tree;
    let Some(caught) = tree
        .parts(handler)
        .find(|part| tree.kind(*part) != Kind::Block)
    else {
        return true;
    };
    tree.subtree(caught).any(|name| {
        tree.kind(name) == Kind::Identifier
            && (errors.contains(&tree.text(name))
                || matches!(tree.text(name), "Exception" | "BaseException"))
    })
}

/// `if is_flash_attn_available():`, `if importlib.util.find_spec("flash_attn"):`, `if HAS_APEX:`.
fn asks_for_availability(semantics: &Semantics<'_>, condition: Node) -> bool {
    let tree = &semantics.tree;
    tree.subtree(condition)
        .filter(|name| tree.kind(*name) == Kind::Identifier)
        .any(|name| {
            let lower = tree.text(name).to_ascii_lowercase();
            lower.contains("available")
                || lower.contains("installed")
                || lower == "find_spec"
                || lower.trim_start_matches('_').starts_with("has_")
        })
}
