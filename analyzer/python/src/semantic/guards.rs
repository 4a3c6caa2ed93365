//! Determines whether code runs on the target: branches, early exits, skipped tests and guarded imports.
//!
//! Code with `if torch.version.hip` is already ported: its other branch is for other GPUs.

use super::backend::{last_name, names_rocm, truth_on_target, vendor};
use super::names::Value;
use super::resolve::Semantics;
use super::unchecked_fallback::is_called_unchecked;
use crate::syntax::{Field, Kind, Node, Tree};

/// True if the source shows that the code at `node` does not run on the target.
pub fn never_runs_on_target(semantics: &Semantics<'_>, node: Node) -> bool {
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

/// An upper limit for calls of a source's own functions; sources with more calls are not searched.
const MAX_CALLS: usize = 1000;

/// How often the search for functions without a call that runs is repeated: a function's caller may have none itself.
const MAX_ROUNDS: usize = 4;

/// Functions that are called only in code that never runs on the target, or in such functions:
/// `if not IS_ROCM: check_nvcc(CUDA_HOME)`.
pub fn never_called(semantics: &Semantics<'_>) -> Vec<Node> {
    let tree = &semantics.tree;
    let mut calls: Vec<(Node, Node, bool)> = tree
        .nodes()
        .filter(|name| tree.field(*name) != Field::Name)
        .filter_map(|name| match semantics.binding(name)?.value {
            Value::Function(function) if !tree.contains(function, name) => Some((function, name)),
            _ => None,
        })
        .take(MAX_CALLS)
        .map(|(function, name)| (function, name, never_runs_on_target(semantics, name)))
        .collect();
    if calls.len() == MAX_CALLS {
        return Vec::new();
    }
    let mut skipped = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let found = skipped.len();
        for &(function, _, never) in &calls {
            let runs = || {
                calls
                    .iter()
                    .any(|(other, _, never)| *other == function && !never)
            };
            if never && !skipped.contains(&function) && !runs() {
                skipped.push(function);
            }
        }
        if skipped.len() == found {
            break;
        }
        for (_, name, never) in &mut calls {
            *never |= skipped.iter().any(|around| tree.contains(*around, *name));
        }
    }
    skipped
}

