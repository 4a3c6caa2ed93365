//! Commands that a source runs, through `subprocess`, `os.system` and similar functions. The rules interpret the
//! commands.

use super::calls::{function_around, function_parameter, values};
use crate::checker::PythonChecker;
use crate::semantic::{QualifiedName, Value, string, string_parts};
use crate::syntax::{Field, Kind, Node};

/// Functions that run a command.
const RUNNERS: &[&str] = &[
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_call",
    "subprocess.check_output",
    "subprocess.Popen",
    "asyncio.create_subprocess_exec",
    "asyncio.create_subprocess_shell",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "os.system",
    "os.popen",
];

/// The functions among them that continue if the program is missing: they return a status or an empty text.
pub(crate) const LENIENT_RUNNERS: &[&str] = &[
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "os.system",
    "os.popen",
];

/// The function that runs the command of `call`, and its call: `call` itself, or one in a function of this source that
/// passes its first parameter on, such as `def run(command): subprocess.run(command, shell=True)`.
pub(crate) fn runner<'a>(cx: &PythonChecker<'a>, call: Node) -> Option<(QualifiedName<'a>, Node)> {
    if !cx.may_run {
        return None;
    }
    let tree = cx.tree();
    let runs = |call: Node| cx.callee(call).filter(|name| name.is_any(RUNNERS));
    if let Some(name) = cx.callee(call) {
        return name.is_any(RUNNERS).then_some((name, call));
    }
    let function = tree.child(call, Field::Function)?;
    let Value::Function(definition) = cx.semantics.binding(function)?.value else {
        return None;
    };
    let find = || {
        tree.nodes()
            .filter(|call| runs(*call).is_some() && passes_parameter(cx, *call))
            .collect()
    };
    let inner = cx.once("commands", find);
    let inner = inner
        .iter()
        .find(|inner| function_around(cx, **inner) == Some(definition))?;
    Some((runs(*inner)?, *inner))
}

fn passes_parameter(cx: &PythonChecker<'_>, call: Node) -> bool {
    let parameter =
        function_around(cx, call).and_then(|function| function_parameter(cx, function, 0));
    let first = values(cx, call).first().map(|value| cx.tree().text(*value));
    parameter.zip(first).is_some_and(|(parameter, first)| {
        first.strip_suffix(".split()").unwrap_or(first) == parameter
    })
}

/// The words of a command, and the literal that contains all of it if there is one.
pub(crate) struct Command<'a> {
    pub(crate) words: Vec<&'a str>,
    /// True if a shell interprets the words, so that any of them may name a program.
    pub(crate) is_shell: bool,
    /// A one-word command: its string, and whether it is in a list.
    pub(crate) bare: Option<(Node, bool)>,
}

impl Command<'_> {
    /// The exceptions for a program that does not exist. Only a shell reports it by its status.
    pub(crate) fn errors(&self) -> &'static [&'static str] {
        const ALL: &[&str] = &[
            "FileNotFoundError",
            "OSError",
            "SubprocessError",
            "CalledProcessError",
        ];
        if self.is_shell { ALL } else { &ALL[..2] }
    }
}

