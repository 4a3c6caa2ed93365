//! Shell: commands, variables that are set, and which of them run on some machines only.
//!
//! Supports enough of the grammar to find the boundaries of words. The body of a heredoc is data and is skipped.

mod command;
mod scanner;

use super::facts::{Command, Facts, Image, Setting, contains, names_a_vendor};
use super::packages;
use super::text::Text;
use command::{
    after_options, function_of_vendor, is_assignment, is_name, is_python, is_test, program_text,
};
use scanner::Scanner;

pub(super) use scanner::words;

/// The nesting depth to which `$(…)` and `sh -c "…"` are parsed; limits how often a text is read.
const MAX_DEPTH: u8 = 4;

/// Parses a script into `facts`.
pub(super) fn read<'a>(script: Text<'a>, facts: &mut Facts<'a>) {
    read_guarded(script, false, facts);
}

/// Parses a script that runs as a whole on some machines only.
pub(super) fn read_guarded<'a>(script: Text<'a>, guarded: bool, facts: &mut Facts<'a>) {
    let mut waiting = vec![(script, guarded, MAX_DEPTH)];
    let called = called(script);
    while let Some((text, guarded, depth)) = waiting.pop() {
        let mut reader = Reader::new(text, guarded);
        reader.called.clone_from(&called);
        reader.read(facts);
        if let Some(depth) = depth.checked_sub(1) {
            waiting.extend(
                reader
                    .inner
                    .into_iter()
                    .map(|(inner, guarded)| (inner, guarded, depth)),
            );
        }
    }
}

/// The functions with a vendor's name that run on every machine: the script calls them without a condition, and they
/// test for no vendor themselves.
fn called(script: Text<'_>) -> Vec<&str> {
    let text = script.as_str();
    if !(text.contains("()") || text.contains("function ")) || !names_a_vendor(text) {
        return Vec::new();
    }
    let mut reader = Reader::new(script, false);
    reader.read(&mut Facts::default());
    let Reader {
        mut called, tests, ..
    } = reader;
    called.retain(|name| !tests.contains(name));
    called
}

/// Parses a command of a makefile, in which `$<` is a file and no redirection.
pub(super) fn read_recipe<'a>(command: Text<'a>, guarded: bool, facts: &mut Facts<'a>) {
    let mut reader = Reader::new(command, guarded);
    reader.scanner.is_recipe = true;
    reader.read(facts);
}

/// An open construct.
struct Block {
    kind: Kind,
    /// It, or an enclosing construct, runs on some machines only.
    guarded: bool,
    /// An enclosing construct does.
    outer: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `if … then`: its commands are the condition.
    Condition,
    /// `then … fi`
    Then,
    /// `case … in`; `guarded` applies to the current branch.
    Case { subject: bool },
    /// `{ … }`, usually the body of a function.
    Braces,
}

