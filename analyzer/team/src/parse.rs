//! Parses rules from JSON. An error names the rule, the key, and the valid values.

use std::sync::Arc;

use super::condition::{Bound, Condition};
use super::names::{Constant, NameMatcher, Slot, Usage};
use super::non_python::{Thing, ThingMatcher};
use super::pattern::{Hole, Pattern};
use super::template::Template;
use super::{Matcher, TeamFix, TeamRule, TeamRuleError, TeamRules, Writing};
use crate::built_in;
use hipward_analyzer_core::json::{Json, parse};
use hipward_analyzer_core::{Applicability, Arch, Severity};

/// An error in a key: its path, and a sentence.
pub(super) type Wrong = (String, String);

/// A JSON text with a list of rules.
pub(super) fn rules(json: &str) -> Result<TeamRules, TeamRuleError> {
    match parse(json) {
        Ok(Json::List(rules)) => TeamRules::read(&rules),
        _ => Err(TeamRuleError {
            index: 0,
            key: String::new(),
            message: "expected a JSON list of rules".to_owned(),
        }),
    }
}

impl TeamRules {
    /// Parses rules from parsed JSON.
    pub fn read(rules: &[Json]) -> Result<TeamRules, TeamRuleError> {
        let mut read: Vec<TeamRule> = Vec::new();
        for (index, json) in rules.iter().enumerate() {
            let result = read_rule(json).and_then(|new| {
                let twin = |other: &&TeamRule| other.id == new.id || other.name == new.name;
                match read.iter().find(twin) {
                    Some(other) if other.id == new.id => {
                        wrong("id", "already used by another rule")
                    }
                    Some(_) => wrong("name", "already used by another rule"),
                    None => Ok(new),
                }
            });
            match result {
                Ok(rule) => read.push(rule),
                Err((key, message)) => {
                    return Err(TeamRuleError {
                        index,
                        key,
                        message,
                    });
                }
            }
        }
        Ok(TeamRules(Arc::from(read)))
    }
}

pub(super) fn wrong<T>(key: &str, message: impl Into<String>) -> Result<T, Wrong> {
    Err((key.to_owned(), message.into()))
}

/// An object, under the path of its key; empty for the rule itself.
pub(super) struct Table<'j> {
    path: &'static str,
    fields: &'j [(String, Json)],
}

impl<'j> Table<'j> {
    pub(super) fn new(path: &'static str, json: &'j Json, known: &[&str]) -> Result<Self, Wrong> {
        let Json::Object(fields) = json else {
            return wrong(path, format!("expected a table with {}", known.join(", ")));
        };
        let table = Table { path, fields };
        match fields
            .iter()
            .find(|(name, _)| !known.contains(&name.as_str()))
        {
            Some((name, _)) => wrong(
                &table.key(name),
                format!("unknown key; expected one of {}", known.join(", ")),
            ),
            None => Ok(table),
        }
    }

    fn key(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'j Json> {
        let field = self.fields.iter().find(|(field, _)| field == name);
        field.map(|(_, value)| value)
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'j str>, Wrong> {
        match self.get(name) {
            None => Ok(None),
            Some(Json::Text(text)) if !text.trim().is_empty() => Ok(Some(text)),
            Some(_) => wrong(&self.key(name), "expected a non-empty string"),
        }
    }

    pub(super) fn needed(&self, name: &str) -> Result<&'j str, Wrong> {
        match self.text(name)? {
            Some(text) => Ok(text),
            None => wrong(&self.key(name), "this key is required"),
        }
    }

    /// A string or a list of strings.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<&'j str>, Wrong> {
        let Some(Json::List(items)) = self.get(name) else {
            return Ok(self.text(name)?.into_iter().collect());
        };
        let mut texts = Vec::new();
        for item in items {
            match item {
                Json::Text(text) if !text.trim().is_empty() => texts.push(text.as_str()),
                _ => return wrong(&self.key(name), "expected a string or a list of strings"),
            }
        }
        if texts.is_empty() {
            return wrong(&self.key(name), "the list is empty");
        }
        Ok(texts)
    }

    fn table(&self, path: &'static str, known: &[&str]) -> Result<Option<Table<'j>>, Wrong> {
        self.get(path)
            .map(|json| Table::new(path, json, known))
            .transpose()
    }
}

