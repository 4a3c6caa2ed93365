//! YAML: containers, variables, scripts and conda environments, for any tool.
//!
//! Works line by line: enough for the keys, values, lists and block scalars that are common in such files.

use super::facts::{Command, Entry, Facts, Image, names_a_vendor};
use super::text::Text;
use super::{requirements, shell};
use hipward_analyzer_core::words::listed;

/// Keys whose value is shell.
const SCRIPTS: &str = "run script bash before_script after_script command commands setup install before_install cmd \
    entrypoint";

/// Keys whose children are variables.
const ENVIRONMENTS: &str = "env environment variables envs args build-args build_args";

/// Modules whose packages are built for CUDA, in the names of classes that a program makes.
const CUDA_MODULES: &str = "apex cudf cuml cupy transformer_engine";

/// Parses a YAML file into `facts`.
pub(super) fn read<'a>(source: Text<'a>, facts: &mut Facts<'a>) {
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < source.as_str().len() {
        let rest = source.from(at);
        let length = rest
            .as_str()
            .find('\n')
            .map_or(rest.as_str().len(), |end| end + 1);
        at += length;
        let line = rest.to(length);
        let line = line.to(line.as_str().trim_end().len());
        let content = line.trim();
        if content.as_str().starts_with('#') {
            facts.comments.push(content.range());
            continue;
        }
        if content.is_empty() || matches!(content.as_str(), "---" | "...") {
            continue;
        }
        let Some((column, key, value, is_item)) = parts(line, facts) else {
            continue;
        };
        while open
            .last()
            .is_some_and(|index| facts.entries[*index].column >= column)
        {
            open.pop();
        }
        let parent = open.last().copied();
        facts.entries.push(Entry {
            key,
            value,
            parent,
            column,
            begins_item: is_item,
        });
        let index = facts.entries.len() - 1;
        if !key.is_empty() {
            open.push(index);
        }
        // The lines of `run: |` belong to it.
        let block = if value.as_str().starts_with(['|', '>']) {
            let indent = line.as_str().len() - line.as_str().trim_start().len();
            let own = if key.is_empty() || is_item {
                indent
            } else {
                column
            };
            let length = block_length(source.from(at).as_str(), own);
            at += length;
            Some(source.part(at - length..at))
        } else {
            None
        };
        keep(index, block, facts);
    }
}

/// The indentation of a line's key, the key, the value, and whether it is an item of a list.
fn parts<'a>(line: Text<'a>, facts: &mut Facts<'a>) -> Option<(usize, Text<'a>, Text<'a>, bool)> {
    let mut at = line.as_str().len() - line.as_str().trim_start().len();
    let mut is_item = false;
    while let Some(item) = line.from(at).as_str().strip_prefix('-') {
        if !item.is_empty() && !item.starts_with(' ') {
            break;
        }
        is_item = true;
        at += 1 + item.len() - item.trim_start().len();
        if item.is_empty() {
            return None;
        }
    }
    let content = line.from(at);
    let (key_end, comment) = marks(content.as_str());
    if let Some(comment) = comment {
        facts.comments.push(content.from(comment).range());
    }
    let content = content.to(comment.unwrap_or(content.as_str().len()));
    Some(match key_end {
        Some(end) => (
            at,
            content.to(end).trim().unquoted(),
            content.from(end + 1).trim(),
            is_item,
        ),
        None => (at, content.to(0), content.trim(), is_item),
    })
}

/// The position of the colon after a key, and of a comment.
fn marks(text: &str) -> (Option<usize>, Option<usize>) {
    let mut quote = 0;
    let mut key_end = None;
    let mut before = b' ';
    let bytes = text.as_bytes();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            // A quote opens a string only where a value may begin.
            b'"' | b'\'' if quote == 0 && matches!(before, b' ' | b'[' | b'{' | b',' | b':') => {
                quote = byte
            }
            _ if byte == quote => quote = 0,
            _ if quote != 0 => {}
            b'#' if before == b' ' || before == b'\t' => return (key_end, Some(at)),
            b':' if key_end.is_none() && bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace) => {
                key_end = Some(at)
            }
            b'{' | b'[' if at == 0 => return (None, None),
            _ => {}
        }
        before = byte;
    }
    (key_end, None)
}

