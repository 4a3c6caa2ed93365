//! Pixi's manifest, `pixi.toml` or the tables `tool.pixi` of a `pyproject.toml`: packages of conda and of PyPI, commands, and
//! variables.

use super::facts::{Facts, Installer};
use super::requirements::is_guarded_group;
use super::shell;
use super::text::Text;
use super::toml::{Piece, package, poetry, text_at};

/// Stores the facts of `key` in `table`, and returns true, if the table is one of Pixi's.
pub(super) fn keep<'a>(
    table: &str,
    key: Text<'a>,
    strings: &[Piece<'a>],
    facts: &mut Facts<'a>,
) -> bool {
    let mut rest = table.strip_prefix("tool.pixi.").unwrap_or(table);
    let mut guarded = false;
    // `feature.gpu.target.linux-64.dependencies`
    while let Some((kind, name, inner)) = part(rest) {
        guarded |= match kind {
            "feature" => is_guarded_group(name),
            _ => !matches!(name, "linux-64" | "linux" | "unix"),
        };
        rest = inner;
    }
    match rest {
        "dependencies" | "host-dependencies" | "build-dependencies" | "run-dependencies" => {
            conda(key, strings, guarded, facts);
        }
        "pypi-dependencies" => {
            poetry(key, strings, guarded, facts);
            let index = text_at(strings, &["index"]);
            facts.indexes.extend(index.filter(|_| !guarded));
        }
        "workspace" | "project" if key.as_str() == "platforms" => platforms(strings, facts),
        // The older form of `cuda` in `platforms`.
        "system-requirements" if key.as_str() == "cuda" => conda(key, strings, guarded, facts),
        "tasks" => task(strings, guarded, facts),
        "activation.env" => variables(key, strings, guarded, facts),
        _ => match rest.strip_prefix("tasks.") {
            Some(name) if name.ends_with(".env") => variables(key, strings, guarded, facts),
            Some(_) if key.as_str() == "cmd" => task(strings, guarded, facts),
            _ => return false,
        },
    }
    true
}

/// The first part of a table's name, its own name, and what follows: `feature`, `cuda` and `dependencies`.
fn part(table: &str) -> Option<(&str, &str, &str)> {
    let (kind, rest) = table.split_once('.')?;
    let (name, rest) = rest.split_once('.')?;
    matches!(kind, "feature" | "target").then_some((kind, name, rest))
}

/// `pytorch-gpu = "*"`, `pytorch = { version = "2.5", build = "*cuda*" }`
fn conda<'a>(key: Text<'a>, strings: &[Piece<'a>], guarded: bool, facts: &mut Facts<'a>) {
    let build = text_at(strings, &["build"]);
    let specifier = build.or_else(|| text_at(strings, &["", "version"]));
    facts
        .requirements
        .push(package(Installer::Conda, key, specifier, guarded));
}

/// `["osx-arm64", { platform = "linux-64", cuda = "12.0" }]`: Pixi installs nothing on a Linux host without the driver of this
/// version, unless the platform is in the list without it as well.
fn platforms<'a>(strings: &[Piece<'a>], facts: &mut Facts<'a>) {
    let linux = strings
        .iter()
        .filter(|piece| piece.text.as_str() == "linux-64");
    let with_cuda = strings.iter().filter(|piece| piece.key.as_str() == "cuda");
    let guarded = linux.count() > with_cuda.clone().count();
    let packages =
        with_cuda.map(|piece| package(Installer::Conda, piece.key, Some(piece.text), guarded));
    facts.requirements.extend(packages);
}

/// `"python train.py"`, `{ cmd = "python train.py", env = { CUDA_VISIBLE_DEVICES = "0" } }`
fn task<'a>(strings: &[Piece<'a>], guarded: bool, facts: &mut Facts<'a>) {
    for (index, piece) in strings.iter().enumerate() {
        match piece.key.as_str() {
            "cmd" => shell::read_guarded(piece.text, guarded, facts),
            "" if index == 0 => shell::read_guarded(piece.text, guarded, facts),
            name if name.starts_with(|c: char| c.is_ascii_uppercase()) => {
                shell::setting(piece.key, piece.text, guarded, facts);
            }
            _ => {}
        }
    }
}

fn variables<'a>(key: Text<'a>, strings: &[Piece<'a>], guarded: bool, facts: &mut Facts<'a>) {
    if let Some(piece) = strings.first() {
        shell::setting(key, piece.text, guarded, facts);
    }
}

#[cfg(test)]
mod tests {
    use super::super::toml;
    use super::*;

    #[test]
    fn manifest_has_packages_commands_and_variables() {
        let source = "[workspace]\nchannels = [\"conda-forge\"]\n\
                      [dependencies]\npytorch-gpu = \">=2.5\"\npytorch = { version = \"2.5.*\", build = \"*cuda*\" }\n\
                      [feature.cuda.dependencies]\ncudnn = \"*\"\n\
                      [target.osx-arm64.dependencies]\nnumpy = \"*\"\n\
                      [target.linux-64.pypi-dependencies]\nxformers = \"==0.0.28\"\n\
                      [system-requirements]\nlinux = \"4.18\"\ncuda = \"12\"\n\
                      [tasks]\nbuild = \"nvcc a.cu\"\nrun = { cmd = \"python a.py\", env = { CUDA_HOME = \"/c\" } }\n\
                      [tasks.test]\ncmd = \"pytest\"\ndepends-on = [\"build\"]\n\
                      [activation.env]\nTORCH_CUDA_ARCH_LIST = \"9.0\"\n";
        let own_table = source.replace("\n[", "\n[tool.pixi.");
        for source in [source, &own_table] {
            let mut facts = Facts::default();
            toml::read(Text::whole(source), &mut facts);
            let packages = facts.requirements.iter().map(|found| {
                let guard = if found.guarded { "?" } else { "" };
                let (name, specifier) = (found.name.as_str(), found.specifier.as_str());
                format!("{guard}{:?} {name} {specifier}", found.installer)
            });
            let wanted = [
                "Conda pytorch-gpu >=2.5",
                "Conda pytorch *cuda*",
                "?Conda cudnn *",
                "?Conda numpy *",
                "Pip xformers ==0.0.28",
                "Conda cuda 12",
            ];
            assert_eq!(packages.collect::<Vec<_>>(), wanted);
            let programs = facts.commands.iter().map(|command| command.program());
            assert_eq!(programs.collect::<Vec<_>>(), ["nvcc", "python", "pytest"]);
            let keys = facts.settings.iter().map(|setting| setting.key.as_str());
            let wanted = ["CUDA_HOME", "TORCH_CUDA_ARCH_LIST"];
            assert_eq!(keys.collect::<Vec<_>>(), wanted);
        }
    }
}
