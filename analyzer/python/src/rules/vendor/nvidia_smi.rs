//! HW102: running the command `nvidia-smi`.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{contains_any, function_around, has_text};
use crate::rules::helpers::commands::{Command, LENIENT_RUNNERS, command, runner};
use crate::semantic::is_import_guarded;
use crate::syntax::Node;
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `nvidia-smi` run through `subprocess`, `os.system`, `os.popen` or `asyncio`. If the code handles its
    /// failure and does not use AMD's tool, the severity is info. In a script also finds a test for it that ends the script. Also finds tests for the device files of NVIDIA's driver,
    /// such as `os.path.exists("/dev/nvidia0")`.
    ///
    /// ## Why on ROCm
    ///
    /// `nvidia-smi` comes with NVIDIA's driver. A ROCm host does not have it: `subprocess.run(["nvidia-smi"])` raises
    /// `FileNotFoundError`, and `os.system("nvidia-smi")` fails without an exception. ROCm's command line tool is
    /// `amd-smi`, with different subcommands and a different output format.
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
    /// For a program that reads the values, `amd-smi metric --json` or the Python package `amdsmi` is easier than
    /// parsing a table. A call behind `if shutil.which("nvidia-smi"):` or in a `try` that catches the error is not
    /// reported.
    ///
    /// ```shell
    /// amd-smi monitor
    /// python train.py
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe, and offered only for the command without options: the output is a different table, and an NVIDIA host
    /// has no `amd-smi`. For a command with options the finding only names the equivalent.
    ///
    /// ## References
    ///
    /// * [AMD SMI command line tool](https://rocm.docs.amd.com/projects/amdsmi/en/latest/how-to/amdsmi-cli-tool.html)
    "HW102" "nvidia-smi" {
        title: "nvidia-smi does not exist on a ROCm host",
        family: VendorLibraries,
        severity: Error,
        also: [
            Warning "in a notebook's command, and in code that continues without its output",
            Info "where the code handles its failure",
        ],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/watch-the-gpu"),
        visit: [Call],
        files: [Dockerfile, Shell, Yaml, Pyproject],
    }
}

fn check(cx: &PythonChecker<'_>, call: Node) {
    let Some((function, inner)) = runner(cx, call) else {
        return;
    };
    let severity = if function.is_any(LENIENT_RUNNERS) {
        Severity::Warning
    } else {
        Severity::Error
    };
    let Some(command) = command(cx, call).filter(runs_nvidia_smi) else {
        return;
    };
    if is_looked_for(cx, call) {
        return;
    }
    let is_guarded = [call, inner]
        .iter()
        .any(|call| is_import_guarded(&cx.semantics, *call, command.errors()));
    let severity = if is_guarded {
        if has_text(cx, "rocm-smi") || has_text(cx, "amd-smi") {
            return;
        }
        // The failure is handled, but the output is still missing.
        Severity::Info
    } else {
        severity
    };
    let message = "nvidia-smi is part of NVIDIA's driver; a ROCm host does not have it.";
    cx.report_as(&RULE, severity, call, message, fix(cx, &command));
}

/// True if `if not shutil.which("nvidia-smi"): return` is in the same function.
fn is_looked_for(cx: &PythonChecker<'_>, call: Node) -> bool {
    function_around(cx, call).is_some_and(|function| {
        let text = cx.tree().text(function);
        contains_any(text, &["which(\"nvidia-smi\"", "which('nvidia-smi'"])
    })
}

pub fn is_nvidia_smi(word: &str) -> bool {
    word.rsplit('/').next() == Some("nvidia-smi")
}

fn runs_nvidia_smi(command: &Command<'_>) -> bool {
    // `which nvidia-smi` only looks for it.
    if matches!(command.words.first(), Some(&("which" | "command"))) {
        return false;
    }
    // Without a shell only the program counts: an argument may mention the tool.
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

fn fix(cx: &PythonChecker<'_>, command: &Command<'_>) -> RawFix {
    if let Some((literal, in_list)) = command.bare {
        let quote = cx.tree().text(literal).chars().last().unwrap_or('"');
        let text = if in_list {
            format!("{quote}amd-smi{quote}, {quote}monitor{quote}")
        } else {
            format!("{quote}amd-smi monitor{quote}")
        };
        let title = "Run amd-smi monitor";
        return RawFix::unsafe_edits(title, vec![(cx.tree().span(literal), text)]);
    }
    RawFix::display_only(counterpart(&command.words))
}

/// The equivalent of a command with options.
pub fn counterpart(words: &[&str]) -> &'static str {
    let has = |wanted: &[&str]| {
        words
            .iter()
            .any(|word| wanted.iter().any(|option| word.starts_with(option)))
    };
    if has(&["--query", "-q", "--format"]) {
        "Read the values with the amdsmi package, or from `amd-smi metric --json`"
    } else if has(&["topo"]) {
        "Run `amd-smi topology`"
    } else if has(&["-L", "--list-gpus"]) {
        "Run `amd-smi list`"
    } else {
        "Run the amd-smi subcommand for it: metric, monitor, static, process or list"
    }
}