/// The length of the block whose lines are indented deeper than `indent`.
fn block_length(text: &str, indent: usize) -> usize {
    let mut length = 0;
    let mut kept = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        let content = line.trim_start_matches([' ', '\t']);
        if content.trim().is_empty() {
            continue;
        }
        if line.len() - content.len() <= indent {
            break;
        }
        kept = length;
    }
    kept
}

/// Stores the facts of the entry at `index`.
fn keep<'a>(index: usize, block: Option<Text<'a>>, facts: &mut Facts<'a>) {
    let Entry {
        key,
        value,
        parent,
        column,
        ..
    } = facts.entries[index];
    let name = key.as_str();
    let above = parent.map_or("", |parent| facts.entries[parent].key.as_str());
    let plain = value.unquoted();
    let is_script = |key: &str| listed(SCRIPTS, key);
    if is_script(name) || key.is_empty() && is_script(above) {
        let guarded = is_guarded(index, facts);
        script(block.unwrap_or(plain), guarded, facts);
    } else if listed(ENVIRONMENTS, above) {
        if key.is_empty() {
            shell::settings(&[plain], false, facts);
        } else if matches!(name, "name" | "value") {
            variable_of_a_pod(index, facts);
        } else {
            shell::setting(key, plain, false, facts);
        }
    } else if above == "dependencies" && key.is_empty() && is_conda(facts) {
        facts.requirements.extend(requirements::conda(plain, false));
    } else if key.is_empty() && (above == "python_packages" || above == "pip" && is_conda(facts)) {
        // The first is Cog's. An item may have options: `torch==1.11.0 --extra-index-url=https://…`.
        requirements::read(plain, facts);
    } else if name == "value" && column > 0 {
        variable_of_a_pod(index, facts);
    }
    // Hydra's `_target_: apex.optimizers.FusedAdam`
    if name == "_target_" {
        let module = plain.to(plain.as_str().find('.').unwrap_or(0));
        if listed(CUDA_MODULES, module.as_str()) {
            facts
                .requirements
                .extend(requirements::requirement(module, false));
        }
    }
    if name.contains("image") || name.ends_with("IMAGE") || name == "container" {
        let guarded = is_guarded(index, facts);
        facts.images.push(Image {
            name: plain,
            guarded,
        });
    }
    if matches!(
        name,
        "options" | "docker_options" | "docker_args" | "runArgs"
    ) {
        facts.container_options.push(Command {
            words: shell::words(block.unwrap_or(plain)),
            guarded: is_guarded(index, facts),
        });
    }
}

/// A script in a list item may itself be a list: `command: ["python", "train.py"]`.
fn script<'a>(text: Text<'a>, guarded: bool, facts: &mut Facts<'a>) {
    if text.as_str().starts_with('[') {
        let words = text
            .split(|c| matches!(c, '[' | ']' | ','))
            .map(|word| word.trim().unquoted());
        facts.commands.push(Command {
            words: words.filter(|word| !word.is_empty()).collect(),
            guarded,
        });
    } else {
        shell::read_guarded(text, guarded, facts);
    }
}

/// Behind `if: matrix.gpu == 'cuda'` in the same step.
fn is_guarded(index: usize, facts: &Facts<'_>) -> bool {
    let own = facts.entries[index].parent;
    for entry in facts.entries[..=index].iter().rev().take(MOST_SIBLINGS) {
        if entry.parent != own {
            continue;
        }
        if entry.key.as_str() == "if" && names_a_vendor(entry.value.as_str()) {
            return true;
        }
        if entry.begins_item {
            break;
        }
    }
    false
}

/// A step has only a few keys; a longer search would read long files repeatedly.
const MOST_SIBLINGS: usize = 12;

