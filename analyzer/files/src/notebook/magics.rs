//! IPython syntax: `%magics`, `!commands`, `obj?`. It is replaced by Python of the same length.

use hipward_analyzer_core::words::listed;
use std::ops::Range;

/// A line of a cell, including its line break; or all of a cell in another language.
pub(super) enum Line<'a> {
    Python(&'a str),
    /// `!pip install x`, `%pip install x`
    Command {
        text: &'a str,
        /// The position of the command in the text.
        command: Range<usize>,
        /// The replacement of the line's prefix.
        blank: String,
    },
    /// The continuation of a command or a magic, after a backslash at the end of a line.
    Continued {
        text: &'a str,
        is_command: bool,
    },
    /// Another magic, or a request for help.
    Other {
        text: &'a str,
        blank: String,
    },
    /// The body of `%%bash`, `%%html` and similar, including that line.
    Foreign {
        text: &'a str,
        is_shell: bool,
    },
}

/// Cell magics whose body is Python.
const PYTHON_CELLS: &str = "time timeit capture prun memit mprun debug python python3 pypy";

/// The lines of a cell.
pub(super) fn lines(cell: &str) -> Vec<Line<'_>> {
    // Colab allows comments before the magic.
    let first = cell
        .lines()
        .map(str::trim_start)
        .find(|line| !line.is_empty() && !line.starts_with('#'));
    if let Some(magic) = first.and_then(|line| line.strip_prefix("%%")) {
        let name = magic
            .split(|c: char| c.is_whitespace())
            .next()
            .unwrap_or_default();
        if !listed(PYTHON_CELLS, name) {
            let is_shell = matches!(name, "bash" | "sh" | "shell" | "!" | "sx" | "system");
            return vec![Line::Foreign {
                text: cell,
                is_shell,
            }];
        }
    }
    let mut state = State::default();
    let mut colab = ColabBranch::default();
    // Whether the previous line continues in this one, and whether it was a command.
    let mut continued = None;
    cell.split_inclusive('\n')
        .map(|text| {
            let line = match continued {
                Some(is_command) => Line::Continued { text, is_command },
                None if state.is_between_statements() => match (line(text), colab.contains(text)) {
                    (Line::Command { text, blank, .. }, true) => Line::Other { text, blank },
                    (line, _) => line,
                },
                None => Line::Python(text),
            };
            if let Line::Python(text) = &line {
                state.read(text);
            }
            continued = match line {
                Line::Command { .. } => Some(true),
                Line::Other { .. } => Some(false),
                Line::Continued { is_command, .. } => Some(is_command),
                _ => None,
            };
            continued = continued.filter(|_| text.trim_end_matches(['\n', '\r']).ends_with('\\'));
            line
        })
        .collect()
}

/// The branch of a cell that runs on Google Colab only, whose GPUs are NVIDIA's: below `if IN_COLAB:`, and below the `else` of
/// `if "COLAB_" not in "".join(os.environ):`.
#[derive(Default)]
struct ColabBranch {
    /// The indentation of the `if` whose `else` is for Colab.
    has_else: Option<usize>,
    /// The indentation of the line above the branch.
    within: Option<usize>,
}

impl ColabBranch {
    /// Whether a line that begins no continuation is in the branch.
    fn contains(&mut self, line: &str) -> bool {
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') {
            return self.within.is_some();
        }
        let indent = line.len() - content.len();
        self.within = self.within.filter(|above| indent > *above);
        let is_else = content.starts_with("else:") && self.has_else == Some(indent);
        self.has_else = self.has_else.filter(|above| indent > *above);
        if content.starts_with("if ") && content.to_ascii_lowercase().contains("colab") {
            let place = match content.contains(" not ") {
                true => &mut self.has_else,
                false => &mut self.within,
            };
            *place = Some(indent);
        } else if is_else {
            self.within = Some(indent);
        }
        self.within.is_some_and(|above| indent > above)
    }
}