fn read_rule(json: &Json) -> Result<TeamRule, Wrong> {
    let known = [
        "id", "name", "message", "severity", "link", "when", "match", "fix",
    ];
    let table = Table::new("", json, &known)?;
    let id = table.needed("id")?;
    let is_ours = id.len() > 2 && id.starts_with("HW") && id.as_bytes()[2].is_ascii_digit();
    let is_word = id.starts_with(|first: char| first.is_ascii_uppercase())
        && id.len() > 2
        && id
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    if is_ours || !is_word {
        return wrong(
            "id",
            "expected three or more capital letters and digits such as ACME001; HW and a digit are reserved for Hipward",
        );
    }
    let name = table.needed("name")?;
    let is_kebab = name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if !is_kebab || name.starts_with('-') {
        return wrong("name", "expected lower-case words separated by -");
    }
    if built_in(name).is_some() {
        return wrong("name", "a built-in rule has this name");
    }
    let severity = match table.text("severity")? {
        None | Some("warning") => Severity::Warning,
        Some("error") => Severity::Error,
        Some("advice") => Severity::Advice,
        Some("info") => Severity::Info,
        Some(_) => return wrong("severity", "expected error, warning, advice or info"),
    };
    let link = table.text("link")?;
    if link.is_some_and(|link| !link.starts_with("https://") && !link.starts_with("http://")) {
        return wrong(
            "link",
            "expected a URL that begins with https:// or http://",
        );
    }
    let matchers = read_match(&table, "match")?;
    let fix = read_fix(&table, &matchers)?;
    Ok(TeamRule {
        id: id.to_owned(),
        name: name.to_owned(),
        message: table.needed("message")?.to_owned(),
        severity,
        link: link.map(str::to_owned),
        when: read_when(&table)?,
        matchers,
        fix,
    })
}

fn read_when(table: &Table<'_>) -> Result<Condition, Wrong> {
    let Some(when) = table.table("when", &["arch", "rocm", "torch", "python"])? else {
        return Ok(Condition::default());
    };
    let mut condition = Condition::default();
    for asked in when.texts("arch")? {
        match Arch::of_name(asked) {
            Some(arch) => condition.arch.push(arch),
            None => {
                let known = Arch::ALL.map(Arch::name).join(", ");
                return wrong(
                    "when.arch",
                    format!("unknown value `{asked}`; expected one of {known}"),
                );
            }
        }
    }
    let bounds = |name: &str| match when.text(name)?.map(Bound::parse_all) {
        None => Ok(Vec::new()),
        Some(Some(bounds)) => Ok(bounds),
        Some(None) => wrong(
            &when.key(name),
            "expected comparisons such as \">=7\" or \">=2.6,<2.9\"",
        ),
    };
    condition.rocm = bounds("rocm")?;
    condition.torch = bounds("torch")?;
    condition.python = bounds("python")?;
    Ok(condition)
}

/// The matchers in the table at `path`.
pub(super) fn read_match(table: &Table<'_>, path: &'static str) -> Result<Vec<Matcher>, Wrong> {
    let known = [
        "import",
        "use",
        "call",
        "pattern",
        "cuda",
        "include",
        "package",
        "image",
        "variable",
        "arguments",
    ];
    // The possible matchers; arguments are only a part of a call.
    let things = || known[..known.len() - 1].join(", ");
    let Some(json) = table.get(path) else {
        return wrong(path, format!("missing; expected one of {}", things()));
    };
    let table = Table::new(path, json, &known)?;
    if table.get("arguments").is_some() && table.get("call").is_none() {
        return wrong(&table.key("arguments"), "only valid with `call`");
    }
    let mut matchers = Vec::new();
    for (key, usage) in [
        ("import", Usage::Import),
        ("use", Usage::Use),
        ("call", Usage::Call),
    ] {
        for path in table.texts(key)? {
            let is_path = path.split('.').all(|part| {
                !part.is_empty()
                    && !part.starts_with(|first: char| first.is_ascii_digit())
                    && part.chars().all(|c| c.is_alphanumeric() || c == '_')
            });
            if !is_path {
                return wrong(
                    &table.key(key),
                    format!("`{path}` is not a dotted name such as torch.cuda.amp"),
                );
            }
            matchers.push(Matcher::Name(NameMatcher {
                usage,
                path: path.to_owned(),
                arguments: if usage == Usage::Call {
                    read_arguments(&table)?
                } else {
                    Vec::new()
                },
            }));
        }
    }
    for text in table.texts("pattern")? {
        match Pattern::new(text) {
            Ok(pattern) => matchers.push(Matcher::Pattern(pattern)),
            Err(message) => return wrong(&table.key("pattern"), message),
        }
    }
    for (key, thing) in [
        ("cuda", Thing::Cuda),
        ("include", Thing::Include),
        ("package", Thing::Package),
        ("image", Thing::Image),
        ("variable", Thing::Variable),
    ] {
        for name in table.texts(key)? {
            match ThingMatcher::new(thing, name) {
                Ok(matcher) => matchers.push(Matcher::Thing(matcher)),
                Err(like) => return wrong(&table.key(key), format!("`{name}` is not {like}")),
            }
        }
    }
    if matchers.is_empty() {
        return wrong(path, format!("expected one of {}", things()));
    }
    Ok(matchers)
}

