//! HW101: the Python binding of NVIDIA's management library.

mod counterparts;

use self::counterparts::{CALLS, COUNTERPARTS, GPU_TEMPERATURE, WITHOUT_ARGUMENT};
use super::cuda_wheels::installed;
use crate::checker::{PythonChecker, RawFix, Replacement};
use crate::rules::helpers::table_rules::is_unguarded_import;
use crate::semantic::{Value, integer};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds imports of `pynvml` (the package `nvidia-ml-py`) and the calls whose results have a different form in
    /// AMD's library.
    ///
    /// ## Why on ROCm
    ///
    /// pynvml loads `libnvidia-ml.so`, which is part of NVIDIA's driver. On a ROCm host the import succeeds, and then
    /// `nvmlInit()` raises `NVMLError_LibraryNotFound`. AMD's equivalent is AMD SMI: the Python package `amdsmi` comes
    /// with ROCm and reads the same values for Instinct GPUs.
    ///
    /// ## Example
    ///
    /// ```python
    /// import pynvml
    ///
    /// pynvml.nvmlInit()
    /// handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    /// memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    /// print(pynvml.nvmlDeviceGetName(handle), memory.used)
    /// print(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu)
    /// pynvml.nvmlShutdown()
    /// ```
    ///
    /// ```requirements
    /// nvidia-ml-py
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import amdsmi
    ///
    /// amdsmi.amdsmi_init()
    /// handle = amdsmi.amdsmi_get_processor_handles()[0]
    /// memory = amdsmi.amdsmi_get_gpu_vram_usage(handle)
    /// print(amdsmi.amdsmi_get_gpu_asic_info(handle)["market_name"], (memory["vram_used"] * 1024**2))
    /// print(amdsmi.amdsmi_get_gpu_activity(handle)["gfx_activity"])
    /// amdsmi.amdsmi_shut_down()
    /// ```
    ///
    /// Code for both vendors needs both: import `amdsmi` under `if torch.version.hip` and `pynvml` in the other branch.
    /// Such imports, and imports in a `try` with `except ImportError`, are not reported.
    ///
    /// ```requirements
    /// amdsmi
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the program no longer runs on NVIDIA, and values can differ in detail. AMD SMI reports video memory in
    /// whole MiB, the temperature is the hot spot temperature, and a value that a GPU does not provide is the string
    /// `"N/A"`. The fix changes the import and every use at once, and is offered only if each use has an equivalent.
    /// Otherwise each use without one is reported with the AMD SMI function to check.
    ///
    /// ## References
    ///
    /// * [AMD SMI Python API](https://rocm.docs.amd.com/projects/amdsmi/en/latest/reference/amdsmi-py-api.html)
    /// * [AMD SMI, source](https://github.com/ROCm/amdsmi)
    "HW101" "pynvml" {
        title: "pynvml needs NVIDIA's driver",
        family: VendorLibraries,
        severity: Error,
        also: [Warning "for a requirement of the package"],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/watch-the-gpu"),
        visit: [ImportStatement, ImportFromStatement, Call],
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml],
    }
}

fn check(cx: &PythonChecker<'_>, statement: Node) {
    installed(cx, &RULE, statement);
    let Some(import) = pynvml_item(cx, statement) else {
        return;
    };
    let is_ours =
        |node: &Node| pynvml_item(cx, *node).is_some() && is_unguarded_import(cx, *node, "pynvml");
    if !is_ours(&statement) {
        return;
    }
    let message = "pynvml loads NVIDIA's driver library, which a ROCm host does not have: nvmlInit() raises NVMLError_LibraryNotFound.";
    let first = cx.once(RULE.id, || {
        cx.tree().nodes().find(is_ours).into_iter().collect()
    });
    if !first.contains(&statement) {
        let title = "Port it together with the first import of pynvml";
        cx.report(&RULE, import, message, RawFix::display_only(title));
        return;
    }
    let plan = Plan::of(cx);
    let fix = if plan.unmapped.is_empty() {
        RawFix::unsafe_edits(
            "Use amdsmi instead of pynvml, here and in every call",
            plan.edits,
        )
    } else {
        RawFix::display_only("Port the calls below to amdsmi, then import amdsmi instead")
    };
    cx.report(&RULE, import, message, fix);
    for (node, hint) in plan.unmapped {
        cx.report(&RULE, node, hint.message, RawFix::display_only(hint.title));
    }
}

