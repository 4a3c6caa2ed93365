//! HW102: running the command `nvidia-smi`.

use crate::checker::{Checker, Suggestion};
use crate::report::Severity;
use crate::semantic::{is_import_guarded, string, string_parts};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `nvidia-smi` run through `subprocess`, `os.system`, `os.popen` or `asyncio`.
    ///
    /// ## Why on ROCm
    ///
    /// `nvidia-smi` comes with NVIDIA's driver. A ROCm host does not have it: `subprocess.run(["nvidia-smi"])` raises
    /// `FileNotFoundError`, and `os.system("nvidia-smi")` fails without an exception. The command line tool there is
    /// `amd-smi`, with other subcommands and another output.
    ///
    /// ## Example
    ///
    /// ```python
    /// import subprocess
    ///
    /// subprocess.run(["nvidia-smi"], check=True)
    /// ```
    ///
    /// ```shell
    /// nvidia-smi
    /// python train.py
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import subprocess
    ///
    /// subprocess.run(["amd-smi", "monitor"], check=True)
    /// ```
    ///
    /// Where a program reads the figures, `amd-smi metric --json` or the Python package `amdsmi` is easier than parsing
    /// a table. Behind `if shutil.which("nvidia-smi"):` or in a `try` that catches the error, the rule stays quiet.
    ///
    /// ```shell
    /// amd-smi monitor
    /// python train.py
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe, and offered only for the bare command: the table that is printed is another one, and on an NVIDIA host
    /// there is no `amd-smi`. With options the rule only names the counterpart.
    ///
    /// ## References
    ///
    /// * [AMD SMI command line tool](https://rocm.docs.amd.com/projects/amdsmi/en/latest/how-to/amdsmi-cli-tool.html)
    "HW102" "nvidia-smi" {
        title: "nvidia-smi is not there",
        family: VendorLibraries,
        severity: Error,
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("01-port/02-vendor-libraries"),
        visit: [Call],
        files: [Dockerfile, Shell, Yaml] check_files,
    }
}

const RUNNERS: &[&str] = &[
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_call",
    "subprocess.check_output",
    "subprocess.Popen",
    "asyncio.create_subprocess_exec",
    "asyncio.create_subprocess_shell",
];

/// These go on without the command: they give a status or an empty text.
const LENIENT_RUNNERS: &[&str] = &[
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "os.system",
    "os.popen",
];

fn check(cx: &Checker<'_>, call: Node) {
    let Some(function) = cx.callee(call) else {
        return;
    };
    let severity = if function.is_any(RUNNERS) {
        Severity::Error
    } else if function.is_any(LENIENT_RUNNERS) {
        Severity::Warning
    } else {
        return;
    };
    let Some(command) = command(cx, call).filter(|command| command.runs_nvidia_smi()) else {
        return;
    };
    let errors = [
        "FileNotFoundError",
        "OSError",
        "CalledProcessError",
        "SubprocessError",
    ];
    if is_import_guarded(&cx.semantics, call, &errors) {
        return;
    }
    let message = if severity == Severity::Error {
        "nvidia-smi belongs to NVIDIA's driver; a ROCm host does not have it, and this call raises."
    } else {
        "nvidia-smi belongs to NVIDIA's driver; a ROCm host does not have it, and this call gives nothing."
    };
    cx.report_as(&RULE, severity, call, message, command.fix(cx));
}

/// The words of a command, and the literal that holds all of it when there is one.
struct Command<'a> {
    words: Vec<&'a str>,
    /// A one-word command: its string, and whether it stands in a list.
    bare: Option<(Node, bool)>,
}

fn command<'a>(cx: &Checker<'a>, call: Node) -> Option<Command<'a>> {
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
            let mut words = vec![string(&cx.semantics, first)?];
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
            if !is_shell {
                // Only the program counts: an argument may well name the tool.
                words[1..]
                    .iter_mut()
                    .filter(|word| is_nvidia_smi(word))
                    .for_each(|word| *word = "");
            }
            Some(Command { words, bare })
        }
        Kind::String | Kind::ConcatenatedString => {
            let words: Vec<_> = string_parts(&cx.semantics, expression)
                .into_iter()
                .flat_map(shell_words)
                .collect();
            let is_bare = words.len() == 1 && tree.kind(expression) == Kind::String;
            Some(Command {
                words,
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

fn is_nvidia_smi(word: &str) -> bool {
    word.rsplit('/').next() == Some("nvidia-smi")
}

impl Command<'_> {
    fn runs_nvidia_smi(&self) -> bool {
        self.words.iter().any(|word| is_nvidia_smi(word))
    }

    fn fix(&self, cx: &Checker<'_>) -> Suggestion {
        if let Some((literal, in_list)) = self.bare {
            let quote = cx.tree().text(literal).chars().last().unwrap_or('"');
            let text = if in_list {
                format!("{quote}amd-smi{quote}, {quote}monitor{quote}")
            } else {
                format!("{quote}amd-smi monitor{quote}")
            };
            let title = "Run amd-smi monitor";
            return Suggestion::unsafe_edits(title, vec![(cx.tree().span(literal), text)]);
        }
        Suggestion::display_only(counterpart(&self.words))
    }
}

/// What to run for a command with options.
fn counterpart(words: &[&str]) -> &'static str {
    let has = |wanted: &[&str]| {
        words
            .iter()
            .any(|word| wanted.iter().any(|option| word.starts_with(option)))
    };
    if has(&["--query", "-q", "--format"]) {
        "Read the figures with the amdsmi package, or from `amd-smi metric --json`"
    } else if has(&["topo"]) {
        "Run `amd-smi topology`"
    } else if has(&["-L", "--list-gpus"]) {
        "Run `amd-smi list`"
    } else {
        "Run the amd-smi subcommand for it: metric, monitor, static, process or list"
    }
}

/// Where a script runs it.
#[cfg(feature = "all-languages")]
fn check_files(cx: &crate::files::Checker<'_>) {
    if cx.is_ported {
        return;
    }
    for command in cx.facts.commands.iter().filter(|command| !command.guarded) {
        let words: Vec<_> = command.words.iter().map(|word| word.as_str()).collect();
        let [program, arguments @ ..] = words.as_slice() else {
            continue;
        };
        if !is_nvidia_smi(program) {
            continue;
        }
        let fix = if arguments.is_empty() {
            let edits = vec![(command.range(), "amd-smi monitor".to_owned())];
            Suggestion::unsafe_edits("Run amd-smi monitor", edits)
        } else {
            Suggestion::display_only(counterpart(arguments))
        };
        cx.report(
            &RULE,
            Severity::Error,
            command.range(),
            "nvidia-smi belongs to NVIDIA's driver; a ROCm host does not have it.",
            fix,
        );
    }
}
