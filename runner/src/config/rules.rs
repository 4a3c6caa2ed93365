//! Loads a folder of team rules: TOML files, each with one or more `[[rule]]`.

use std::path::{Path, PathBuf};

use hipward_analyzer::{TeamRuleError, TeamRules};
use ignore::WalkBuilder;
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::ConfigError;
use super::toml_text::{Section, TomlText};

/// A team's rules, ready for the analyzer here and in a browser.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadedRules {
    /// For the analyzer.
    pub(crate) rules: TeamRules,
    /// The same as a JSON list, for the browser module.
    pub(crate) json: Value,
    /// The position of each rule: `rules/acme.toml:3`.
    pub(crate) places: Vec<String>,
}

/// Reads every `.toml` file below `folder`, in the order of their names.
pub(crate) fn load_rules(folder: &Path) -> Result<LoadedRules, ConfigError> {
    let mut files = Vec::new();
    for path in toml_files(folder)? {
        files.push(TomlText::read(&path)?);
    }
    let mut documents = Vec::new();
    for file in &files {
        documents.push((file, file.parse()?));
    }
    // The position of each rule, for errors of the analyzer.
    let mut places: Vec<(&TomlText, &Spanned<DeValue<'_>>)> = Vec::new();
    for (file, document) in &documents {
        let whole = Section {
            file,
            path: String::new(),
            table: document.get_ref(),
        };
        for entry in whole.entries(&["rule"])? {
            let rules = entry
                .value
                .as_array()
                .ok_or_else(|| entry.error("rules must be written under [[rule]]"))?;
            places.extend(rules.iter().map(|rule| (*file, rule)));
        }
    }
    let json: Value = places
        .iter()
        .map(|(_, rule)| json(rule.get_ref()))
        .collect();
    match TeamRules::parse(&json.to_string()) {
        Ok(rules) => Ok(LoadedRules {
            rules,
            json,
            places: places
                .iter()
                .map(|(file, rule)| file.place(rule.span().start))
                .collect(),
        }),
        Err(error) => Err(locate(&places, error).unwrap_or_else(|error| ConfigError {
            path: folder.to_owned(),
            line: None,
            key: error.key,
            message: error.message,
        })),
    }
}

fn toml_files(folder: &Path) -> Result<Vec<PathBuf>, ConfigError> {
    let mut files = Vec::new();
    for entry in WalkBuilder::new(folder)
        .sort_by_file_path(Path::cmp)
        .build()
    {
        let entry = entry.map_err(|error| ConfigError {
            path: folder.to_owned(),
            line: None,
            key: String::new(),
            message: format!("this folder of rules cannot be read: {error}"),
        })?;
        let is_toml = entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "toml");
        if is_toml && entry.file_type().is_some_and(|kind| kind.is_file()) {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

/// Adds the line of the key that an error is about, or of the nearest parent key that exists.
fn locate(
    places: &[(&TomlText, &Spanned<DeValue<'_>>)],
    error: TeamRuleError,
) -> Result<ConfigError, TeamRuleError> {
    let Some((file, rule)) = places.get(error.index) else {
        return Err(error);
    };
    let mut at = rule.span().start;
    let mut table: Option<&DeTable<'_>> = rule.get_ref().as_table();
    for name in error.key.split('.') {
        let found = table.and_then(|table| table.iter().find(|(key, _)| *key.get_ref() == name));
        let Some((key, value)) = found else {
            break;
        };
        at = key.span().start;
        table = value.get_ref().as_table();
    }
    Ok(file.error(at, error.key, error.message))
}

fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(value) => Value::from(*value),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Value::from(number.as_str()), Value::from),
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .map_or(Value::Null, Value::from),
        DeValue::Datetime(datetime) => Value::from(datetime.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => table
            .iter()
            .map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref())))
            .collect::<Map<_, _>>()
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn load(texts: &[(&str, &str)]) -> Result<LoadedRules, ConfigError> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in texts {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        load_rules(folder.path())
    }

    const GOOD: &str = "[[rule]]\nid = \"ACME001\"\nname = \"acme\"\nmessage = \"m\"\nmatch.call = \"acme.f\"\nmatch.arguments = { 0 = 3, on = true }\n";

    #[test]
    fn only_toml_files_are_loaded() {
        let second = GOOD
            .replace("ACME001", "ACME002")
            .replace("\"acme\"", "\"acme-two\"");
        let loaded = load(&[("b.toml", GOOD), ("a.toml", &second), ("readme.md", "# x")]);
        let ids: Vec<_> = loaded
            .expect("good rules")
            .rules
            .iter()
            .map(|rule| rule.id.clone())
            .collect();
        assert_eq!(ids, ["ACME002", "ACME001"]);
    }

    #[test]
    fn errors_have_file_line_and_key() {
        for (text, line, key) in [
            (format!("\n{GOOD}colour = 1\n"), 8, "colour"),
            (
                GOOD.replace("name = \"acme\"", "name = \"Acme\""),
                3,
                "name",
            ),
            (GOOD.replace("message = \"m\"\n", ""), 1, "message"),
            (GOOD.replace("acme.f", "acme f"), 5, "match.call"),
            (GOOD.replace("0 = 3", "0 = -3"), 6, "match.arguments.0"),
            (
                format!("{GOOD}match.package = [\"acme\", \"acme 2\"]\n"),
                7,
                "match.package",
            ),
            (format!("{GOOD}[rules]\n"), 7, "rules"),
            ("rule = 1\n".to_owned(), 1, "rule"),
            ("[[rule]]\nid = \n".to_owned(), 2, ""),
        ] {
            let error = load(&[("team.toml", &text)]).expect_err("a mistake");
            assert!(error.path.ends_with("team.toml"), "{error}");
            assert_eq!(
                (error.line, error.key.as_str()),
                (Some(line), key),
                "{error}"
            );
        }
        let twin = load(&[("a.toml", GOOD), ("b.toml", GOOD)]).expect_err("a twin");
        assert!(twin.path.ends_with("b.toml"), "{twin}");
    }
}