struct Reader<'a> {
    scanner: Scanner<'a>,
    words: Vec<Text<'a>>,
    blocks: Vec<Block>,
    /// The whole script is guarded.
    guarded: bool,
    /// The commands before `&&` and `||` tested for a vendor.
    chain: bool,
    /// The start of the commands of the current pipeline.
    pipeline: usize,
    /// The name of the function that was just defined, or whose body is read, if it refers to a vendor.
    function: Option<&'a str>,
    /// Functions with such a name that run on every machine.
    called: Vec<&'a str>,
    /// Functions with such a name that test for a vendor.
    tests: Vec<&'a str>,
    /// The contents of `$(…)`, backticks and `sh -c`.
    inner: Vec<(Text<'a>, bool)>,
    /// Delimiters of heredocs whose bodies begin at the next line, and whether the body is a Python program.
    heredocs: Vec<(&'a str, bool)>,
    /// `2` precedes the redirection.
    redirects_errors: bool,
    /// The command has `2>/dev/null`.
    discards_errors: bool,
    /// The command writes a file: `grep … >file`.
    writes: bool,
}

impl<'a> Reader<'a> {
    fn new(text: Text<'a>, guarded: bool) -> Self {
        Reader {
            scanner: Scanner::new(text),
            words: Vec::new(),
            blocks: Vec::new(),
            guarded,
            chain: false,
            pipeline: 0,
            function: None,
            called: Vec::new(),
            tests: Vec::new(),
            inner: Vec::new(),
            heredocs: Vec::new(),
            redirects_errors: false,
            discards_errors: false,
            writes: false,
        }
    }

    fn read(&mut self, facts: &mut Facts<'a>) {
        self.pipeline = facts.commands.len();
        // After an escaped line break: a comment there does not end the command, as in Dockerfiles.
        let mut continued = false;
        while !self.scanner.is_at_end() {
            match self.scanner.byte(0) {
                b'\\' if matches!(self.scanner.byte(1), b'\n' | b'\r') => {
                    self.scanner.at += 2 + usize::from(self.scanner.byte(1) == b'\r');
                    continued = true;
                    continue;
                }
                b'#' => {
                    let line = self
                        .scanner
                        .rest()
                        .split('\n')
                        .next()
                        .unwrap_or_default()
                        .len();
                    let comment = self
                        .scanner
                        .text
                        .part(self.scanner.at..self.scanner.at + line);
                    facts.comments.push(comment.range());
                    self.scanner.at += line + usize::from(continued);
                    continue;
                }
                b'\n' => {
                    self.scanner.at += 1;
                    self.end(b'\n', facts);
                    self.pass_heredocs(facts);
                }
                b' ' | b'\t' | b'\r' => {
                    self.scanner.at += 1;
                    continue;
                }
                sign @ (b';' | b'&' | b'|' | b'(' | b')') => {
                    let is_double = self.scanner.byte(1) == sign && sign != b'(';
                    self.scanner.at += if is_double { 2 } else { 1 };
                    self.end(if is_double { sign ^ 0x80 } else { sign }, facts);
                }
                b'<' | b'>' => self.redirection(),
                _ => {
                    let word = self.word();
                    let is_descriptor = matches!(self.scanner.byte(0), b'<' | b'>')
                        && word.as_str().bytes().all(|byte| byte.is_ascii_digit());
                    self.redirects_errors = is_descriptor && word.as_str() == "2";
                    if !is_descriptor {
                        self.words.push(word.unquoted());
                    }
                }
            }
            continued = false;
        }
        self.end(b'\n', facts);
    }

    /// Skips a word. Its substitutions are stored for parsing.
    fn word(&mut self) -> Text<'a> {
        let word = self.scanner.word();
        if !self.scanner.substituted.is_empty() {
            let guarded = self.is_guarded();
            let substituted = self.scanner.substituted.drain(..);
            self.inner.extend(substituted.map(|inner| (inner, guarded)));
        }
        word
    }

    fn redirection(&mut self) {
        let rest = self.scanner.rest();
        let is_heredoc = rest.starts_with("<<") && !rest.starts_with("<<<");
        let signs = rest
            .bytes()
            .take_while(|byte| matches!(byte, b'<' | b'>' | b'&' | b'|' | b'-'));
        self.scanner.at += signs.count();
        while matches!(self.scanner.byte(0), b' ' | b'\t') {
            self.scanner.at += 1;
        }
        // `<(command)` is a separate command.
        if self.scanner.byte(0) == b'(' {
            return;
        }
        let target = self.word().unquoted();
        self.writes |= rest.starts_with('>')
            && !rest.starts_with(">&")
            && target.as_str() != "/dev/null"
            && !self.redirects_errors;
        self.discards_errors |= self.redirects_errors && target.as_str() == "/dev/null";
        // `<< parameters.cuda >>` is CircleCI's.
        if is_heredoc && !target.is_empty() && !target.as_str().starts_with("parameters.") {
            let words: Vec<_> = self.words.iter().map(|word| word.as_str()).collect();
            let is_python = matches!(words[..], [program] | [program, "-"] if is_python(program));
            self.heredocs
                .push((target.as_str(), is_python && !self.is_guarded()));
        }
    }

    fn pass_heredocs(&mut self, facts: &mut Facts<'a>) {
        for (delimiter, is_python) in std::mem::take(&mut self.heredocs) {
            let start = self.scanner.at;
            while !self.scanner.is_at_end() {
                let line = self.scanner.rest().split('\n').next().unwrap_or_default();
                let is_end = line.trim() == delimiter;
                if is_end && is_python {
                    facts
                        .python
                        .push(self.scanner.text.part(start..self.scanner.at));
                }
                self.scanner.at += line.len() + 1;
                if is_end {
                    break;
                }
            }
        }
    }

    fn is_guarded(&self) -> bool {
        self.guarded || self.chain || self.blocks.last().is_some_and(|block| block.guarded)
    }

    /// Ends a command; `sign` is the operator, with its high bit set if it was doubled.
    fn end(&mut self, sign: u8, facts: &mut Facts<'a>) {
        let words = std::mem::take(&mut self.words);
        let is_and = sign == b'&' ^ 0x80;
        let is_or = sign == b'|' ^ 0x80;
        let is_arm_end = sign == b';' ^ 0x80;
        if let Some(block) = self.blocks.last_mut()
            && let Kind::Case { subject } = block.kind
        {
            if sign == b')' && !words.is_empty() {
                // A pattern of the case.
                block.guarded = block.outer
                    || subject
                    || words.iter().any(|word| names_a_vendor(word.as_str()));
                return;
            }
            if is_arm_end {
                self.command(&words, false, facts);
                if let Some(block) = self.blocks.last_mut() {
                    block.guarded = block.outer;
                }
                return;
            }
        }
        if sign == b'(' {
            // `name()` begins a function.
            if let [name] = words.as_slice()
                && self.scanner.byte(0) == b')'
            {
                self.function = function_of_vendor(*name);
            }
            if words.len() > 1 {
                self.command(&words, false, facts);
            }
            return;
        }
        if is_or {
            // A command before `||` may fail, and so may the commands piped into it.
            for command in facts.commands.iter_mut().skip(self.pipeline) {
                command.guarded = true;
            }
        }
        let writes = std::mem::take(&mut self.writes);
        let is_filter = writes && words.first().is_some_and(|word| word.as_str() == "grep");
        let names_vendor = || words.iter().any(|word| names_a_vendor(word.as_str()));
        let asks = is_test(&words) && !is_filter && names_vendor();
        if self.function.is_some() && (asks || is_or && names_vendor()) {
            self.tests.extend(self.function);
        }
        // `check_cuda && …` is a test.
        if let Some(name) = words.first().copied().and_then(function_of_vendor)
            && !is_and
            && !is_or
            && !self.is_guarded()
        {
            self.called.push(name);
        }
        self.command(&words, is_or, facts);
        self.chain = (is_and || is_or) && (self.chain || asks);
        if sign != b'|' {
            self.pipeline = facts.commands.len();
        }
    }

    /// Removes leading keywords, then stores the rest as a command.
    fn command(&mut self, words: &[Text<'a>], may_fail: bool, facts: &mut Facts<'a>) {
        let mut words = words;
        // `srun --container-image=nvcr.io/nvidia/pytorch:26.03-py3 …`
        for (option, image) in words.iter().filter_map(|word| word.split_once('=')) {
            if option.as_str() == "--container-image" {
                facts.images.push(Image {
                    name: image.unquoted(),
                    guarded: self.is_guarded(),
                });
            }
        }
        let discards_errors = std::mem::take(&mut self.discards_errors);
        while let Some((first, rest)) = words.split_first() {
            match first.as_str() {
                "if" => self.open(Kind::Condition, false),
                "elif" => self.reopen(Kind::Condition),
                "then" => self.reopen(Kind::Then),
                "fi" | "esac" => drop(self.blocks.pop()),
                "}" => {
                    self.blocks.pop();
                    self.function = None;
                }
                "case" => {
                    let subject = rest.first().is_some_and(|word| {
                        names_a_vendor(word.as_str()) || contains(word.as_str(), "gpu")
                    });
                    self.open(Kind::Case { subject }, false);
                    // `case x in cuda` ends at the parenthesis of the pattern, which `end` handles first only on a
                    // separate line.
                    let pattern = rest.get(2..).unwrap_or_default();
                    let guarded =
                        subject || pattern.iter().any(|word| names_a_vendor(word.as_str()));
                    self.mark(guarded);
                    return;
                }
                "{" => {
                    let guarded = self
                        .function
                        .is_some_and(|name| !self.called.contains(&name));
                    self.open(Kind::Braces, guarded);
                }
                "function" => {
                    self.function = rest.first().copied().and_then(function_of_vendor);
                    let brace = rest.iter().position(|word| word.as_str() == "{");
                    words = brace.map_or(&[][..], |at| &rest[at..]);
                    continue;
                }
                "else" | "do" | "done" | "while" | "until" | "!" => {}
                "sudo" | "time" | "nohup" | "exec" | "env" => {}
                "srun" => {
                    words = after_options(rest);
                    continue;
                }
                // `sudo --preserve-env=PATH nsys profile …`
                option if option.starts_with("--") && option.contains('=') => {}
                // `conda run -n env pip install …`
                "conda" | "mamba" if rest.first().is_some_and(|verb| verb.as_str() == "run") => {
                    let name = rest.iter().position(|word| word.as_str() == "-n");
                    words = rest.get(name.map_or(1, |at| at + 2)..).unwrap_or_default();
                    continue;
                }
                // `NAME=value srun …`
                word if is_assignment(word) => {
                    settings(&words[..1], may_fail || self.is_guarded(), facts);
                }
                _ => break,
            }
            words = rest;
        }
        if self
            .blocks
            .last()
            .is_some_and(|block| block.kind == Kind::Condition)
            && words.iter().any(|word| names_a_vendor(word.as_str()))
        {
            self.mark(true);
            self.tests.extend(self.function);
        }
        let guarded = may_fail || self.is_guarded();
        let command = Command {
            words: words.to_vec(),
            guarded,
        };
        match command.program() {
            "" => return,
            "export" | "declare" | "local" | "readonly" | "typeset" => {
                settings(words, guarded, facts)
            }
            "bash" | "sh" | "zsh" => self.inner_script(words, guarded),
            "docker" | "podman" | "nerdctl" | "singularity" | "apptainer" => {
                // `docker run image bash -c "…"`
                let shell = words.iter().position(|word| {
                    matches!(word.as_str(), "bash" | "sh" | "/bin/bash" | "/bin/sh")
                });
                self.inner_script(&words[shell.unwrap_or(words.len())..], guarded);
                for pair in words.windows(2) {
                    if matches!(pair[0].as_str(), "-e" | "--env" | "--build-arg") {
                        settings(&pair[1..], guarded, facts);
                    }
                }
            }
            program => {
                // `if python -c "import flash_attn"; then`, `$(python -c "import flash_attn" 2>/dev/null)`: the script handles
                // the failure.
                let is_condition = self
                    .blocks
                    .last()
                    .is_some_and(|block| block.kind == Kind::Condition);
                if is_python(program) && !guarded && !is_condition && !discards_errors {
                    facts.python.extend(program_text(&command));
                }
                packages::read(&command, facts);
            }
        }
        facts.commands.push(command);
    }

    /// Stores the script in the words of `bash -c "…"`.
    fn inner_script(&mut self, words: &[Text<'a>], guarded: bool) {
        let option = words
            .iter()
            .position(|word| word.as_str().starts_with('-') && word.as_str().ends_with('c'));
        let script = option.and_then(|at| words.get(at + 1));
        self.inner.extend(script.map(|script| (*script, guarded)));
    }

    fn open(&mut self, kind: Kind, guarded: bool) {
        let outer = self.blocks.last().is_some_and(|block| block.guarded);
        self.blocks.push(Block {
            kind,
            guarded: guarded || outer,
            outer,
        });
    }

    fn reopen(&mut self, kind: Kind) {
        if let Some(block) = self.blocks.last_mut() {
            block.kind = kind;
        }
    }

    fn mark(&mut self, guarded: bool) {
        if let Some(block) = self.blocks.last_mut() {
            block.guarded |= guarded;
        }
    }
}

/// `${BASE}` and `$BASE` refer to `BASE`; so does the start of `${BASE}:${TAG}`.
pub(crate) fn variable(image: &str) -> Option<&str> {
    let name = image.strip_prefix('$')?.trim_start_matches('{');
    let end = name
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(name.len());
    name.get(..end)
}

/// Stores the `NAME=value` in `words`.
pub(super) fn settings<'a>(words: &[Text<'a>], guarded: bool, facts: &mut Facts<'a>) {
    for word in words {
        if let Some((key, value)) = word.split_once('=')
            && is_name(key.as_str())
        {
            setting(key, value.unquoted(), guarded, facts);
        }
    }
}

/// Stores one variable, and the package index in it.
pub(super) fn setting<'a>(key: Text<'a>, value: Text<'a>, guarded: bool, facts: &mut Facts<'a>) {
    if value.as_str().contains("://") && !guarded {
        facts.indexes.push(value);
    }
    facts.settings.push(Setting {
        key,
        value,
        guarded,
    });
}

#[cfg(test)]
mod tests;