/// The imported item of a statement: the item of an `import`, or the whole `from pynvml import`.
fn pynvml_item(cx: &PythonChecker<'_>, statement: Node) -> Option<Node> {
    let tree = cx.tree();
    let is_pynvml = |name: Node| tree.text(name).split('.').next().map(str::trim) == Some("pynvml");
    match tree.kind(statement) {
        Kind::ImportStatement => tree
            .children_in(statement, Field::Name)
            .find(|item| is_pynvml(tree.child(*item, Field::Name).unwrap_or(*item))),
        Kind::ImportFromStatement => tree
            .child(statement, Field::ModuleName)
            .filter(|module| is_pynvml(*module))
            .map(|_| statement),
        _ => None,
    }
}

/// The message for a use that has no one-to-one equivalent.
struct Hint {
    message: String,
    title: String,
}

/// Every edit that replaces pynvml by amdsmi in a source, and the uses that no edit covers.
#[derive(Default)]
struct Plan {
    edits: Vec<Replacement>,
    unmapped: Vec<(Node, Hint)>,
}

impl Plan {
    fn of(cx: &PythonChecker<'_>) -> Plan {
        let tree = cx.tree();
        let mut plan = Plan::default();
        for node in tree.nodes() {
            match tree.kind(node) {
                Kind::ImportStatement | Kind::ImportFromStatement => {
                    if let Some(item) = pynvml_item(cx, node) {
                        let text = if item == node {
                            "import amdsmi"
                        } else {
                            "amdsmi"
                        };
                        plan.edits.push((tree.span(item), text.to_owned()));
                    }
                }
                Kind::Attribute | Kind::Identifier | Kind::Call => plan.reference(cx, node),
                _ => {}
            }
        }
        plan
    }

    fn reference(&mut self, cx: &PythonChecker<'_>, node: Node) {
        let tree = cx.tree();
        if !is_use(cx, node) {
            return;
        }
        let Some(name) = cx.resolve(node).filter(|name| name.root() == "pynvml") else {
            return;
        };
        let is_member_access = tree.field(node) == Field::Object;
        match name.parts() {
            // The module itself: supported in `pynvml.x` and `getattr(pynvml, "x")`, which are handled as a whole.
            [_] if is_member_access => {}
            [_] => {
                let in_getattr = tree
                    .parent(node)
                    .and_then(|arguments| tree.parent(arguments))
                    .is_some_and(|call| cx.resolve(call).is_some());
                if !in_getattr {
                    self.miss(node, "pynvml", "is passed as a module");
                }
            }
            // `print`, after `from pynvml import *`.
            [_, member] if !member.to_ascii_lowercase().starts_with("nvml") => {}
            [_, member] => {
                // A name passed to a pynvml function elsewhere: its own line is edited, not its uses.
                let by_name = tree.kind(node) == Kind::Identifier
                    && matches!(
                        cx.semantics.binding(node).map(|binding| binding.value),
                        Some(Value::Expression(_))
                    );
                let renamed = match *member {
                    "nvmlInit" => Some("amdsmi.amdsmi_init"),
                    "nvmlShutdown" => Some("amdsmi.amdsmi_shut_down"),
                    "NVMLError" => Some("amdsmi.AmdSmiException"),
                    _ => None,
                };
                match renamed {
                    Some(_) if by_name => {}
                    Some(text) => self.edits.push((tree.span(node), text.to_owned())),
                    None if is_mapped_argument(cx, node, member) => {}
                    None if by_name || !self.call(cx, node, member) => {
                        self.miss(node, member, "has no one-to-one equivalent");
                    }
                    None => {}
                }
            }
            _ if is_member_access => {}
            _ => self.miss(node, name.last(), "has no one-to-one equivalent"),
        }
    }

