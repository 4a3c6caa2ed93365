//! `pyproject.toml`: requirements for any tool, package sources; the same from `pixi.toml`, `Pipfile` and `setup.cfg`; and the
//! packages in the lock files of uv, Poetry and PDM, and in `pylock.toml`.

use super::facts::{Facts, Include, Installer, Requirement};
use super::pixi;
use super::requirements::{
    is_for_another_platform, is_guarded_group, is_telling_marker, requirement,
};
use super::shell;
use super::text::Text;

/// Parses a `pyproject.toml` into `facts`.
pub(super) fn read<'a>(source: Text<'a>, facts: &mut Facts<'a>) {
    let mut table = "";
    let mut at = 0;
    // The packages that extras for CUDA require, in a lock file.
    let mut for_cuda = Vec::new();
    let mut uv = UvIndexes::default();
    while at < source.as_str().len() {
        let rest = source.from(at);
        let line_length = rest
            .as_str()
            .find('\n')
            .map_or(rest.as_str().len(), |end| end + 1);
        let line = rest.to(line_length);
        let trimmed = line.trim();
        match trimmed.as_str().as_bytes() {
            [] => at += line_length,
            [b'#', ..] => {
                facts.comments.push(trimmed.range());
                at += line_length;
            }
            [b'[', ..] => {
                let end = trimmed.as_str().find(']').unwrap_or(trimmed.as_str().len());
                table = match trimmed.to(end).as_str() {
                    // The sections of a `Pipfile` have the form of Poetry's.
                    "[packages" => "tool.poetry.dependencies",
                    "[dev-packages" => "tool.poetry.dev-dependencies",
                    other => other.trim_start_matches('[').trim(),
                };
                if table == "tool.uv.index" {
                    uv.indexes.push(UvIndex::default());
                }
                comment_in(trimmed.from(end), facts);
                at += line_length;
            }
            _ => {
                let Some((key, _)) = line.split_once('=') else {
                    at += line_length;
                    continue;
                };
                let start = key.as_str().len() + 1;
                let mut strings = Vec::new();
                let length = value(rest.from(start), &mut strings, facts);
                let key = key.trim().unquoted();
                if table == "package.optional-dependencies" && is_guarded_group(key.as_str()) {
                    let names = strings.iter().filter(|piece| piece.key.as_str() == "name");
                    for_cuda.extend(names.map(|piece| piece.text.as_str()));
                }
                uv.keep(table, key.as_str(), &strings);
                keep(table, key, &strings, facts);
                at += start + length;
            }
        }
    }
    facts.required_indexes = uv.required();
    for package in &mut facts.requirements {
        package.guarded |=
            package.installer == Installer::Lock && for_cuda.contains(&package.name.as_str());
    }
}

/// The indexes of uv, and the names of those that a package is installed from.
#[derive(Default)]
struct UvIndexes<'a> {
    indexes: Vec<UvIndex<'a>>,
    required: Vec<&'a str>,
}

/// A table `[[tool.uv.index]]`.
#[derive(Default)]
struct UvIndex<'a> {
    name: &'a str,
    address: Option<Text<'a>>,
}

impl<'a> UvIndexes<'a> {
    fn keep(&mut self, table: &str, key: &str, strings: &[Piece<'a>]) {
        match (table, strings) {
            ("tool.uv.index", [value, ..]) => {
                let Some(index) = self.indexes.last_mut() else {
                    return;
                };
                match key {
                    "name" => index.name = value.text.as_str(),
                    "url" => index.address = Some(value.text),
                    _ => {}
                }
            }
            // `{ index = "cuda", marker = "sys_platform == 'linux'" }`, or a list of them
            ("tool.uv.sources", _) => {
                let is_index = |piece: &Piece<'_>| piece.key.as_str() == "index";
                let mut rest = strings;
                while let Some(at) = rest.iter().position(is_index) {
                    let name = &rest[at];
                    rest = &rest[at + 1..];
                    let end = rest.iter().position(is_index).unwrap_or(rest.len());
                    let is_choice = rest[..end].iter().any(|piece| match piece.key.as_str() {
                        "marker" => is_telling_marker(piece.text.as_str()),
                        _ => true,
                    });
                    if !is_choice {
                        self.required.push(name.text.as_str());
                    }
                }
            }
            _ => {}
        }
    }

    fn required(self) -> Vec<Text<'a>> {
        let indexes = self.indexes.into_iter();
        indexes
            .filter(|index| self.required.contains(&index.name))
            .filter_map(|index| index.address)
            .collect()
    }
}

