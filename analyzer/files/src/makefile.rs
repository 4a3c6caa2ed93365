//! Makefiles: variables, the commands of recipes, and the parts that are behind a condition on a vendor.

use super::facts::{Facts, Setting, names_a_vendor};
use super::shell;
use super::text::Text;

/// Parses a makefile into `facts`.
///
/// A variable is a setting, and a line of a recipe is a shell command. The commands of `define` are not parsed.
pub(super) fn read<'a>(source: Text<'a>, facts: &mut Facts<'a>) {
    let mut conditions: Vec<bool> = Vec::new();
    let mut rest = source;
    let mut defines = 0_usize;
    while !rest.is_empty() {
        let (line, after) = logical_line(rest);
        rest = after;
        let is_recipe = line.as_str().starts_with('\t');
        let guarded = conditions.last() == Some(&true);
        if is_recipe {
            if defines == 0 {
                recipe(line.from(1), guarded, facts);
            }
            continue;
        }
        let code = comment(line, facts).trim();
        match code.words().next().map_or("", |word| word.as_str()) {
            "ifdef" | "ifndef" | "ifeq" | "ifneq" => {
                conditions.push(guarded || names_a_vendor(code.as_str()));
            }
            "else" => {
                if let Some(condition) = conditions.last_mut() {
                    *condition |= names_a_vendor(code.as_str());
                }
            }
            "endif" => drop(conditions.pop()),
            "define" => defines += 1,
            "endef" => defines = defines.saturating_sub(1),
            _ if defines == 0 => variable(code, guarded, facts),
            _ => {}
        }
    }
}

/// The first line of `text` with its continuations, and the rest.
fn logical_line<'a>(text: Text<'a>) -> (Text<'a>, Text<'a>) {
    let bytes = text.as_str().as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1 + usize::from(bytes.get(at + 1) == Some(&b'\r')),
            b'\n' => return (text.to(at), text.from(at + 1)),
            _ => {}
        }
        at += 1;
    }
    (text, text.from(bytes.len()))
}

/// Stores the comment of a line, and returns the text before it.
fn comment<'a>(line: Text<'a>, facts: &mut Facts<'a>) -> Text<'a> {
    let text = line.as_str();
    let start = text
        .match_indices('#')
        .map(|(at, _)| at)
        .find(|at| !text[..*at].ends_with('\\'));
    match start {
        Some(at) => {
            facts.comments.push(line.from(at).range());
            line.to(at)
        }
        None => line,
    }
}

/// A line of a recipe without the signs before the command.
fn recipe<'a>(line: Text<'a>, guarded: bool, facts: &mut Facts<'a>) {
    let signs = line
        .as_str()
        .bytes()
        .take_while(|byte| matches!(byte, b'@' | b'-' | b'+' | b' ' | b'\t'))
        .count();
    shell::read_recipe(line.from(signs), guarded, facts);
}

/// `NAME = value`, `NAME ?= value`, `export NAME += value`
fn variable<'a>(code: Text<'a>, guarded: bool, facts: &mut Facts<'a>) {
    let Some((left, value)) = code.split_once('=') else {
        return;
    };
    let signs = left
        .as_str()
        .trim_end()
        .trim_end_matches(['?', ':', '+', '!'])
        .trim_end();
    let name = left.to(signs.len()).trim();
    let name = match name.as_str().rfind(char::is_whitespace) {
        Some(at) if matches!(name.as_str()[..at].trim(), "export" | "override") => {
            name.from(at + 1)
        }
        _ => name,
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if !name.is_empty() && name.as_str().bytes().all(is_name) {
        facts.settings.push(Setting {
            key: name,
            value: value.trim(),
            guarded,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(source: &str) -> Vec<String> {
        let mut facts = Facts::default();
        read(Text::whole(source), &mut facts);
        let guard = |guarded| if guarded { "?" } else { "" };
        let settings = facts.settings.iter().map(|setting| {
            let guard = guard(setting.guarded);
            format!("{guard}{}={}", setting.key.as_str(), setting.value.as_str())
        });
        let commands = facts.commands.iter().map(|command| {
            let words: Vec<_> = command.words.iter().map(|word| word.as_str()).collect();
            format!("{}{}", guard(command.guarded), words.join(" "))
        });
        settings.chain(commands).collect()
    }

    #[test]
    fn variables_and_recipes_are_found() {
        assert_eq!(
            facts(
                "NVCC ?= nvcc # which\nexport A := b \\\n c\nx: x.cu a=b\n\t@$(NVCC) -c $< -o $@\n"
            ),
            ["NVCC=nvcc", "A=b \\\n c", "$(NVCC) -c $< -o $@"]
        );
    }

    #[test]
    fn vendor_conditions_guard_lines() {
        assert_eq!(
            facts(
                "ifeq ($(USE_CUDA),1)\nA = 1\nifdef X\n\tnvcc a\nendif\nelse\nB = 2\nendif\nC = 3\n"
            ),
            ["?A=1", "?B=2", "C=3", "?nvcc a"]
        );
    }

    #[test]
    fn pathological_files_are_parsed_in_linear_time() {
        for piece in [
            "\\",
            "\\\n",
            "#",
            "ifdef cuda\n",
            "\t@",
            "a=",
            "define\n",
            "é",
        ] {
            facts(&piece.repeat(100_000));
        }
    }
}