    fn miss(&mut self, node: Node, member: &str, why: &str) {
        let known = COUNTERPARTS.iter().find(|(name, _)| {
            // `nvmlDeviceGetMemoryInfo_v2`
            member.split("_v").next() == Some(name)
        });
        let title = match known {
            Some((_, function)) => format!("Use amdsmi.{function}()"),
            None if member.starts_with("NVMLError_") => {
                "Catch amdsmi.AmdSmiLibraryException and check its error code".to_owned()
            }
            None => "Look for it in AMD SMI's Python API".to_owned(),
        };
        self.unmapped.push((
            node,
            Hint {
                message: format!("{member} {why} in amdsmi."),
                title,
            },
        ));
    }

    /// Edits for a call of `member` at `function`; false if the use has an unsupported form.
    fn call(&mut self, cx: &PythonChecker<'_>, function: Node, member: &str) -> bool {
        self.try_call(cx, function, member).is_some()
    }

    fn try_call(&mut self, cx: &PythonChecker<'_>, function: Node, member: &str) -> Option<()> {
        let tree = cx.tree();
        let call = tree.parent(function).filter(|call| {
            tree.kind(*call) == Kind::Call && tree.field(function) == Field::Function
        })?;
        let arguments: Vec<_> = tree.parts(tree.child(call, Field::Arguments)?).collect();
        if arguments.iter().any(|argument| {
            matches!(
                tree.kind(*argument),
                Kind::KeywordArgument | Kind::ListSplat | Kind::DictionarySplat
            )
        }) {
            return None;
        }
        if arguments.is_empty() {
            let (_, text) = WITHOUT_ARGUMENT.iter().find(|(name, _)| *name == member)?;
            self.edits.push((tree.span(call), (*text).to_owned()));
            return Some(());
        }
        match (member, arguments.len()) {
            ("nvmlDeviceGetUtilizationRates", 1) => {
                let fields = [
                    ("gpu", "[\"gfx_activity\"]"),
                    ("memory", "[\"umc_activity\"]"),
                ];
                let prefix = "amdsmi.amdsmi_get_gpu_activity(";
                return self.record(cx, call, arguments[0], prefix, &fields, "");
            }
            ("nvmlDeviceGetMemoryInfo", 1) => {
                let fields = [("total", "[\"vram_total\"]"), ("used", "[\"vram_used\"]")];
                let prefix = "amdsmi.amdsmi_get_gpu_vram_usage(";
                // From MiB to pynvml's bytes.
                return self.record(cx, call, arguments[0], prefix, &fields, " * 1024**2");
            }
            _ => {}
        }
        let (_, _, prefix, suffix) = CALLS.iter().find(|(name, constant, _, _)| {
            *name == member
                && match arguments.get(1) {
                    None => constant.is_empty(),
                    Some(sensor) => is_constant(cx, *sensor, constant) && arguments.len() == 2,
                }
        })?;
        // Old releases of pynvml returned bytes; amdsmi returns strings.
        let end = decoded(cx, call).unwrap_or(tree.end(call));
        self.edits.push((
            tree.start(call)..tree.start(arguments[0]),
            (*prefix).to_owned(),
        ));
        // The value that a GPU measures depends on its generation; the other value is "N/A" there.
        let measured = match cx.target().arch.generation() {
            "CDNA" | "CDNA 2" => "average",
            generation if generation.starts_with("RDNA") => "average",
            _ => "current",
        };
        let suffix = suffix.replace("{measured}", measured);
        self.edits.push((tree.end(arguments[0])..end, suffix));
        Some(())
    }