fn branch_is_skipped(semantics: &Semantics<'_>, statement: Node, child: Node) -> bool {
    let tree = &semantics.tree;
    let condition_is = |clause: Node, wanted: bool| {
        tree.child(clause, Field::Condition)
            .is_some_and(|condition| truth_on_target(semantics, condition) == Some(wanted))
    };
    match tree.field(child) {
        Field::Consequence => {
            condition_is(statement, false) || is_beside_amds(semantics, statement)
        }
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

/// `if device == "cuda":` with a separate `elif device == "amd":` for AMD.
fn is_beside_amds(semantics: &Semantics<'_>, statement: Node) -> bool {
    let tree = &semantics.tree;
    tree.child(statement, Field::Condition)
        .is_some_and(|condition| {
            tree.children_in(statement, Field::Alternative)
                .filter_map(|clause| tree.child(clause, Field::Condition))
                .filter(|amds| tree.kind(*amds) == Kind::ComparisonOperator)
                .filter(|amds| truth_on_target(semantics, *amds) == Some(true))
                .filter_map(|amds| tree.parts(amds).next())
                .any(|subject| tree.text(condition).contains(tree.text(subject)))
        })
}

/// `if torch.version.hip: return …` or `assert torch.version.hip is None` earlier in the same block, with a condition
/// that `counts` accepts.
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

/// True if an earlier `if` around `node` exits on the target, for any reason.
///
/// Other findings require a condition that names the vendor: after `assert torch.version.cuda` the author assumes that
/// there is no GPU, and the other findings are needed once that gate is fixed.
pub fn follows_an_exit(semantics: &Semantics<'_>, node: Node) -> bool {
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

/// True if a condition tests for a vendor: by a name, such as `IS_ROCM` or `is_cuda()`, by a text, such as `"hip"`, or before a `return` by
/// `torch.version.cuda`.
fn names_vendor(semantics: &Semantics<'_>, condition: Node) -> bool {
    let tree = &semantics.tree;
    names_rocm(semantics, condition)
        || tree.subtree(condition).any(|node| {
            let text = tree.text(node);
            match tree.kind(node) {
                Kind::Identifier => matches!(text, "is_cuda" | "is_nvidia"),
                Kind::StringContent => vendor(text) == Some(true),
                _ => false,
            }
        })
        || returns_without_cuda(semantics, condition)
}

/// `if not torch.version.cuda: return`, `if torch.version.cuda is None: return`
fn returns_without_cuda(semantics: &Semantics<'_>, condition: Node) -> bool {
    let tree = &semantics.tree;
    let returns = tree
        .parent(condition)
        .and_then(|statement| tree.child(statement, Field::Consequence))
        .and_then(|body| tree.parts(body).last())
        .is_some_and(|last| tree.kind(last) == Kind::ReturnStatement);
    returns
        && tree.parts(condition).any(|part| {
            semantics
                .resolve(part)
                .is_some_and(|name| name.is("torch.version.cuda"))
        })
}

/// True if the body of an `if` ends with an exit; a test may skip itself.
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
            ) || ["pytest.skip(", "self.skipTest(", "sys.exit("]
                .iter()
                .any(|call| tree.text(last).starts_with(call))
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

/// Modules that can be imported without the NVIDIA driver that they query: a test whether they are installed is not a
/// test whether they work.
const DRIVER_MODULES: [&str; 3] = ["pynvml", "py3nvml", "GPUtil"];

/// True if the source handles the failure of `node`: it is in a `try` with a handler for one of `errors` (or for
/// everything), under `contextlib.suppress`, or behind a test for availability.
///
/// A handler of a module that ends by raising or exiting, and a name that is set to `None` and then called without a test, handle
/// nothing. A module that only queries NVIDIA's driver is not guarded by a test whether it is installed.
pub fn is_import_guarded(semantics: &Semantics<'_>, node: Node, errors: &[&str]) -> bool {
    let tree = &semantics.tree;
    let mut child = node;
    for parent in tree.ancestors(node) {
        match tree.kind(parent) {
            // `@withPackage("cudf")` skips a test.
            Kind::FunctionDefinition => {
                let module = module_of(tree.text(node));
                return tree.parent(parent).is_some_and(|decorated| {
                    tree.parts(decorated).any(|part| {
                        tree.kind(part) == Kind::Decorator && tree.text(part).contains(module)
                    })
                });
            }
            Kind::ClassDefinition | Kind::Lambda => return false,
            Kind::TryStatement if tree.field(child) == Field::Body => {
                let handler = tree
                    .parts(parent)
                    .filter(|part| tree.kind(*part) == Kind::ExceptClause)
                    .find(|handler| catches(semantics, *handler, errors));
                if handler.is_some_and(|handler| {
                    !gives_up(semantics, node, handler)
                        && !is_called_unchecked(semantics, node, handler)
                }) {
                    return true;
                }
            }
            Kind::ExceptClause => {
                // `try: import amdsmi` … `except ImportError: import pynvml`: this does not run on a ROCm host.
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
                    .is_some_and(|condition| {
                        checks_availability(semantics, condition, node)
                            || is_set_by_availability(semantics, condition)
                    });
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
                                    |condition| checks_availability(semantics, condition, node),
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
                            && names_one(tree, inner, errors)
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
    names_one(tree, caught, errors)
}

/// True if `node` names one of `errors`, or every exception.
fn names_one(tree: &Tree<'_>, node: Node, errors: &[&str]) -> bool {
    tree.subtree(node).any(|name| {
        tree.kind(name) == Kind::Identifier
            && (errors.contains(&tree.text(name))
                || matches!(tree.text(name), "Exception" | "BaseException"))
    })
}

/// True for a handler that only reports the failure of the whole module: its last statement raises or exits. In a
/// function, the failure ends a feature that its callers may not use, unless it is one of NVIDIA's driver.
fn gives_up(semantics: &Semantics<'_>, import: Node, handler: Node) -> bool {
    let tree = &semantics.tree;
    let is_in_function = tree
        .ancestors(handler)
        .any(|around| tree.kind(around) == Kind::FunctionDefinition);
    if is_in_function && !DRIVER_MODULES.contains(&module_of(tree.text(import))) {
        return false;
    }
    tree.parts(handler)
        .find(|part| tree.kind(*part) == Kind::Block)
        .and_then(|body| tree.parts(body).last())
        .is_some_and(|last| match tree.kind(last) {
            // `raise unittest.SkipTest(…)`
            Kind::RaiseStatement => !tree.text(last).contains("Skip"),
            Kind::ExpressionStatement => ["sys.exit(", "exit(", "quit(", "os._exit("]
                .iter()
                .any(|call| tree.text(last).starts_with(call)),
            _ => false,
        })
}

/// True if the source calls `nvmlInit()` in a `try`, or catches `NVMLError`.
fn handles_nvml_errors(semantics: &Semantics<'_>) -> bool {
    let tree = &semantics.tree;
    tree.nodes()
        .filter(|node| tree.kind(*node) == Kind::Identifier)
        .any(|name| {
            let is_in = |kind| tree.ancestors(name).any(|around| tree.kind(around) == kind);
            match tree.text(name) {
                "nvmlInit" => is_in(Kind::TryStatement),
                text => text.starts_with("NVMLError") && is_in(Kind::ExceptClause),
            }
        })
}

/// `if is_flash_attn_available():`, `if importlib.util.find_spec("flash_attn"):`, `if HAS_APEX:`, and conditions that
/// name the module: `if xformers_enabled():`, `if backend == Backend.XFORMERS:`, `if "xformers" in sys.modules:`.
fn checks_availability(semantics: &Semantics<'_>, condition: Node, import: Node) -> bool {
    let tree = &semantics.tree;
    let module = module_of(tree.text(import));
    let installed_only = DRIVER_MODULES.contains(&module) && !handles_nvml_errors(semantics);
    if installed_only && is_set_to_availability(semantics, condition) {
        return false;
    }
    tree.subtree(condition)
        .filter(|name| {
            matches!(tree.kind(*name), Kind::Identifier | Kind::String)
                && !is_true_on_rocm(semantics, *name)
        })
        .any(|name| {
            let lower = tree.text(name).to_ascii_lowercase();
            // `is_py3nvml_available()`; a constant such as `HAS_PYNVML` may be the result of more.
            let is_function = lower == tree.text(name) && !lower.starts_with('_');
            if installed_only
                && is_function
                && (lower == "find_spec" || lower.contains(&module.to_ascii_lowercase()))
            {
                return false;
            }
            lower.contains("available")
                || lower.contains("installed")
                || lower == "find_spec"
                || lower.contains("has_")
                || lower.contains(module)
        })
}

/// `cudf` of `import cudf`
fn module_of(import: &str) -> &str {
    import
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .find(|word| word.len() > 3 && !matches!(*word, "from" | "import"))
        .unwrap_or("import")
}

/// `torch.cuda.is_available()` returns true on ROCm, so it does not check for a library of CUDA.
fn is_true_on_rocm(semantics: &Semantics<'_>, name: Node) -> bool {
    semantics
        .tree
        .parent(name)
        .and_then(|access| semantics.resolve(access))
        .is_some_and(|called| called.is("torch.cuda.is_available"))
}

/// `if self.gpu_available:`, which the source sets with `self.gpu_available = torch.cuda.is_available()`
fn is_set_to_availability(semantics: &Semantics<'_>, condition: Node) -> bool {
    let tree = &semantics.tree;
    tree.nodes()
        .filter(|node| tree.kind(*node) == Kind::Assignment)
        .any(|assignment| {
            tree.child(assignment, Field::Left)
                .is_some_and(|left| tree.text(left) == tree.text(condition))
                && tree
                    .child(assignment, Field::Right)
                    .is_some_and(|value| tree.text(value) == "torch.cuda.is_available()")
        })
}

/// `if self.use_gpu:`, which the source sets with `self.use_gpu = info["rapids_available"]`.
fn is_set_by_availability(semantics: &Semantics<'_>, condition: Node) -> bool {
    let tree = &semantics.tree;
    tree.kind(condition) == Kind::Attribute
        && tree
            .nodes()
            .filter(|node| tree.kind(*node) == Kind::Assignment)
            .filter(|assignment| {
                tree.child(*assignment, Field::Left)
                    .is_some_and(|left| tree.text(left) == tree.text(condition))
            })
            .filter_map(|assignment| tree.child(assignment, Field::Right))
            .any(|value| {
                let text = tree.text(value);
                text.len() < 200 && text.contains("available") && !text.contains("is_available")
            })
}
