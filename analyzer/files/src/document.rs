//! Markdown and reStructuredText: the commands and the Dockerfiles in code blocks, and the commands in sentences that install
//! something or start a container.
//!
//! A document lists what a person types. Its findings are warnings, and no fix is safe, because a document may describe
//! NVIDIA hosts on purpose. One that mentions ROCm has a way for AMD, and no findings.

use hipward_analyzer_core::diagnostic::RawDiagnostic;
use hipward_analyzer_core::{Applicability, Severity};

use super::facts::{Facts, contains};
use super::requirements::requirement;
use super::text::Text;
use super::{dockerfile, shell};

/// Makes the findings of a document warnings, and removes information.
pub(super) fn soften(diagnostics: &mut Vec<RawDiagnostic>) {
    diagnostics.retain(|found| found.severity != Severity::Info);
    for found in diagnostics {
        found.severity = Severity::Warning;
        if let Some(fix) = &mut found.fix {
            fix.applicability = fix.applicability.max(Applicability::Unsafe);
        }
    }
}

/// Parses the commands of a document into `facts`.
pub(super) fn read<'a>(document: Text<'a>, facts: &mut Facts<'a>) {
    let mut is_windows = false;
    let mut lines = document.lines().peekable();
    while let Some(line) = lines.next() {
        let text = line.as_str().trim_start();
        if text.starts_with("<!--") {
            // It may suppress findings.
            facts.comments.push(line.range());
        }
        if text.starts_with(['#', ':', '=']) || text.starts_with(".. tab") {
            let names = |system| contains(text, system);
            is_windows = names("windows") && !names("linux");
        }
        if let Some((fence, info)) = fence(text) {
            let within = |line: &Text<'_>| !closes(line.as_str(), fence);
            let code: Vec<_> = lines.by_ref().take_while(within).collect();
            if !is_windows {
                block(document, &code, info, facts);
            }
        } else if let Some(info) = directive(text) {
            let indent = line.as_str().len() - text.len();
            let within = |next: &Text<'_>| {
                let rest = next.as_str().trim_start();
                rest.is_empty() || next.as_str().len() - rest.len() > indent
            };
            // The line after the block may begin another one.
            let code: Vec<_> = std::iter::from_fn(|| lines.next_if(within)).collect();
            if !is_windows {
                block(document, &code, info, facts);
            }
        } else if !is_windows && !advises_against(text) {
            sentence(line, facts);
            item(line, facts);
        }
    }
}

/// Reads the commands between backticks: ``run `pip install flash-attn` ``.
fn sentence<'a>(line: Text<'a>, facts: &mut Facts<'a>) {
    let mut rest = line;
    while let Some((_, after)) = rest.split_once('`') {
        // reStructuredText has two of them.
        let start = after.as_str().len() - after.as_str().trim_start_matches('`').len();
        let Some((code, next)) = after.from(start).split_once('`') else {
            return;
        };
        if installs(code.as_str()) {
            shell::read(code, facts);
        }
        rest = next.from(next.as_str().len() - next.as_str().trim_start_matches('`').len());
    }
}

/// Reads a block in which each line is a pin, or a comment.
fn pins<'a>(code: &[Text<'a>], facts: &mut Facts<'a>) {
    let without_comment = |line: &Text<'a>| line.split_once('#').map_or(*line, |(pin, _)| pin);
    let lines = code.iter().map(|line| without_comment(line).trim());
    let pins: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    if pins.iter().all(|pin| is_pin(pin.as_str())) {
        let found = pins.into_iter().filter_map(|pin| requirement(pin, false));
        facts.requirements.extend(found);
    }
}

/// `torch==1.7.0`
fn is_pin(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '=' | '+' | '-');
    text.contains("==") && text.chars().all(is_plain)
}

/// Reads a pin or a command that is an item of a list: `* torch==1.7.0`, `- git clone https://github.com/NVIDIA/apex`.
fn item<'a>(line: Text<'a>, facts: &mut Facts<'a>) {
    let line = line.trim();
    if !line.as_str().starts_with(['*', '-']) {
        return;
    }
    let item = line.from(1).trim();
    if is_command_alone(item.as_str()) {
        shell::read(item, facts);
        return;
    }
    let start = item.as_str().len() - item.as_str().trim_start_matches('`').len();
    let pin = item.from(start);
    let pin = pin.to(pin.as_str().trim_end_matches('`').len());
    if is_pin(pin.as_str()) {
        facts.requirements.extend(requirement(pin, false));
    }
}

/// `pip install -r requirements.txt`, `git clone https://…`, and not a sentence that begins so.
fn is_command_alone(text: &str) -> bool {
    let is_clone = || text.starts_with("git clone http");
    let is_sentence = || text.contains([',', ';', '`', '(']) || text.ends_with(['.', ':', '!']);
    (installs(text) || is_clone()) && (!is_sentence() || text.ends_with(" ."))
}

