//! pip's requirements and constraints files, and single requirements.

use super::facts::{Facts, Include, Installer, Requirement, names_a_vendor};
use super::text::Text;

/// Parses a requirements file into `facts`.
pub(super) fn read<'a>(source: Text<'a>, facts: &mut Facts<'a>) {
    for line in source.lines() {
        let text = line.as_str();
        // A comment starts at the beginning of a line or after white space: `#egg=` in a URL is not a comment.
        let begins_comment = |at: &usize| {
            let before = at
                .checked_sub(1)
                .and_then(|before| text.as_bytes().get(before));
            before.is_none_or(u8::is_ascii_whitespace)
        };
        let comment = text
            .match_indices('#')
            .map(|(at, _)| at)
            .find(begins_comment);
        if let Some(at) = comment {
            facts.comments.push(line.from(at).range());
        }
        let line = line.to(comment.unwrap_or(text.len())).trim();
        let line = line.to(line.as_str().trim_end_matches('\\').len()).trim();
        if !line.as_str().starts_with('-') {
            // A command in place of a requirement: a reader runs it.
            let command = line.as_str().strip_prefix("pip install ");
            let line = line.from(command.map_or(0, |rest| line.as_str().len() - rest.len()));
            let (asked, options) = without_options(line.trim());
            facts.requirements.extend(requirement(asked, false));
            facts.indexes.extend(index_of(options));
            continue;
        }
        let mut words = line.split(|c| c.is_whitespace() || c == '=');
        let option = words.next().map_or("", |word| word.as_str());
        let rest = line.from(option.len());
        let value = rest
            .from(rest.as_str().len() - rest.as_str().trim_start_matches(['=', ' ', '\t']).len());
        match option {
            "-i" | "--index-url" | "--extra-index-url" | "-f" | "--find-links" => {
                // Some files have a `;` after it, as before a marker.
                let address = value.as_str().trim_end_matches([';', ' ']);
                facts.indexes.push(value.to(address.len()).unquoted())
            }
            "-e" | "--editable" => facts.requirements.extend(requirement(value, false)),
            "-r" | "--requirement" | "-c" | "--constraint" => {
                facts.includes.push(Include::in_file(value.unquoted()));
            }
            // `-rcommon.txt`
            _ if is_attached(option) => facts.includes.push(Include::in_file(line.from(2))),
            _ => {}
        }
    }
}

/// True for `-rcommon.txt` and `-cpins.txt`: an option and its value in one word.
pub(super) fn is_attached(word: &str) -> bool {
    word.starts_with(['-'])
        && word
            .get(1..2)
            .is_some_and(|letter| matches!(letter, "r" | "c"))
        && word.len() > 2
}

/// A requirement, and the options after it: `torch==2.6.0+cu124 --index-url https://…`. pip ignores an index there, but
/// the line states it.
fn without_options(line: Text<'_>) -> (Text<'_>, Text<'_>) {
    let at = line.as_str().find(" --").unwrap_or(line.as_str().len());
    (line.to(at).trim(), line.from(at).trim())
}

