//! Dockerfiles and Apptainer's definitions: base images, variables, and the shell commands of `RUN`.

use super::facts::{Command, Facts, Image};
use super::shell;
use super::text::Text;
use hipward_analyzer_core::words::listed;

/// Parses a Dockerfile into `facts`.
pub(super) fn read<'a>(source: Text<'a>, facts: &mut Facts<'a>) {
    let mut arguments: Vec<(&str, Text<'a>)> = Vec::new();
    let mut from_arguments: Vec<&str> = Vec::new();
    let mut rest = source;
    while !rest.is_empty() {
        let (instruction, after) = instruction(rest, facts);
        rest = after;
        let instruction = instruction.trim();
        let name = instruction.words().next().map_or("", |word| word.as_str());
        let body = instruction.from(name.len()).trim();
        match name.to_ascii_uppercase().as_str() {
            "FROM" => {
                if let Some(image) = body.words().find(|word| !word.as_str().starts_with("--")) {
                    from_arguments.extend(shell::variable(image.as_str()));
                    facts.images.push(Image {
                        name: image,
                        guarded: false,
                    });
                }
            }
            "COPY" => {
                let from = body
                    .words()
                    .find_map(|word| word.as_str().starts_with("--from=").then(|| word.from(7)));
                facts.images.extend(from.map(|name| Image {
                    name,
                    guarded: false,
                }));
            }
            "ARG" => {
                for word in shell::words(body) {
                    if let Some((key, value)) = word.split_once('=') {
                        arguments.push((key.as_str(), value.unquoted()));
                    }
                }
                shell::settings(&shell::words(body), false, facts);
            }
            "ENV" => environment(body, facts),
            "RUN" => run(body, facts),
            "CMD" | "ENTRYPOINT" => run(body, facts),
            _ => {}
        }
    }
    // `ARG BASE=nvidia/cuda:12.4` and `FROM ${BASE}`: the argument is the image.
    for (key, value) in &arguments {
        if from_arguments.contains(key) {
            facts.images.push(Image {
                name: alternative(*value, &arguments).unwrap_or(*value),
                guarded: false,
            });
        }
    }
}

/// The image in `${CUDA:+"nvidia/cuda:$CUDA"}`, if `CUDA` has a value.
fn alternative<'a>(value: Text<'a>, arguments: &[(&str, Text<'a>)]) -> Option<Text<'a>> {
    let name = shell::variable(value.as_str())?;
    let start = value.as_str().find(":+")? + 2;
    let has_value = arguments
        .iter()
        .any(|(key, value)| *key == name && !value.is_empty());
    let text = value.from(start).as_str();
    let inner = text.trim_end_matches('}').trim_matches('"');
    let quote = text.len() - text.trim_start_matches('"').len();
    has_value.then(|| value.part(start + quote..start + quote + inner.len()))
}

/// Sections of a definition that are shell.
const SECTIONS: &str = "%post %runscript %startscript %environment %test";

/// Parses a definition of Apptainer into `facts`: the image after `From:`, and the sections.
pub(super) fn read_definition<'a>(source: Text<'a>, facts: &mut Facts<'a>) {
    // The start of a section of commands.
    let mut start = None;
    for line in source.lines() {
        let text = line.as_str();
        if text.starts_with('%') {
            if let Some(start) = start {
                shell::read(source.part(start..line.range().start), facts);
            }
            let name = text.split_whitespace().next().unwrap_or_default();
            start = listed(SECTIONS, name).then_some(line.range().end);
        } else if start.is_none() && text.starts_with('#') {
            facts.comments.push(line.range());
        } else if let Some(name) = text.strip_prefix("From:") {
            facts.images.push(Image {
                name: line.from(text.len() - name.len()).trim(),
                guarded: false,
            });
        }
    }
    if let Some(start) = start {
        shell::read(source.from(start), facts);
    }
}

/// The instruction at the start of `text`, with all its lines, and the rest.
fn instruction<'a>(text: Text<'a>, facts: &mut Facts<'a>) -> (Text<'a>, Text<'a>) {
    let mut at = 0;
    let mut start = None;
    for line in text.as_str().split_inclusive('\n') {
        let trimmed = line.trim();
        let is_comment = trimmed.starts_with('#');
        let here = at;
        at += line.len();
        if is_comment && start.is_none() {
            facts.comments.push(text.part(here..at).trim().range());
            return (text.to(0), text.from(at));
        }
        if trimmed.is_empty() && start.is_none() {
            continue;
        }
        let first = *start.get_or_insert(here);
        if is_comment || trimmed.is_empty() || trimmed.ends_with('\\') {
            continue;
        }
        let instruction = text.part(first..at);
        return match heredoc(instruction.as_str()) {
            Some(delimiter) => {
                let length = until(text.from(at).as_str(), delimiter);
                (text.part(first..at + length), text.from(at + length))
            }
            None => (instruction, text.from(at)),
        };
    }
    (text.from(start.unwrap_or(at)), text.from(at))
}

