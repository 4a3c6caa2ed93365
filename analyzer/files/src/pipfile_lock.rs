//! `Pipfile.lock`, the lock file of Pipenv: JSON with the exact version of each package.

use super::facts::{Facts, Installer, Requirement};
use super::json::Reader;
use super::requirements::is_for_another_platform;
use super::text::Text;
use super::toml::is_torch_index;

/// Parses a `Pipfile.lock` into `facts`. An incomplete file is read as far as it is valid.
pub(super) fn read<'a>(source: Text<'a>, facts: &mut Facts<'a>) {
    facts.is_generated = true;
    Reader::new(source.as_str()).object(|reader, section| {
        reader.space();
        match section {
            "_meta" => reader.object(|reader, key| match key {
                "sources" => reader.list(|reader| index(reader, source, facts)),
                _ => reader.skip(),
            }),
            // `default`, `develop`, and categories with names of their own.
            _ if reader.peek() == Some(b'{') => reader.object(|reader, name| {
                // The key's text is before the colon.
                let end = source.as_str()[..reader.at].rfind('"')?;
                let name = source.part(end.checked_sub(name.len())?..end);
                package(reader, source, name, facts)
            }),
            _ => reader.skip(),
        }
    });
}

/// An entry of `sources`.
fn index<'a>(reader: &mut Reader<'a>, source: Text<'a>, facts: &mut Facts<'a>) -> Option<()> {
    reader.object(|reader, key| {
        if key != "url" {
            return reader.skip();
        }
        let address = source.part(string(reader)?);
        if is_torch_index(address.as_str()) {
            facts.indexes.push(address);
        }
        Some(())
    })
}

/// The next value, which is a string.
fn string(reader: &mut Reader<'_>) -> Option<std::ops::Range<usize>> {
    reader.space();
    reader.string()
}

/// `{"version": "==2.4.0", "markers": "…", "hashes": […]}`
fn package<'a>(
    reader: &mut Reader<'a>,
    source: Text<'a>,
    name: Text<'a>,
    facts: &mut Facts<'a>,
) -> Option<()> {
    let mut specifier = name.to(0);
    let mut guarded = false;
    let read = reader.object(|reader, key| {
        match key {
            "version" => specifier = source.part(string(reader)?),
            "markers" => {
                guarded |= is_for_another_platform(source.part(string(reader)?).as_str());
            }
            // Built from a repository, a file or the project itself.
            "git" | "path" | "file" => {
                guarded = true;
                reader.skip()?;
            }
            _ => reader.skip()?,
        }
        Some(())
    });
    facts.requirements.push(Requirement {
        installer: Installer::Lock,
        name,
        extras: name.to(0),
        specifier,
        whole: if specifier.is_empty() {
            name
        } else {
            specifier
        },
        guarded,
    });
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_versions_markers_and_indexes() {
        let source = r#"{
            "_meta": {"hash": {"sha256": "a"}, "sources": [
                {"name": "pypi", "url": "https://pypi.org/simple"},
                {"name": "torch", "url": "https://download.pytorch.org/whl/cu124"}]},
            "default": {
                "torch": {"hashes": ["b"], "index": "torch", "version": "==2.6.0+cu124"},
                "triton": {"markers": "sys_platform == 'win32'", "version": "==3.2.0"},
                "apex": {"git": "https://h/apex", "ref": "c"}},
            "develop": {"numpy": {"version": "==2.0"}}"#;
        let mut facts = Facts::default();
        read(Text::whole(source), &mut facts);
        let shown: Vec<_> = facts
            .requirements
            .iter()
            .map(|found| (found.name.as_str(), found.specifier.as_str(), found.guarded))
            .collect();
        assert_eq!(
            shown,
            [
                ("torch", "==2.6.0+cu124", false),
                ("triton", "==3.2.0", true),
                ("apex", "", true),
                ("numpy", "==2.0", false)
            ]
        );
        assert_eq!(
            &source[facts.requirements[0].name.range()],
            facts.requirements[0].name.as_str()
        );
        assert_eq!(facts.indexes.len(), 1);
    }

    #[test]
    fn pathological_files_are_parsed_in_linear_time() {
        for piece in [
            "{\"a\":",
            "[",
            "{",
            "\"",
            "\\",
            "{\"default\":{\"a\":{",
            "é",
        ] {
            read(Text::whole(&piece.repeat(100_000)), &mut Facts::default());
        }
    }
}