/// The address after the first `--index-url` or `--extra-index-url` in the options of a requirement.
fn index_of(options: Text<'_>) -> Option<Text<'_>> {
    let mut words = options.split(|c| c.is_whitespace() || c == '=');
    words.find(|word| matches!(word.as_str(), "--index-url" | "--extra-index-url"))?;
    words
        .map(|word| word.unquoted())
        .find(|word| word.as_str().contains("://"))
}

fn name_length(text: &str) -> usize {
    text.bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
        .count()
}

/// The requirement in a line such as `torch[opt]>=2.4; sys_platform == "linux"`.
pub(super) fn requirement(text: Text<'_>, guarded: bool) -> Option<Requirement<'_>> {
    let (asked, marker) = text
        .split_once(';')
        .unwrap_or((text, text.from(text.as_str().len())));
    let whole = asked.trim();
    let guarded = guarded || is_telling_marker(marker.as_str());
    if whole.as_str().contains("://") && !whole.as_str().contains('@')
        || whole.as_str().starts_with("git+")
    {
        return address(whole, guarded);
    }
    let name = whole.to(name_length(whole.as_str()));
    // `.[flash-attn]` is the project itself, with an extra.
    if !name
        .as_str()
        .starts_with(|c: char| c.is_ascii_alphanumeric())
        && !whole.as_str().starts_with(".[")
    {
        return None;
    }
    let rest = whole.from(name.as_str().len()).trim();
    let extras_end = if rest.as_str().starts_with('[') {
        rest.as_str().find(']').map_or(0, |at| at + 1)
    } else {
        0
    };
    let specifier = rest.from(extras_end).trim();
    // `a/b.whl` and similar are files, and `--hash=…` after a requirement belongs to another tool.
    let is_plain = specifier.is_empty()
        || specifier
            .as_str()
            .starts_with(['=', '<', '>', '!', '~', '@', '(', ' ', '-']);
    is_plain.then(|| Requirement {
        installer: Installer::Pip,
        name,
        extras: rest.to(extras_end),
        specifier,
        whole,
        guarded,
    })
}

/// A conda requirement: `pytorch::pytorch-cuda=12.1`, `cudatoolkit >=11`.
pub(super) fn conda(text: Text<'_>, guarded: bool) -> Option<Requirement<'_>> {
    let whole = text.trim();
    let spec = whole.from(whole.as_str().rfind("::").map_or(0, |at| at + 2));
    let name = spec.to(name_length(spec.as_str()));
    let specifier = spec.from(name.as_str().len()).trim();
    (!name.is_empty()).then(|| Requirement {
        installer: Installer::Conda,
        name,
        extras: name.to(0),
        specifier,
        whole,
        guarded,
    })
}

/// A package at a URL; its name is the one after `#egg=`, or the last part of the path.
fn address(whole: Text<'_>, guarded: bool) -> Option<Requirement<'_>> {
    let text = whole.as_str();
    let name = match text.find("#egg=") {
        Some(at) => whole.from(at + 5),
        None => {
            let path = whole.to(text.find('#').unwrap_or(text.len()));
            let path = path.to(path.as_str().trim_end_matches('/').len());
            // `…/apex.git@a1b2c3`; an `@` before the path belongs to a user name.
            let scheme = path.as_str().find("://").map_or(0, |at| at + 3);
            let path = path.from(scheme);
            let last_slash = path.as_str().find('/').unwrap_or(0);
            let revision = path
                .as_str()
                .get(last_slash..)
                .and_then(|rest| rest.find('@'));
            let path = path.to(revision.map_or(path.as_str().len(), |at| last_slash + at));
            path.from(path.as_str().rfind('/').map_or(0, |at| at + 1))
        }
    };
    let is_wheel = name.as_str().ends_with(".whl");
    let length = if is_wheel {
        name.as_str().find('-').unwrap_or(0)
    } else {
        name_length(name.as_str().trim_end_matches(".git"))
    };
    let name = name.to(length);
    (!name.is_empty()).then(|| Requirement {
        installer: Installer::Pip,
        name,
        extras: name.to(0),
        specifier: whole,
        whole,
        guarded,
    })
}

/// A marker that depends on an extra or a kernel, or is false on a host with AMD GPUs.
pub(super) fn is_telling_marker(marker: &str) -> bool {
    let keys = ["extra", "platform_release", "platform_version"];
    keys.iter().any(|key| marker.contains(key)) || is_for_another_platform(marker)
}

/// A marker that is false on Linux with a processor of AMD or Intel: `platform_machine == "aarch64"`.
pub(super) fn is_for_another_platform(marker: &str) -> bool {
    let ends_with = |text: &str, operator: &str| {
        let text = text.trim_end_matches(['\'', '"', ' ']);
        text.ends_with(operator)
    };
    let others = [
        "darwin", "Darwin", "win32", "Windows", "AMD64", "aarch64", "arm64", "ppc64le", "s390x",
    ];
    let own = ["linux", "Linux", "x86_64"];
    marker.split(" or ").all(|marker| {
        let compares = |word: &str, operator: &str| {
            let before = marker.split_once(word).map(|(before, _)| before);
            before.is_some_and(|before| ends_with(before, operator))
        };
        others.iter().any(|word| compares(word, "=="))
            || own.iter().any(|word| compares(word, "!="))
    })
}

/// True if the packages of a group with that name are required only with CUDA.
pub(super) fn is_guarded_group(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    names_a_vendor(&name)
        || name.contains("gpu")
        || name
            .strip_prefix("cu")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Option<(String, &str, &str, bool)> {
        let found = requirement(Text::whole(text), false)?;
        Some((
            found.normalized(),
            found.extras.as_str(),
            found.specifier.as_str(),
            found.guarded,
        ))
    }

    #[test]
    fn requirement_has_name_extras_version_and_marker() {
        assert_eq!(
            parts("Flash_Attn"),
            Some(("flash-attn".to_owned(), "", "", false))
        );
        assert_eq!(
            parts("torch[opt] ==2.4.0+cu124 ; python_version < '3.12'"),
            Some(("torch".to_owned(), "[opt]", "==2.4.0+cu124", false))
        );
        assert_eq!(
            parts("triton==3.0; platform_machine == 'x86_64'"),
            Some(("triton".to_owned(), "", "==3.0", false))
        );
        for marker in [
            "platform_machine == 'aarch64'",
            "sys_platform != \"linux\"",
            "extra == 'gpu'",
        ] {
            let text = format!("triton==3.0; {marker}");
            assert!(parts(&text).is_some_and(|parts| parts.3), "{marker}");
        }
        for (text, name) in [
            ("git+https://github.com/NVIDIA/apex.git@a1b2", "apex"),
            (
                "git+https://h/o/tiny-cuda-nn/#subdirectory=bindings/torch",
                "tiny-cuda-nn",
            ),
            ("git+https://user@host/o/Some_Repo#egg=thing", "thing"),
            (
                "https://host/flash_attn-2.7+cu12-cp311-linux_x86_64.whl",
                "flash-attn",
            ),
            ("apex @ git+https://github.com/NVIDIA/apex", "apex"),
        ] {
            assert_eq!(
                parts(text).map(|parts| parts.0),
                Some(name.to_owned()),
                "{text}"
            );
        }
        for text in ["", "./local", ".", "-e .", "'", "[x]"] {
            assert_eq!(parts(text), None, "{text}");
        }
    }

    #[test]
    fn requirements_file_has_requirements_indexes_and_comments() {
        let source = "# c\n-i https://a/b\n--extra-index-url=https://c/d\ntorch==2 # e\nx @ https://h/x.whl#sha256=1\n-r other.txt\n--constraint=pins\n-rthird\nnumpy \\\n";
        let mut facts = Facts::default();
        read(Text::whole(source), &mut facts);
        let names: Vec<_> = facts
            .requirements
            .iter()
            .map(|found| found.name.as_str())
            .collect();
        assert_eq!(names, ["torch", "x", "numpy"]);
        let indexes: Vec<_> = facts.indexes.iter().map(|index| index.as_str()).collect();
        assert_eq!(indexes, ["https://a/b", "https://c/d"]);
        let includes: Vec<_> = facts
            .includes
            .iter()
            .map(|include| include.path.as_str())
            .collect();
        assert_eq!(includes, ["other.txt", "pins", "third"]);
        let comments: Vec<_> = facts
            .comments
            .iter()
            .map(|range| &source[range.clone()])
            .collect();
        assert_eq!(comments, ["# c", "# e"]);
    }
}