/// A string in a value, and the key before it in an inline table.
pub(super) struct Piece<'a> {
    pub(super) key: Text<'a>,
    pub(super) text: Text<'a>,
}

/// Scans a value, stores its strings and comments, and returns its length.
fn value<'a>(text: Text<'a>, strings: &mut Vec<Piece<'a>>, facts: &mut Facts<'a>) -> usize {
    let bytes = text.as_str().as_bytes();
    let mut at = 0;
    let mut depth = 0_usize;
    let mut key = text.to(0);
    let mut word = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' if depth == 0 => return at + 1,
            b'[' | b'{' => {
                depth += 1;
                word = at + 1;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => {
                key = text.to(0);
                word = at + 1;
            }
            b'=' => {
                key = text.part(word..at).trim();
                word = at + 1;
            }
            b'#' => {
                let length = text
                    .from(at)
                    .as_str()
                    .find('\n')
                    .unwrap_or(bytes.len() - at);
                facts.comments.push(text.part(at..at + length).range());
                at += length;
                continue;
            }
            b'"' | b'\'' => {
                let (string, end) = string(text, at);
                strings.push(Piece { key, text: string });
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    at
}

/// The string that begins at `at`, and its end. It is limited to one line, unless it has three quotes.
fn string(text: Text<'_>, at: usize) -> (Text<'_>, usize) {
    let bytes = text.as_str().as_bytes();
    let quote = bytes[at];
    let is_long = bytes.get(at..at + 3) == Some(&[quote; 3]);
    let width = if is_long { 3 } else { 1 };
    let mut end = at + width;
    while end < bytes.len() {
        if bytes[end] == b'\\' && quote == b'"' {
            end += 2;
            continue;
        }
        let closes =
            bytes[end] == quote && (!is_long || bytes.get(end..end + 3) == Some(&[quote; 3]));
        if closes || bytes[end] == b'\n' && !is_long {
            break;
        }
        end += 1;
    }
    let end = end.min(bytes.len());
    let after = if bytes.get(end) == Some(&quote) {
        end + width
    } else {
        end
    };
    (text.part(at + width..end), after.min(bytes.len()))
}

fn comment_in<'a>(text: Text<'a>, facts: &mut Facts<'a>) {
    if let Some(at) = text.as_str().find('#') {
        facts.comments.push(text.from(at).range());
    }
}

/// Stores the facts of `key` in `table`.
fn keep<'a>(table: &'a str, key: Text<'a>, strings: &[Piece<'a>], facts: &mut Facts<'a>) {
    let name = key.as_str();
    if matches!(table, "package" | "packages" | "package.source") {
        locked(table, name, strings, facts);
        return;
    }
    let group = table.rsplit('.').nth(1).unwrap_or_default();
    let is_list = match table {
        "project" => name == "dependencies",
        "build-system" => name == "requires",
        "project.optional-dependencies" | "dependency-groups" | "tool.pdm.dev-dependencies" => true,
        "tool.uv" => name.ends_with("dependencies"),
        _ => table.starts_with("tool.hatch.envs.") && name.ends_with("dependencies"),
    };
    // Commands of Hatch, PDM and Poe.
    let is_script = table.starts_with("tool.hatch.envs.") && table.ends_with(".scripts")
        || matches!(table, "tool.pdm.scripts" | "tool.poe.tasks");
    if is_script {
        let commands = strings.iter().filter(|piece| {
            let key = piece.key.as_str();
            key.is_empty() || key == "cmd" || key == "shell"
        });
        for piece in commands {
            shell::read_guarded(piece.text, is_guarded_group(name), facts);
        }
        return;
    }
    let is_optional = matches!(table, "project.optional-dependencies" | "dependency-groups");
    let guarded = is_optional && is_guarded_group(name);
    if is_list {
        let found = strings
            .iter()
            .filter_map(|piece| requirement(piece.text.trim(), guarded));
        facts.requirements.extend(found.map(|found| Requirement {
            // An extra that is named after its package is requested by users who can use it.
            guarded: found.guarded || is_optional && name.replace('_', "-") == found.normalized(),
            ..found
        }));
        return;
    }
    // `dependencies = { file = ["requirements/base.txt"] }`
    if table.starts_with("tool.setuptools.dynamic") {
        let files = strings.iter().map(|piece| piece.text);
        let is_list = name.contains("dependencies") || table.contains("dependencies");
        facts
            .includes
            .extend(files.filter(|_| is_list).map(Include::in_file));
        return;
    }
    if matches!(
        table,
        "tool.poetry.dependencies" | "tool.poetry.dev-dependencies"
    ) || table.starts_with("tool.poetry.group.") && table.ends_with(".dependencies")
    {
        poetry(key, strings, is_guarded_group(group), facts);
        return;
    }
    if pixi::keep(table, key, strings, facts) {
        return;
    }
    let addresses = strings
        .iter()
        .filter(|piece| piece.text.as_str().contains("://"));
    let is_index = table.contains("index")
        || table.contains("source")
        || name.contains("index")
        || name.contains("find-links")
        || name == "url";
    if is_index {
        facts.indexes.extend(addresses.map(|piece| piece.text));
    }
}

