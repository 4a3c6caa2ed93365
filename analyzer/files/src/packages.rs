//! The packages that a command installs: pip, uv, poetry, conda.

use super::facts::{Command, Facts, Include, Installer, Requirement};
use super::requirements;
use super::shell;
use super::text::Text;
use hipward_analyzer_core::words::listed;

/// Options whose value is a package index or folder.
const INDEX_OPTIONS: &str =
    "-i --index-url --extra-index-url -f --find-links --index --default-index";

/// Options whose value is a requirements or constraints file.
const FILE_OPTIONS: &[&str] = &[
    "-r",
    "--requirement",
    "--requirements",
    "-c",
    "--constraint",
    "--constraints",
];

/// Other options with a value that is not a package.
const VALUED_OPTIONS: &str = "-e --editable -t --target -p --python --prefix --root -n --name --group -G --extra --platform \
    --python-version --progress-bar --cache-dir --log --timeout --retries --trusted-host --torch-backend \
    --config-settings -C --global-option --channel --file --no-binary --only-binary -P --upgrade-package \
    --reinstall-package --refresh-package --no-build-isolation-package";

/// Stores the packages and the indexes of `command`.
pub(super) fn read<'a>(command: &Command<'a>, facts: &mut Facts<'a>) {
    let Some((installer, arguments)) = installed(command) else {
        return;
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.as_str();
        let (option, inline) = match argument.split_once('=') {
            Some((option, value)) if text.starts_with('-') => (option.as_str(), Some(value)),
            _ => (text, None),
        };
        if listed(INDEX_OPTIONS, option) && installer == Installer::Pip {
            let index = inline
                .map(Text::unquoted)
                .or_else(|| arguments.next().copied());
            facts.indexes.extend(index.filter(|_| !command.guarded));
        } else if FILE_OPTIONS.contains(&option) && installer == Installer::Pip {
            let path = inline.or_else(|| arguments.next().copied());
            include(path, command, facts);
        } else if installer == Installer::Pip && requirements::is_attached(text) {
            include(Some(argument.from(2)), command, facts);
        } else if installer == Installer::Conda && option == "-c" || listed(VALUED_OPTIONS, option)
        {
            let value = inline.or_else(|| arguments.next().copied());
            if matches!(option, "-e" | "--editable") {
                let found = value.and_then(|value| editable(value, command.guarded));
                facts.requirements.extend(found);
            }
        } else if let Some(named) = named(*argument, command.guarded, facts) {
            facts.requirements.push(named);
        } else if !text.starts_with('-') {
            facts.requirements.extend(match installer {
                Installer::Pip | Installer::Lock => {
                    requirements::requirement(*argument, command.guarded)
                }
                Installer::Conda => requirements::conda(*argument, command.guarded),
            });
        }
    }
}

/// `-e git+https://github.com/NVIDIA/apex`, and the project itself with an extra: `-e .[flash-attn]`. A folder with the name
/// of a package was cloned before.
fn editable(value: Text<'_>, guarded: bool) -> Option<Requirement<'_>> {
    let text = value.as_str();
    let is_named = text.starts_with("git+") || text.starts_with(".[");
    requirements::requirement(value, guarded).filter(|_| is_named)
}

/// The requirement in a variable: `ARG APEX=git+https://github.com/NVIDIA/apex` and `pip install ${APEX}`.
fn named<'a>(argument: Text<'a>, guarded: bool, facts: &Facts<'a>) -> Option<Requirement<'a>> {
    let name = shell::variable(argument.as_str())?;
    let mut latest = facts.settings.iter().rev().take(MOST_SETTINGS);
    let setting = latest.find(|setting| setting.key.as_str() == name)?;
    let value = setting.value.as_str();
    // Wheels in variables are reported where they are set.
    let is_plain = !value.contains(char::is_whitespace) && !value.ends_with(".whl");
    let guarded = guarded || setting.guarded;
    requirements::requirement(setting.value, guarded).filter(|_| is_plain)
}

/// A longer search would read long files repeatedly.
const MOST_SETTINGS: usize = 64;

/// The most commands between a clone and its installation, such as `cd` and `git checkout`.
const BETWEEN: usize = 5;

/// Stores libraries without a version for ROCm that are built from a clone: `git clone https://github.com/NVIDIA/apex`, then
/// `pip install .`.
pub(super) fn read_clones(facts: &mut Facts<'_>) {
    for (at, command) in facts.commands.iter().enumerate() {
        let mut words = command.words.iter();
        let is_clone = command.program() == "git" && words.any(|word| word.as_str() == "clone");
        let address = words.find(|word| {
            let owners = [
                "//github.com/NV",
                "//github.com/deepseek-ai/",
                "//github.com/Dao-AILab/fast-hadamard",
            ];
            owners.iter().any(|owner| word.as_str().contains(owner))
        });
        let mut later = facts.commands.iter().skip(at + 1).take(BETWEEN);
        let is_built = |later: &Command<'_>| {
            installed(later).is_some() || later.words.iter().any(|word| word.as_str() == "setup.py")
        };
        if is_clone && later.any(is_built) {
            let found =
                address.and_then(|address| requirements::requirement(*address, command.guarded));
            facts.requirements.extend(found);
        }
    }
}

/// Stores a requirements file, unless it is installed on some machines only.
fn include<'a>(path: Option<Text<'a>>, command: &Command<'a>, facts: &mut Facts<'a>) {
    let path = path.filter(|_| !command.guarded);
    facts.includes.extend(path.map(|path| Include {
        path: path.unquoted(),
        in_command: true,
    }));
}

/// The installer, and the arguments after `install`.
fn installed<'c, 'a>(command: &'c Command<'a>) -> Option<(Installer, &'c [Text<'a>])> {
    let words: Vec<&str> = command.words.iter().map(|word| word.as_str()).collect();
    let program = command.program();
    let is_python = program.starts_with("python");
    let is_pip = |word: &str| matches!(word, "pip" | "mim") || word.starts_with("pip3");
    let verb = match words.as_slice() {
        [_, "-m", "pip", ..] if is_python => 3,
        [_, "-m", "uv", "pip", ..] if is_python => 4,
        ["uv", "pip", ..] => 2,
        // `$PIP install`, `"${PYTHON}" -m pip install`.
        [_, "-m", "pip", ..] => 3,
        [_, ..]
            if is_pip(program)
                || matches!(
                    program,
                    "uv" | "poetry" | "pdm" | "conda" | "mamba" | "micromamba"
                ) =>
        {
            1
        }
        [_, ..] if program.contains("PIP") && program.starts_with('$') => 1,
        _ => return None,
    };
    let installer = match program {
        "conda" | "mamba" | "micromamba" => Installer::Conda,
        _ => Installer::Pip,
    };
    let is_verb =
        |word: &&str| matches!(*word, "install" | "add" | "create" | "wheel" | "download");
    let at = verb + words.get(verb..)?.iter().position(is_verb)?;
    // Options may precede the verb, but other words may not: `conda env create`, `pip config set`.
    let plain = words
        .get(verb..at)?
        .iter()
        .all(|word| word.starts_with('-'));
    plain.then(|| (installer, &command.words[at + 1..]))
}