fn line(text: &str) -> Line<'_> {
    let content = text.trim_start_matches([' ', '\t']);
    let indent = text.len() - content.len();
    let end = text.trim_end_matches(['\n', '\r']).len();
    let blank = |at: usize| {
        // A comment where a statement may be missing; otherwise a number, so that a block is not empty.
        let mut blank = text.get(..at).unwrap_or_default().to_owned();
        blank.push(if at == 0 { '#' } else { '0' });
        if at > 0 && at + 1 < end && text.is_char_boundary(at + 2) {
            blank.push('#');
        }
        blank
    };
    let command = |start: usize| Line::Command {
        text,
        command: start.min(end)..end,
        blank: blank(indent),
    };
    if let Some(rest) = content.strip_prefix('!') {
        return command(indent + 1 + usize::from(rest.starts_with('!')));
    }
    if let Some(magic) = content.strip_prefix('%') {
        let is_name = magic
            .trim_start_matches('%')
            .starts_with(|c: char| c.is_ascii_alphabetic());
        return match magic.split(|c: char| c.is_whitespace()).next() {
            _ if !is_name => Line::Python(text),
            Some("pip" | "conda" | "mamba" | "uv") => command(indent + 1),
            Some("sx" | "system") => command(indent + 1 + magic.find(' ').unwrap_or(magic.len())),
            // `%env NAME=value` sets the same value as the words in a shell.
            Some(name @ ("env" | "set_env")) if magic.contains('=') => {
                command(indent + 1 + name.len())
            }
            _ => Line::Other {
                text,
                blank: blank(indent),
            },
        };
    }
    // `files = !ls`
    if let Some(at) = content
        .find("= !")
        .filter(|at| is_target(content.get(..*at).unwrap_or_default()))
    {
        return Line::Command {
            text,
            command: (indent + at + 3).min(end)..end,
            blank: blank(indent + at + 2),
        };
    }
    // `best = %timeit -o f()`
    if let Some(at) = content
        .find("= %")
        .filter(|at| is_target(content.get(..*at).unwrap_or_default()))
    {
        return Line::Other {
            text,
            blank: blank(indent + at + 2),
        };
    }
    let asked = content.trim_end();
    let is_help =
        asked.starts_with('?') || asked.ends_with('?') && !asked.contains(['#', '"', '\'']);
    if is_help {
        return Line::Other {
            text,
            blank: blank(indent),
        };
    }
    Line::Python(text)
}

fn is_target(text: &str) -> bool {
    !text.trim().is_empty()
        && text
            .trim()
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b',' | b' '))
}

/// Whether a line of Python is complete: no open bracket or string, and no backslash at its end.
#[derive(Default)]
struct State {
    depth: usize,
    /// The quote of a multi-line string.
    quote: u8,
    continued: bool,
}

impl State {
    fn is_between_statements(&self) -> bool {
        self.depth == 0 && self.quote == 0 && !self.continued
    }

    fn read(&mut self, line: &str) {
        let bytes = line.trim_end_matches(['\n', '\r']).as_bytes();
        let mut at = 0;
        // A single-line string.
        let mut short = 0;
        self.continued = false;
        while let Some(byte) = bytes.get(at).copied() {
            let is_triple = bytes.get(at..at + 3) == Some(&[byte; 3]);
            match byte {
                b'\\' if self.quote != 0 || short != 0 => at += 1,
                b'\\' => self.continued = at + 1 == bytes.len(),
                _ if byte == self.quote && is_triple => {
                    self.quote = 0;
                    at += 2;
                }
                _ if self.quote != 0 => {}
                _ if byte == short => short = 0,
                _ if short != 0 => {}
                b'"' | b'\'' if is_triple => {
                    self.quote = byte;
                    at += 2;
                }
                b'"' | b'\'' => short = byte,
                b'#' => break,
                b'(' | b'[' | b'{' => self.depth += 1,
                b')' | b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
    }
}
