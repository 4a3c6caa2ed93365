//! Commands that a source runs, through `subprocess`, `os.system` and similar functions. The rules interpret the
//! commands.

use crate::checker::PythonChecker;
use crate::semantic::{string, string_parts};
use crate::syntax::{Field, Kind, Node};

/// Functions that run a command.
pub(crate) const RUNNERS: &[&str] = &[
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

/// The words of a command, and the literal that contains all of it if there is one.
pub(crate) struct Command<'a> {
    pub(crate) words: Vec<&'a str>,
    /// True if a shell interprets the words, so that any of them may name a program.
    pub(crate) is_shell: bool,
    /// A one-word command: its string, and whether it is in a list.
    pub(crate) bare: Option<(Node, bool)>,
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
        Kind::List | Kind::Tuple => {
            let items: Vec<_> = tree.parts(expression).collect();
            let first = *items.first()?;
            // `sys.executable` is a program without a name here.
            let mut words = vec![string(&cx.semantics, first).unwrap_or_default()];
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
            let bare =
                (items.len() == 1 && tree.kind(first) == Kind::String).then_some((first, true));
            Some(Command {
                words,
                is_shell,
                bare,
            })
        }
        Kind::String | Kind::ConcatenatedString => {
            let words: Vec<_> = string_parts(&cx.semantics, expression)
                .into_iter()
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

fn shell_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '(' | ')' | '`' | '$'))
        .filter(|word| !word.is_empty())
}