/// Kubernetes lists variables as `- name: X` and `value: y`.
fn variable_of_a_pod<'a>(index: usize, facts: &mut Facts<'a>) {
    let Some(before) = index.checked_sub(1).map(|before| &facts.entries[before]) else {
        return;
    };
    let entry = &facts.entries[index];
    if entry.key.as_str() == "value"
        && before.key.as_str() == "name"
        && before.column == entry.column
    {
        let (key, value) = (before.value.unquoted(), entry.value.unquoted());
        shell::setting(key, value, false, facts);
    }
}

/// A conda environment has its dependencies at the top level.
fn is_conda(facts: &Facts<'_>) -> bool {
    facts.entries.iter().take(MOST_SIBLINGS).any(|entry| {
        entry.column == 0 && matches!(entry.key.as_str(), "channels" | "dependencies" | "prefix")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(source: &str) -> Facts<'_> {
        let mut facts = Facts::default();
        read(Text::whole(source), &mut facts);
        facts
    }

    #[test]
    fn workflow_has_images_variables_and_scripts() {
        let facts = read_all(
            "jobs:\n  test:\n    container:\n      image: nvidia/cuda:12.4 # c\n      options: --gpus all\n    env:\n      A: \"1\"\n    steps:\n      - name: x\n        if: matrix.gpu == 'cuda'\n        run: a\n      - run: |\n          b\n            c\n      - name: y\n        run: d\n",
        );
        let images: Vec<_> = facts
            .images
            .iter()
            .map(|image| image.name.as_str())
            .collect();
        assert_eq!(images, ["", "nvidia/cuda:12.4"]);
        let commands: Vec<_> = facts
            .commands
            .iter()
            .map(|command| (command.program(), command.guarded))
            .collect();
        assert_eq!(
            commands,
            [("a", true), ("b", false), ("c", false), ("d", false)]
        );
        assert_eq!(facts.container_options[0].words.len(), 2);
        let settings: Vec<_> = facts
            .settings
            .iter()
            .map(|found| (found.key.as_str(), found.value.as_str()))
            .collect();
        assert_eq!(settings, [("A", "1")]);
    }

    #[test]
    fn compose_and_pods_list_variables() {
        let facts = read_all(
            "services:\n  a:\n    runtime: nvidia\n    environment:\n      - B=2\n    command: [\"nvidia-smi\", \"-L\"]\nspec:\n  env:\n  - name: C\n    value: \"3\"\n",
        );
        let settings: Vec<_> = facts
            .settings
            .iter()
            .map(|found| (found.key.as_str(), found.value.as_str()))
            .collect();
        assert_eq!(settings, [("B", "2"), ("C", "3")]);
        assert_eq!(facts.commands[0].program(), "nvidia-smi");
        let runtime = facts
            .entries
            .iter()
            .find(|entry| entry.key.as_str() == "runtime")
            .expect("an entry");
        assert_eq!(
            facts.entries[runtime.parent.expect("a parent")]
                .key
                .as_str(),
            "a"
        );
    }

    #[test]
    fn conda_environment_has_conda_and_pip_packages() {
        let facts = read_all(
            "name: x\nchannels:\n  - nvidia\ndependencies:\n- python=3.11\n- pytorch::pytorch-cuda=12.1\n- pip:\n  - --extra-index-url https://h/whl/cu121\n  - flash-attn==2\n",
        );
        let names: Vec<_> = facts
            .requirements
            .iter()
            .map(|found| found.name.as_str())
            .collect();
        assert_eq!(names, ["python", "pytorch-cuda", "flash-attn"]);
        assert_eq!(facts.indexes[0].as_str(), "https://h/whl/cu121");
    }

    #[test]
    fn pathological_files_are_parsed_in_linear_time() {
        for piece in [
            "- ",
            "a: |\n",
            "a:\n",
            "\"",
            "- - a: b\n",
            "{",
            "run: x\n",
            "é: #",
            " a:\n",
        ] {
            read_all(&piece.repeat(100_000));
        }
        let deep: String = (0..2000).map(|depth| " ".repeat(depth) + "a:\n").collect();
        read_all(&deep);
    }
}