/// `torch = "2.4.0"`, `torch = { version = "2.4.0", optional = true }`
pub(super) fn poetry<'a>(
    key: Text<'a>,
    strings: &[Piece<'a>],
    guarded: bool,
    facts: &mut Facts<'a>,
) {
    let specifier = text_at(strings, &["", "version", "git", "url"]);
    let marker = text_at(strings, &["markers"]);
    let marked = marker.is_some_and(|marker| is_for_another_platform(marker.as_str()));
    let guarded = guarded || marked;
    facts
        .requirements
        .push(package(Installer::Pip, key, specifier, guarded));
}

/// The first text at one of `keys` in an inline table; the key of a value that is no table is empty.
pub(super) fn text_at<'a>(strings: &[Piece<'a>], keys: &[&str]) -> Option<Text<'a>> {
    let found = strings
        .iter()
        .find(|piece| keys.contains(&piece.key.as_str()));
    found.map(|piece| piece.text)
}

/// The package that is named by a key.
pub(super) fn package<'a>(
    installer: Installer,
    key: Text<'a>,
    specifier: Option<Text<'a>>,
    guarded: bool,
) -> Requirement<'a> {
    Requirement {
        installer,
        name: key,
        extras: key.to(0),
        specifier: specifier.unwrap_or(key.to(0)),
        whole: key,
        guarded,
    }
}

/// A key of a package in a lock file. The keys of a package follow its name.
fn locked<'a>(table: &str, key: &str, strings: &[Piece<'a>], facts: &mut Facts<'a>) {
    let Some(first) = strings.first() else {
        return;
    };
    if key == "name" && table != "package.source" {
        facts.is_generated = true;
        facts.requirements.push(Requirement {
            installer: Installer::Lock,
            name: first.text,
            extras: first.text.to(0),
            specifier: first.text.to(0),
            whole: first.text,
            guarded: false,
        });
        return;
    }
    let last = facts.requirements.last_mut();
    let Some(package) = last.filter(|package| package.installer == Installer::Lock) else {
        return;
    };
    match key {
        "version" => {
            package.specifier = first.text;
            package.whole = first.text;
        }
        // `{ registry = "https://…" }`, `{ git = "…" }`, `{ virtual = "." }`; in Poetry's file a table.
        "source" | "index" | "url" => {
            let address = first.text;
            if !address.as_str().contains("//pypi.org/") {
                package.guarded |= !is_torch_index(address.as_str());
                let is_known = |known: &Text<'_>| known.as_str() == address.as_str();
                if is_torch_index(address.as_str()) && !facts.indexes.iter().any(is_known) {
                    facts.indexes.push(address);
                }
            }
        }
        // An entry for one platform; others follow for the others.
        "resolution-markers" | "marker" | "markers" => {
            package.guarded |= strings
                .iter()
                .all(|piece| is_for_another_platform(piece.text.as_str()));
        }
        _ => {}
    }
}