/// The command that `call` runs, if the source contains it.
pub(crate) fn command<'a>(cx: &PythonChecker<'a>, call: Node) -> Option<Command<'a>> {
    let tree = cx.tree();
    let arguments = tree.child(call, Field::Arguments)?;
    let first = tree
        .parts(arguments)
        .find_map(|argument| match tree.kind(argument) {
            Kind::KeywordArgument => {
                let name = tree.text(tree.child(argument, Field::Name)?);
                matches!(name, "args" | "cmd" | "command")
                    .then(|| tree.child(argument, Field::Value))?
            }
            _ => Some(argument),
        })?;
    let mut expression = cx.semantics.expression(first);
    if tree.kind(expression) == Kind::Identifier {
        expression = extended_list(cx, expression).unwrap_or(expression);
    }
    // `shlex.split("nvidia-smi -L")`, `"nvidia-smi -L".split()`.
    if tree.kind(expression) == Kind::Call {
        let function = tree.child(expression, Field::Function)?;
        let is_split = tree
            .child(function, Field::Attribute)
            .is_some_and(|method| tree.text(method) == "split");
        if !is_split {
            return None;
        }
        let object = tree.child(function, Field::Object)?;
        let text = match tree.kind(object) {
            Kind::String => object,
            _ => tree
                .parts(tree.child(expression, Field::Arguments)?)
                .next()?,
        };
        expression = cx.semantics.expression(text);
    }
    match tree.kind(expression) {
        Kind::List | Kind::Tuple | Kind::BinaryOperator => {
            let mut items = Vec::new();
            self::items(cx, expression, MAX_DEPTH, &mut items);
            let first = *items.first()?;
            // `sys.executable` is a program without a name here; `f"{root}/bin/nvcc"` has one.
            let program = string(&cx.semantics, first).or_else(|| {
                tree.subtree(first)
                    .filter(|part| tree.kind(*part) == Kind::StringContent)
                    .last()
                    .map(|part| tree.text(part))
            });
            let mut words = vec![program.unwrap_or_default()];
            let is_shell = matches!(
                words[0],
                "sh" | "bash" | "/bin/sh" | "/bin/bash" | "sudo" | "watch"
            );
            for item in &items[1..] {
                let parts = string_parts(&cx.semantics, *item);
                if is_shell {
                    words.extend(parts.into_iter().flat_map(shell_words));
                } else {
                    words.extend(parts);
                }
            }
            let is_bare = items.len() == 1
                && tree.kind(first) == Kind::String
                && tree.kind(expression) != Kind::BinaryOperator;
            let bare = is_bare.then_some((first, true));
            Some(Command {
                words,
                is_shell,
                bare,
            })
        }
        Kind::String | Kind::ConcatenatedString => {
            // With the values of constants in an f-string.
            let words: Vec<_> = tree
                .subtree(expression)
                .filter_map(|part| match tree.kind(part) {
                    Kind::StringContent => Some(tree.text(part)),
                    Kind::Interpolation => string(&cx.semantics, tree.parts(part).next()?),
                    _ => None,
                })
                .flat_map(shell_words)
                .collect();
            let is_bare = words.len() == 1 && tree.kind(expression) == Kind::String;
            Some(Command {
                words,
                is_shell: true,
                bare: is_bare.then_some((expression, false)),
            })
        }
        _ => None,
    }
}

/// How many nested sums and names are followed.
const MAX_DEPTH: u8 = 4;

/// Appends the items of a list, of `["pip", "install"] + packages` and of `["pip", "install", *packages]`. What the
/// source does not contain has no items.
fn items(cx: &PythonChecker<'_>, list: Node, depth: u8, found: &mut Vec<Node>) {
    let tree = cx.tree();
    let list = cx.semantics.expression(list);
    for item in tree.parts(list) {
        match tree.kind(list) {
            Kind::List | Kind::Tuple if tree.kind(item) != Kind::ListSplat => found.push(item),
            // The last part of a splat is its list.
            Kind::List | Kind::Tuple | Kind::BinaryOperator if depth > 0 => {
                let inner = tree.parts(item).last();
                let inner = inner.filter(|_| tree.kind(item) == Kind::ListSplat);
                items(cx, inner.unwrap_or(item), depth - 1, found);
            }
            _ => {}
        }
    }
}

/// The list of `command = ["nvcc"]` before `command += options`: it still begins with the program.
fn extended_list(cx: &PythonChecker<'_>, name: Node) -> Option<Node> {
    let tree = cx.tree();
    let names = &cx.semantics.names;
    let (_, bindings) = names.lookup(names.scope_of(name), tree.text(name))?;
    let mut bindings = bindings.iter();
    let Value::Expression(list) = bindings.next()?.value else {
        return None;
    };
    let is_extended = |node: Node| {
        tree.parent(node)
            .is_some_and(|parent| tree.kind(parent) == Kind::AugmentedAssignment)
    };
    (tree.kind(list) == Kind::List && bindings.all(|binding| is_extended(binding.node)))
        .then_some(list)
}

fn shell_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '(' | ')' | '`' | '$'))
        .filter(|word| !word.is_empty())
}
