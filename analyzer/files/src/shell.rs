//! Shell: commands, variables that are set, and which of them run on some machines only.
//!
//! Supports enough of the grammar to find the boundaries of words. The body of a heredoc is data and is skipped.

use super::facts::{Command, Facts, Image, Setting, contains, names_a_vendor};
use super::packages;
use super::text::Text;

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
    reader.is_recipe = true;
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
    text: Text<'a>,
    at: usize,
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
    /// Some `$(` or `${` has no end, so the end of others is not searched.
    open_substitution: bool,
    open_expansion: bool,
    /// The text is a command of a makefile.
    is_recipe: bool,
}

impl<'a> Reader<'a> {
    fn new(text: Text<'a>, guarded: bool) -> Self {
        Reader {
            text,
            at: 0,
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
            open_substitution: false,
            open_expansion: false,
            is_recipe: false,
        }
    }

    fn byte(&self, offset: usize) -> u8 {
        let bytes = self.text.as_str().as_bytes();
        bytes.get(self.at + offset).copied().unwrap_or(0)
    }

    fn read(&mut self, facts: &mut Facts<'a>) {
        self.pipeline = facts.commands.len();
        let length = self.text.as_str().len();
        // After an escaped line break: a comment there does not end the command, as in Dockerfiles.
        let mut continued = false;
        while self.at < length {
            match self.byte(0) {
                b'\\' if matches!(self.byte(1), b'\n' | b'\r') => {
                    self.at += 2 + usize::from(self.byte(1) == b'\r');
                    continued = true;
                    continue;
                }
                b'#' => {
                    let line = self.rest().find('\n').unwrap_or(length - self.at);
                    let comment = self.text.part(self.at..self.at + line);
                    facts.comments.push(comment.range());
                    self.at += line + usize::from(continued);
                    continue;
                }
                b'\n' => {
                    self.at += 1;
                    self.end(b'\n', facts);
                    self.pass_heredocs(facts);
                }
                b' ' | b'\t' | b'\r' => {
                    self.at += 1;
                    continue;
                }
                sign @ (b';' | b'&' | b'|' | b'(' | b')') => {
                    let is_double = self.byte(1) == sign && sign != b'(';
                    self.at += if is_double { 2 } else { 1 };
                    self.end(if is_double { sign ^ 0x80 } else { sign }, facts);
                }
                b'<' | b'>' => self.redirection(),
                _ => {
                    let word = self.word();
                    let is_descriptor = matches!(self.byte(0), b'<' | b'>')
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

    fn rest(&self) -> &'a str {
        self.text.from(self.at).as_str()
    }

    /// Skips a word, including its quotes and substitutions.
    fn word(&mut self) -> Text<'a> {
        let start = self.at;
        let length = self.text.as_str().len();
        while self.at < length {
            match self.byte(0) {
                // `TORCH_CUDA_ARCH_LIST=8.6;8.9` in a `.env` file
                b';' if self.byte(1).is_ascii_digit() => self.at += 1,
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => {
                    break;
                }
                b'\\' => self.at += 2,
                b'\'' => self.quoted(b'\''),
                b'"' => self.quoted(b'"'),
                b'$' if self.is_recipe && matches!(self.byte(1), b'<' | b'(' | b'{') => {
                    self.at += if self.byte(1) == b'<' {
                        2
                    } else {
                        self.make_variable()
                    };
                }
                b'$' | b'`' => self.substitution(),
                _ => self.at += 1,
            }
        }
        self.at = self.text.as_str().ceil_char_boundary(self.at.min(length));
        self.text.part(start..self.at)
    }

    /// The length of a makefile's `$(NAME)` or `${NAME}`.
    fn make_variable(&self) -> usize {
        let name = self.rest().bytes().skip(2);
        let length = name
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
            .count();
        // A function such as `$(wildcard *.cu)` is read as text.
        2 + length + usize::from(matches!(self.byte(2 + length), b')' | b'}'))
    }

    fn quoted(&mut self, quote: u8) {
        self.at += 1;
        let length = self.text.as_str().len();
        while self.at < length {
            match self.byte(0) {
                byte if byte == quote => {
                    self.at += 1;
                    return;
                }
                b'\\' if quote == b'"' => self.at += 2,
                b'$' | b'`' if quote == b'"' => self.substitution(),
                _ => self.at += 1,
            }
        }
    }

    /// Skips `$…`; the contents of `$(…)` or backticks are stored for parsing.
    fn substitution(&mut self) {
        let rest = self.rest();
        if rest.starts_with("${") {
            // `${NAME:-value}` is one word, including blanks.
            let end = (!self.open_expansion).then(|| rest.find('}')).flatten();
            self.open_expansion = end.is_none();
            self.at += end.unwrap_or(1) + 1;
            return;
        }
        let is_backtick = rest.starts_with('`');
        let is_command = rest.starts_with("$(") && !rest.starts_with("$((");
        if self.open_substitution || !is_backtick && !is_command {
            self.at += 1;
            return;
        }
        let (open, close) = if is_backtick {
            (1, rest[1..].find('`').map(|end| end + 1))
        } else {
            (2, closing(rest))
        };
        match close {
            Some(close) => {
                let inner = self.text.part(self.at + open..self.at + close);
                let guarded = self.is_guarded();
                self.inner.push((inner, guarded));
                self.at += close + 1;
            }
            None => {
                self.open_substitution = true;
                self.at += 1;
            }
        }
    }

    fn redirection(&mut self) {
        let rest = self.rest();
        let is_heredoc = rest.starts_with("<<") && !rest.starts_with("<<<");
        let signs = rest
            .bytes()
            .take_while(|byte| matches!(byte, b'<' | b'>' | b'&' | b'|' | b'-'));
        self.at += signs.count();
        while matches!(self.byte(0), b' ' | b'\t') {
            self.at += 1;
        }
        // `<(command)` is a separate command.
        if self.byte(0) == b'(' {
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
            let start = self.at;
            while self.at < self.text.as_str().len() {
                let line = self.rest().split('\n').next().unwrap_or_default();
                let is_end = line.trim() == delimiter;
                if is_end && is_python {
                    facts.python.push(self.text.part(start..self.at));
                }
                self.at += line.len() + 1;
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
                && self.byte(0) == b')'
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

/// The name of a function, if it refers to a vendor.
fn function_of_vendor(name: Text<'_>) -> Option<&str> {
    Some(name.as_str()).filter(|name| names_a_vendor(name))
}

/// The words after the options of `srun -w "$node" --gpus=1 nsys profile …`.
fn after_options<'c, 'a>(words: &'c [Text<'a>]) -> &'c [Text<'a>] {
    let mut words = words;
    while let [option, rest @ ..] = words {
        let letter = option.as_str().strip_prefix('-');
        // These options of one letter have no value.
        let has_value = letter.is_some_and(|letter| {
            letter.len() == 1 && letter != "-" && !"EHIKOQVXZhklsuv".contains(letter)
        });
        if letter.is_none() {
            break;
        }
        words = rest.get(usize::from(has_value)..).unwrap_or_default();
    }
    words
}

/// `python`, `python3.11`, `/usr/bin/python3`
fn is_python(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.strip_prefix("python").is_some_and(|version| {
        version
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    })
}

/// The program of `python -u -c '…'`. A text with escapes or variables differs from the program.
fn program_text<'a>(command: &Command<'a>) -> Option<Text<'a>> {
    let mut options = command.words.iter().skip(1);
    options
        .by_ref()
        .take_while(|word| word.as_str().starts_with('-'))
        .find(|word| word.as_str() == "-c")?;
    let program = options.next()?;
    (!program.as_str().contains(['\\', '$', '`'])).then_some(*program)
}

/// The position of the parenthesis that closes the `$(` at the start of `text`.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote = 0;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match byte {
            b'\\' => escaped = true,
            b'\'' | b'"' if quote == 0 => quote = byte,
            _ if byte == quote => quote = 0,
            b'(' if quote == 0 => depth += 1,
            b')' if quote == 0 => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// A command that only tests a condition.
fn is_test(words: &[Text<'_>]) -> bool {
    let first = words
        .iter()
        .map(|word| word.as_str())
        .find(|word| !matches!(*word, "if" | "elif" | "!" | "while"));
    first.is_some_and(|word| {
        matches!(
            word,
            "[" | "[["
                | "test"
                | "command"
                | "which"
                | "type"
                | "hash"
                | "grep"
                | "lspci"
                | "uname"
        )
    })
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| is_name(name.trim_end_matches('+')))
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
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

/// Words of a line that is not a command, such as a container's options.
pub(super) fn words(line: Text<'_>) -> Vec<Text<'_>> {
    let mut reader = Reader::new(line, false);
    let mut words = Vec::new();
    while reader.at < line.as_str().len() {
        match reader.byte(0) {
            b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => {
                reader.at += 1
            }
            b'\\' if matches!(reader.byte(1), b'\n' | b'\r') => reader.at += 2,
            _ => words.push(reader.word().unquoted()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands on each line, with a `?` before guarded ones.
    fn commands(source: &str) -> Vec<String> {
        let mut facts = Facts::default();
        read(Text::whole(source), &mut facts);
        facts
            .commands
            .iter()
            .map(|command| {
                let words: Vec<_> = command.words.iter().map(|word| word.as_str()).collect();
                format!(
                    "{}{}",
                    if command.guarded { "?" } else { "" },
                    words.join(" ")
                )
            })
            .collect()
    }

    fn values(source: &str) -> Vec<(&str, &str)> {
        let mut facts = Facts::default();
        read(Text::whole(source), &mut facts);
        facts
            .settings
            .iter()
            .map(|setting| (setting.key.as_str(), &source[setting.value.range()]))
            .collect()
    }

    #[test]
    fn commands_end_at_shell_operators() {
        assert_eq!(
            commands("a 'b c' \"d;e\" \\\n f; g|h && i 2>/dev/null >x\n(j) # k\nl#m"),
            ["a b c d;e f", "g", "h", "i", "j", "l#m"]
        );
        assert_eq!(commands("a <<EOF b\nc\nEOF\nd"), ["a b", "d"]);
        assert_eq!(commands("a \\\n# between\n  b"), ["a b"]);
    }

    #[test]
    fn nested_commands_are_found() {
        assert_eq!(
            commands("n=$(nvidia-smi -L | wc -l)\necho \"`nvcc -V`\"\nbash -c 'x y'"),
            [
                "echo `nvcc -V`",
                "bash -c x y",
                "x y",
                "nvcc -V",
                "nvidia-smi -L",
                "wc -l"
            ]
        );
    }

    #[test]
    fn vendor_checks_guard_commands() {
        assert_eq!(
            commands("if command -v nvidia-smi; then\n a\nelse b; fi\nc"),
            ["?command -v nvidia-smi", "?a", "?b", "c"]
        );
        assert_eq!(
            commands("case $x in\n cuda) a ;;\n cpu) b ;;\nesac\nc"),
            ["?a", "b", "c"]
        );
        assert_eq!(commands("install_cuda() {\n a\n}\nb() { c; }"), ["?a", "c"]);
        assert_eq!(
            commands("which nvcc && a\nb | c || true"),
            ["which nvcc", "?a", "?b", "?c", "true"]
        );
        assert_eq!(
            commands("grep torch cuda.txt >x && a\nb << parameters.c >> d\ne"),
            ["grep torch cuda.txt", "a", "b", "e"]
        );
        assert_eq!(
            commands("A=1 srun -N 2 --overlap -l a -b\nsetup_cuda() { c; }\nsetup_cuda"),
            ["a -b", "c", "setup_cuda"]
        );
    }

    #[test]
    fn python_programs_count_unless_the_script_handles_their_failure() {
        let source = "python -c 'import a' 2> /tmp/log\nx=$(python3 -c 'import b' 2>/dev/null)\n\
                      if python -c 'import c'; then d; fi\npython -c 'import e' >/dev/null\npython -c 'import f' || g";
        let mut facts = Facts::default();
        read(Text::whole(source), &mut facts);
        let programs = facts.python.iter().map(|program| program.as_str());
        assert_eq!(programs.collect::<Vec<_>>(), ["import a", "import e"]);
    }

    #[test]
    fn variables_are_set_before_a_command_and_by_export() {
        assert_eq!(
            values("A=1 B='x y' run C=3\nexport D=\"4\" E\nF=5\ndocker run -e G=6 image"),
            [("A", "1"), ("B", "x y"), ("D", "4"), ("F", "5"), ("G", "6")]
        );
    }

    #[test]
    fn pathological_scripts_are_parsed_in_linear_time() {
        for piece in [
            "$(",
            "`",
            "\"",
            "'",
            "${",
            "<<a\n",
            "if ",
            "case x in ",
            "\\",
            "((",
            "é\\é",
        ] {
            commands(&piece.repeat(200_000));
        }
    }
}