pub(super) fn is_torch_index(address: &str) -> bool {
    address.contains("://download.pytorch.org/whl/") && !address.ends_with("/cpu")
}

/// Parses a `setup.cfg` into `facts`.
pub(super) fn read_setup_cfg<'a>(source: Text<'a>, facts: &mut Facts<'a>) {
    let mut section = "";
    let mut wanted = false;
    let mut guarded = false;
    for line in source.lines() {
        let text = line.trim();
        let is_indented = line.as_str().starts_with([' ', '\t']);
        if text.as_str().starts_with(['#', ';']) {
            facts.comments.push(text.range());
        } else if text.as_str().starts_with('[') && !is_indented {
            section = text.as_str().trim_matches(['[', ']']);
        } else if is_indented && wanted {
            keep_option(text, guarded, facts);
        } else if let Some((key, value)) = text.split_once('=').filter(|_| !is_indented) {
            let key = key.trim().as_str();
            wanted = match section {
                "options" => matches!(key, "install_requires" | "setup_requires" | "tests_require"),
                "options.extras_require" => true,
                _ => false,
            };
            guarded = section == "options.extras_require" && is_guarded_group(key);
            if wanted {
                keep_option(value.trim(), guarded, facts);
            }
        }
    }
}

/// A requirement in a `setup.cfg`, or `file: requirements.txt, more.txt`.
fn keep_option<'a>(text: Text<'a>, guarded: bool, facts: &mut Facts<'a>) {
    match text.as_str().strip_prefix("file:") {
        Some(files) => {
            let paths = text.from(text.as_str().len() - files.len());
            let paths = paths.split(|c| c == ',' || c.is_whitespace());
            facts.includes.extend(paths.map(Include::in_file));
        }
        None => {
            // `transformers==4.43.1  # as in the lock file`
            let end = text.as_str().find(" #").unwrap_or(text.as_str().len());
            facts
                .requirements
                .extend(requirement(text.to(end).trim(), guarded));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(facts: &Facts<'_>) -> Vec<String> {
        facts
            .requirements
            .iter()
            .map(|found| {
                format!(
                    "{}{}{}",
                    if found.guarded { "?" } else { "" },
                    found.name.as_str(),
                    found.specifier.as_str()
                )
            })
            .collect()
    }

    #[test]
    fn requirements_of_every_tool_are_found() {
        let source = "[project] # a\ndependencies = [\n  \"torch==2\", # b\n  'numpy>=1',\n]\n[project.optional-dependencies]\ncuda = [\"cupy-cuda12x\"]\ndev = [\"pytest\"]\n[tool.poetry.dependencies]\napex = { git = \"https://h/apex\", optional = true }\nxformers = \"0.0.27\"\n[[tool.uv.index]]\nurl = \"https://h/whl/cu124\"\n[tool.ruff]\nline-length = 1\n";
        let mut facts = Facts::default();
        read(Text::whole(source), &mut facts);
        assert_eq!(
            shown(&facts),
            [
                "torch==2",
                "numpy>=1",
                "?cupy-cuda12x",
                "pytest",
                "apexhttps://h/apex",
                "xformers0.0.27"
            ]
        );
        let indexes: Vec<_> = facts.indexes.iter().map(|index| index.as_str()).collect();
        assert_eq!(indexes, ["https://h/whl/cu124"]);
        let comments: Vec<_> = facts
            .comments
            .iter()
            .map(|range| &source[range.clone()])
            .collect();
        assert_eq!(comments, ["# a", "# b"]);
    }

    #[test]
    fn lock_file_lists_packages_of_this_platform_with_their_versions() {
        let source = "version = 1\n[[package]]\nname = \"acme\"\nversion = \"1\"\nsource = { virtual = \".\" }\n\
                      [package.optional-dependencies]\ngpu = [{ name = \"cupy\" }]\n\
                      [[package]]\nname = \"cupy\"\nversion = \"13.4\"\n\
                      [[package]]\nname = \"torch\"\nversion = \"2.6.0\"\nresolution-markers = [\"sys_platform == 'darwin'\"]\n\
                      [[package]]\nname = \"torch\"\nversion = \"2.6.0+cu124\"\n\
                      source = { registry = \"https://download.pytorch.org/whl/cu124\" }\n\
                      [[package]]\nname = \"triton\"\nversion = \"3.2.0\"\n\
                      source = { registry = \"https://download.pytorch.org/whl/cu124\" }\n";
        let mut facts = Facts::default();
        read(Text::whole(source), &mut facts);
        assert!(facts.is_generated);
        let wanted = [
            "?acme1",
            "?cupy13.4",
            "?torch2.6.0",
            "torch2.6.0+cu124",
            "triton3.2.0",
        ];
        assert_eq!(shown(&facts), wanted);
        assert_eq!(facts.indexes.len(), 1);
    }

    #[test]
    fn setup_cfg_lists_requirements_in_indented_lines() {
        let source = "[metadata]\nname = x\n[options]\ninstall_requires =\n    torch==2  # as in a/b\n    numpy\n[options.extras_require]\ngpu =\n    cupy-cuda12x\n";
        let mut facts = Facts::default();
        read_setup_cfg(Text::whole(source), &mut facts);
        assert_eq!(shown(&facts), ["torch==2", "numpy", "?cupy-cuda12x"]);
    }

    #[test]
    fn pipfile_lists_packages_of_both_kinds_and_its_sources() {
        let source = "[[source]]\nurl = \"https://h/whl/cu124\"\nname = \"torch\"\n[packages]\ntorch = {version = \"==2.4.0\", index = \"torch\"}\nnumpy = \"*\"\n[dev-packages]\npynvml = \"*\"\n";
        let mut facts = Facts::default();
        read(Text::whole(source), &mut facts);
        assert_eq!(shown(&facts), ["torch==2.4.0", "numpy*", "pynvml*"]);
        assert_eq!(facts.indexes.len(), 1);
        assert!(!facts.is_generated);
    }

    #[test]
    fn files_with_requirements_are_includes() {
        let pyproject = "[tool.setuptools.dynamic]\nversion = { attr = \"a.b\" }\ndependencies = { file = [\"deps/base\"] }\noptional-dependencies.dev = { file = \"deps/dev\" }\n";
        let config = "[options]\ninstall_requires = file: deps/a, deps/b\n[options.extras_require]\ndev =\n    file: deps/c\n";
        let included = |facts: Facts<'_>| {
            let paths: Vec<_> = facts
                .includes
                .iter()
                .map(|include| include.path.as_str().to_owned())
                .collect();
            (paths, facts.requirements.len())
        };
        let mut facts = Facts::default();
        read(Text::whole(pyproject), &mut facts);
        let paths = ["deps/base", "deps/dev"].map(str::to_owned);
        assert_eq!(included(facts), (paths.to_vec(), 0));
        let mut facts = Facts::default();
        read_setup_cfg(Text::whole(config), &mut facts);
        let paths = ["deps/a", "deps/b", "deps/c"].map(str::to_owned);
        assert_eq!(included(facts), (paths.to_vec(), 0));
    }

    #[test]
    fn pathological_files_are_parsed_in_linear_time() {
        for piece in [
            "a = [", "a = \"", "\"\"\"", "[", "a=b=", "'", "#", "\\", "é",
        ] {
            let mut facts = Facts::default();
            let source = piece.repeat(100_000);
            read(Text::whole(&source), &mut facts);
            let mut facts = Facts::default();
            read_setup_cfg(Text::whole(&source), &mut facts);
        }
    }
}
