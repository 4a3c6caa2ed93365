//! What the words of one command mean: programs, options, tests and assignments.

use super::super::facts::{Command, names_a_vendor};
use super::super::text::Text;

/// The name of a function, if it refers to a vendor.
pub(super) fn function_of_vendor(name: Text<'_>) -> Option<&str> {
    Some(name.as_str()).filter(|name| names_a_vendor(name))
}

/// The words after the options of `srun -w "$node" --gpus=1 nsys profile …`.
pub(super) fn after_options<'c, 'a>(words: &'c [Text<'a>]) -> &'c [Text<'a>] {
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
pub(super) fn is_python(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.strip_prefix("python").is_some_and(|version| {
        version
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    })
}

/// The program of `python -u -c '…'`. A text with escapes or variables differs from the program.
pub(super) fn program_text<'a>(command: &Command<'a>) -> Option<Text<'a>> {
    let mut options = command.words.iter().skip(1);
    options
        .by_ref()
        .take_while(|word| word.as_str().starts_with('-'))
        .find(|word| word.as_str() == "-c")?;
    let program = options.next()?;
    (!program.as_str().contains(['\\', '$', '`'])).then_some(*program)
}

/// A command that only tests a condition.
pub(super) fn is_test(words: &[Text<'_>]) -> bool {
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

pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| is_name(name.trim_end_matches('+')))
}

pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
