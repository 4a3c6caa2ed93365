//! HW102: running the command `nvidia-smi`.

use crate::checker::{Checker, Suggestion};
use crate::rules::helpers::calls::{contains_any, function_around, has_text};
use crate::rules::helpers::commands::{Command, LENIENT_RUNNERS, RUNNERS, command};
use crate::semantic::is_import_guarded;
use crate::syntax::Node;
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `nvidia-smi` run through `subprocess`, `os.system`, `os.popen` or `asyncio`. Where its failure is dealt with, and
    /// AMD's tool is not known, the finding is information.
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
        also: [
            Warning "in a script, and in code that goes on without its output",
            Info "where its failure is dealt with",
        ],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("01-port/02-vendor-libraries"),
        visit: [Call],
        files: [Dockerfile, Shell, Yaml],
    }
}

fn check(cx: &Checker<'_>, call: Node) {
    let Some(function) = cx.callee(call) else {
        return;
    };
    let severity = if function.is_any(LENIENT_RUNNERS) {
        Severity::Warning
    } else if function.is_any(RUNNERS) {
        Severity::Error
    } else {
        return;
    };
    let Some(command) = command(cx, call).filter(runs_nvidia_smi) else {
        return;
    };
    let errors = [
        "FileNotFoundError",
        "OSError",
        "CalledProcessError",
        "SubprocessError",
    ];
    if is_looked_for(cx, call) {
        return;
    }
    let severity = if is_import_guarded(&cx.semantics, call, &errors) {
        if has_text(cx, "rocm-smi") || has_text(cx, "amd-smi") {
            return;
        }
        // Its failure is dealt with; what it was for is missing all the same.
        Severity::Info
    } else {
        severity
    };
    let message = if severity == Severity::Error {
        "nvidia-smi belongs to NVIDIA's driver; a ROCm host does not have it, and this call raises."
    } else {
        "nvidia-smi belongs to NVIDIA's driver; a ROCm host does not have it, and this call gives nothing."
    };
    cx.report_as(&RULE, severity, call, message, fix(cx, &command));
}

/// `if not shutil.which("nvidia-smi"): return` stands in the same function.
fn is_looked_for(cx: &Checker<'_>, call: Node) -> bool {
    function_around(cx, call).is_some_and(|function| {
        let text = cx.tree().text(function);
        contains_any(text, &["which(\"nvidia-smi\"", "which('nvidia-smi'"])
    })
}

pub fn is_nvidia_smi(word: &str) -> bool {
    word.rsplit('/').next() == Some("nvidia-smi")
}

fn runs_nvidia_smi(command: &Command<'_>) -> bool {
    // Without a shell only the program counts: an argument may well name the tool.
    let programs = if command.is_shell {
        command.words.len()
    } else {
        1
    };
    command
        .words
        .iter()
        .take(programs)
        .any(|word| is_nvidia_smi(word))
}

fn fix(cx: &Checker<'_>, command: &Command<'_>) -> Suggestion {
    if let Some((literal, in_list)) = command.bare {
        let quote = cx.tree().text(literal).chars().last().unwrap_or('"');
        let text = if in_list {
            format!("{quote}amd-smi{quote}, {quote}monitor{quote}")
        } else {
            format!("{quote}amd-smi monitor{quote}")
        };
        let title = "Run amd-smi monitor";
        return Suggestion::unsafe_edits(title, vec![(cx.tree().span(literal), text)]);
    }
    Suggestion::display_only(counterpart(&command.words))
}

/// What to run for a command with options.
pub fn counterpart(words: &[&str]) -> &'static str {
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