/// `pip install flash-attn`, `docker run --gpus all …`
fn installs(code: &str) -> bool {
    let mut words = code.split_whitespace();
    match words.next() {
        Some("docker" | "podman") => words.next() == Some("run"),
        Some("pip" | "pip3" | "conda" | "mamba" | "uv" | "python" | "python3") => {
            words.any(|word| word == "install" || word == "add") && words.next().is_some()
        }
        _ => false,
    }
}

/// Whether a sentence may be about what not to do, or about an error.
fn advises_against(sentence: &str) -> bool {
    [
        "not ",
        "n't ",
        "instead of",
        "error",
        "avoid",
        "if you have",
    ]
    .iter()
    .any(|words| contains(sentence, words))
}

/// Reads the lines of a code block in the language that it names.
fn block<'a>(document: Text<'a>, code: &[Text<'a>], info: &str, facts: &mut Facts<'a>) {
    let (Some(first), Some(last)) = (code.first(), code.last()) else {
        return;
    };
    let start = document.range().start;
    let text = document.part(first.range().start - start..last.range().end - start);
    match &*info.to_ascii_lowercase() {
        "dockerfile" | "docker" => dockerfile::read(text, facts),
        "bash" | "sh" | "shell" | "zsh" | "console" | "shell-session" | "terminal" => {
            commands(text, code, facts);
        }
        "" if code.iter().any(|line| is_command(line.as_str())) => commands(text, code, facts),
        "" | "text" | "txt" | "requirements" => pins(code, facts),
        // Some documents mark commands as Python.
        "python" | "py" => {
            let installs = code.iter().filter(|line| installs(line.as_str()));
            installs.for_each(|line| shell::read(*line, facts));
        }
        _ => {}
    }
}

/// The language of a code block in reStructuredText: `.. code-block:: bash`.
fn directive(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(".. code")?;
    Some(
        rest.strip_prefix("-block")
            .unwrap_or(rest)
            .strip_prefix("::")?
            .trim(),
    )
}

/// The fence that begins a code block, and the language that it names: `` ```bash ``, `~~~ {.sh}`.
fn fence(line: &str) -> Option<(&str, &str)> {
    let sign = line
        .starts_with("```")
        .then_some('`')
        .or(line.starts_with("~~~").then_some('~'))?;
    let length = line.len() - line.trim_start_matches(sign).len();
    let (fence, info) = line.split_at(length);
    // `` ```code``` `` is text.
    if info.contains('`') {
        return None;
    }
    let info = info.trim_start_matches([' ', '{', '.']);
    let end = info
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .unwrap_or(info.len());
    Some((fence, &info[..end]))
}

fn closes(line: &str, fence: &str) -> bool {
    let line = line.trim();
    line.len() >= fence.len()
        && line.starts_with(fence)
        && line.trim_start_matches(&fence[..1]).is_empty()
}

/// Reads the lines of a block as a script, or only those after a prompt if it has prompts: the others are output.
fn commands<'a>(block: Text<'a>, lines: &[Text<'a>], facts: &mut Facts<'a>) {
    if !lines.iter().any(|line| prompt(line.as_str()).is_some()) {
        shell::read(block, facts);
        return;
    }
    let mut lines = lines.iter();
    while let Some(line) = lines.next() {
        let Some(length) = prompt(line.as_str()) else {
            continue;
        };
        let mut last = line;
        while last.as_str().trim_end().ends_with('\\') {
            let Some(next) = lines.next() else { break };
            last = next;
        }
        let start = line.range().start - block.range().start + length;
        shell::read(
            block.part(start..last.range().end - block.range().start),
            facts,
        );
    }
}

/// The length of a line's prompt: `$ `, `(venv) $ `, `user@host:~$ `.
fn prompt(line: &str) -> Option<usize> {
    let (before, _) = line.split_once("$ ")?;
    let name = before.trim();
    let is_prompt = name.is_empty()
        || name.starts_with('(') && name.ends_with(')')
        || name.contains('@') && !name.contains(' ');
    is_prompt.then_some(before.len() + 2)
}

/// Whether a line of a block without a language is a command that installs or runs something.
fn is_command(line: &str) -> bool {
    let line = &line[prompt(line).unwrap_or_default()..];
    let first = line.split_whitespace().next().unwrap_or_default();
    matches!(
        first,
        "pip"
            | "pip3"
            | "python"
            | "python3"
            | "conda"
            | "mamba"
            | "uv"
            | "docker"
            | "sudo"
            | "apt-get"
            | "apt"
            | "export"
            | "git"
            | "nvcc"
            | "torchrun"
            | "wget"
    )
}