    /// A call that returns an object with fields, used directly (`f(h).used`) or through a name (`m = f(h)`, `m.used`).
    fn record(
        &mut self,
        cx: &PythonChecker<'_>,
        call: Node,
        argument: Node,
        prefix: &str,
        fields: &[(&str, &str)],
        scale: &str,
    ) -> Option<()> {
        let tree = cx.tree();
        let parent = tree.parent(call)?;
        let field_of = |access: Node| {
            let wanted = tree.text(tree.child(access, Field::Attribute)?);
            fields
                .iter()
                .find(|(name, _)| *name == wanted)
                .map(|(_, key)| *key)
        };
        let opening = |text: &str| (tree.start(call)..tree.start(argument), text.to_owned());
        let parenthesis = if scale.is_empty() {
            ("", "")
        } else {
            ("(", ")")
        };
        if tree.kind(parent) == Kind::Attribute {
            let key = field_of(parent)?;
            self.edits
                .push(opening(&format!("{}{prefix}", parenthesis.0)));
            self.edits.push((
                tree.end(argument)..tree.end(parent),
                format!("){key}{scale}{}", parenthesis.1),
            ));
            return Some(());
        }
        let name = tree.child(parent, Field::Left).filter(|left| {
            tree.kind(parent) == Kind::Assignment && tree.kind(*left) == Kind::Identifier
        })?;
        let scope = cx.semantics.names.scope_of(name);
        let (_, bindings) = cx.semantics.names.lookup(scope, tree.text(name))?;
        if bindings.len() != 1 {
            return None;
        }
        let mut edits = vec![
            opening(prefix),
            (tree.end(argument)..tree.end(call), ")".to_owned()),
        ];
        let around = cx.semantics.names.scope_node(scope);
        if !cx.may_look_at(tree.size(around)) {
            return None;
        }
        for usage in tree.subtree(around) {
            let is_it = tree.kind(usage) == Kind::Identifier
                && tree.text(usage) == tree.text(name)
                && is_use(cx, usage)
                && cx
                    .semantics
                    .binding(usage)
                    .is_some_and(|binding| binding.node == name);
            if is_it {
                let access = tree
                    .parent(usage)
                    .filter(|access| tree.kind(*access) == Kind::Attribute)?;
                let name = tree.text(name);
                let is_free = tree
                    .child(access, Field::Attribute)
                    .is_some_and(|field| tree.text(field) == "free");
                let read = if is_free && !scale.is_empty() {
                    format!("({name}[\"vram_total\"] - {name}[\"vram_used\"])")
                } else {
                    format!("{name}{}", field_of(access)?)
                };
                edits.push((
                    tree.span(access),
                    format!("{}{read}{scale}{}", parenthesis.0, parenthesis.1),
                ));
            }
        }
        self.edits.append(&mut edits);
        Some(())
    }
}

/// A name or chain that is read: not an import, a binding, a keyword or the `b` of `a.b`.
fn is_use(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let Some(parent) = tree.parent(node) else {
        return false;
    };
    match tree.kind(parent) {
        Kind::DottedName | Kind::AliasedImport | Kind::Parameters => false,
        Kind::Attribute => tree.field(node) == Field::Object,
        Kind::Assignment | Kind::ForStatement => tree.field(node) != Field::Left,
        Kind::KeywordArgument | Kind::FunctionDefinition | Kind::ClassDefinition => {
            tree.field(node) != Field::Name
        }
        _ => true,
    }
}

/// True for the second argument of a call that [`CALLS`] maps together with it.
fn is_mapped_argument(cx: &PythonChecker<'_>, node: Node, member: &str) -> bool {
    let tree = cx.tree();
    tree.parent(node)
        .and_then(|arguments| tree.parent(arguments))
        .and_then(|call| cx.callee(call))
        .is_some_and(|function| {
            CALLS
                .iter()
                .any(|(name, constant, _, _)| *constant == member && function.last() == *name)
        })
}

/// True if the expression at `node` is pynvml's `constant`, by name; the GPU's temperature also by its number.
fn is_constant(cx: &PythonChecker<'_>, node: Node, constant: &str) -> bool {
    cx.resolve(node)
        .is_some_and(|name| name.root() == "pynvml" && name.last() == constant)
        || constant == GPU_TEMPERATURE && integer(&cx.semantics, node) == Some(0)
}

/// The end of `call.decode(…)`, if the result is used in this way.
fn decoded(cx: &PythonChecker<'_>, call: Node) -> Option<usize> {
    let tree = cx.tree();
    let access = tree
        .parent(call)
        .filter(|access| tree.kind(*access) == Kind::Attribute)?;
    let method = tree.text(tree.child(access, Field::Attribute)?);
    let outer = tree
        .parent(access)
        .filter(|outer| tree.kind(*outer) == Kind::Call)?;
    (method == "decode").then(|| tree.end(outer))
}