fn read_arguments(table: &Table<'_>) -> Result<Vec<(Slot, Constant)>, Wrong> {
    let key = table.key("arguments");
    let fields = match table.get("arguments") {
        None => return Ok(Vec::new()),
        Some(Json::Object(fields)) => fields,
        Some(_) => {
            return wrong(
                &key,
                "expected a table of keywords or positions with constants",
            );
        }
    };
    let mut arguments = Vec::new();
    for (slot, value) in fields {
        let constant = match value {
            Json::Text(text) => Constant::Text(text.clone()),
            Json::Number(number) => Constant::Integer(i64::try_from(*number).unwrap_or(i64::MAX)),
            Json::Bool(value) => Constant::Bool(*value),
            _ => {
                return wrong(
                    &format!("{key}.{slot}"),
                    "expected a string, a non-negative integer, true or false",
                );
            }
        };
        let slot = match slot.parse() {
            Ok(position) => Slot::Position(position),
            Err(_) => Slot::Keyword(slot.clone()),
        };
        arguments.push((slot, constant));
    }
    Ok(arguments)
}

fn read_fix(table: &Table<'_>, matchers: &[Matcher]) -> Result<Option<TeamFix>, Wrong> {
    let known = ["title", "replace", "applicability", "import"];
    let Some(fix) = table.table("fix", &known)? else {
        return Ok(None);
    };
    let is_elsewhere = |matcher: &Matcher| matches!(matcher, Matcher::Thing(_));
    let replace = match fix.text("replace")? {
        None => None,
        Some(text) if matchers.iter().all(is_elsewhere) => {
            if text.contains(char::is_whitespace) || text.contains('$') {
                return wrong(
                    "fix.replace",
                    "for languages other than Python, expected another name",
                );
            }
            Some(Writing::Name(text.to_owned()))
        }
        Some(_) if matchers.iter().any(is_elsewhere) => {
            return wrong(
                "fix.replace",
                "the replacement cannot be both Python code and a name: use two rules",
            );
        }
        Some(text) => Some(Writing::Python(read_template(text, matchers)?)),
    };
    let applicability = match fix.text("applicability")? {
        None if replace.is_some() => Applicability::Unsafe,
        None | Some("display-only") => Applicability::DisplayOnly,
        Some(_) if replace.is_none() => {
            return wrong(
                "fix.applicability",
                "a fix without `replace` is display-only",
            );
        }
        Some("safe") => Applicability::Safe,
        Some("unsafe") => Applicability::Unsafe,
        Some(_) => return wrong("fix.applicability", "expected safe, unsafe or display-only"),
    };
    let import = fix.text("import")?;
    if import.is_some() && !matches!(replace, Some(Writing::Python(_))) {
        return wrong(
            "fix.import",
            "only valid with a `replace` that is Python code",
        );
    }
    Ok(Some(TeamFix {
        title: fix.needed("title")?.to_owned(),
        applicability,
        replace,
        import: import.map(str::to_owned),
    }))
}

/// All patterns have the same metavariables; otherwise the fix could not be written for all of them.
fn read_template(text: &str, matchers: &[Matcher]) -> Result<Template, Wrong> {
    let holes = |matcher: &'_ Matcher| match matcher {
        Matcher::Pattern(pattern) => pattern.holes.clone(),
        Matcher::Name(_) | Matcher::Thing(_) => Vec::new(),
    };
    let first: Vec<Hole> = matchers.first().map(holes).unwrap_or_default();
    if matchers.iter().any(|matcher| holes(matcher) != first) {
        return wrong(
            "fix.replace",
            "the patterns have different metavariables, or a different order: use two rules",
        );
    }
    Template::new(text, &first).or_else(|message| wrong("fix.replace", message))
}