/// The delimiter of the heredoc that an instruction opens: `RUN <<EOF`.
fn heredoc(instruction: &str) -> Option<&str> {
    let rest = instruction.split_once("<<")?.1.trim_start_matches('-');
    let rest = rest.trim_start_matches(['"', '\'']);
    let end = rest
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    rest.get(..end).filter(|delimiter| !delimiter.is_empty())
}

/// The number of bytes up to the end of the line that is `delimiter`.
fn until(text: &str, delimiter: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if line.trim() == delimiter {
            break;
        }
    }
    length
}

fn environment<'a>(body: Text<'a>, facts: &mut Facts<'a>) {
    let words = shell::words(body);
    match words.as_slice() {
        // `ENV NAME value`, the old form.
        [key, ..] if !key.as_str().contains('=') => {
            let value = body.from(key.as_str().len()).trim().unquoted();
            shell::setting(*key, value, false, facts);
        }
        words => shell::settings(words, false, facts),
    }
}

fn run<'a>(body: Text<'a>, facts: &mut Facts<'a>) {
    // `RUN --mount=type=cache,target=/x pip install y`
    let mut body = body;
    while let Some(flag) = body
        .words()
        .next()
        .filter(|word| word.as_str().starts_with("--"))
    {
        body = body.from(flag.range().end - body.range().start).trim();
    }
    if body.as_str().starts_with('[') {
        let words = body
            .split(|c| matches!(c, '[' | ']' | ',' | '"'))
            .map(Text::trim)
            .filter(|word| !word.is_empty());
        facts.commands.push(Command {
            words: words.collect(),
            guarded: false,
        });
        return;
    }
    if body.as_str().starts_with("<<") {
        let line = body
            .as_str()
            .find('\n')
            .map_or(body.as_str().len(), |at| at + 1);
        // The body is shell; its last line is the delimiter.
        body = body.from(line);
        body = body.to(body.as_str().trim_end().rfind('\n').unwrap_or(0));
    }
    shell::read(body, facts);
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "# syntax=docker/dockerfile:1\nARG BASE=nvidia/cuda:12.4\nFROM --platform=linux/amd64 ${BASE} AS build\nENV A=1 B=\"2 3\" \\\n    C=4\nENV D old form\nRUN --mount=type=cache,target=/x a && \\\n    # why\n    b\nRUN <<EOF\nc\nEOF\nCOPY --from=nvcr.io/x /a /b\nCMD [\"d\", \"e\"]\n";

    #[test]
    fn images_variables_and_commands_are_found() {
        let mut facts = Facts::default();
        read(Text::whole(SOURCE), &mut facts);
        let images: Vec<_> = facts
            .images
            .iter()
            .map(|image| image.name.as_str())
            .collect();
        assert_eq!(images, ["${BASE}", "nvcr.io/x", "nvidia/cuda:12.4"]);
        let settings: Vec<_> = facts
            .settings
            .iter()
            .map(|found| (found.key.as_str(), found.value.as_str()))
            .collect();
        assert_eq!(
            settings,
            [
                ("BASE", "nvidia/cuda:12.4"),
                ("A", "1"),
                ("B", "2 3"),
                ("C", "4"),
                ("D", "old form")
            ]
        );
        let commands: Vec<_> = facts.commands.iter().map(Command::program).collect();
        assert_eq!(commands, ["a", "b", "c", "d"]);
        let comments: Vec<_> = facts
            .comments
            .iter()
            .map(|range| &SOURCE[range.clone()])
            .collect();
        assert_eq!(comments, ["# syntax=docker/dockerfile:1", "# why"]);
    }
}
