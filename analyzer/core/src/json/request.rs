//! Parses a request: known fields with strings, lists and numbers. Errors are sentences.

use super::parse::{Json, parse};
use crate::report::{Applicability, Arch, Language, Target, Version};

/// A request with only known fields.
pub struct Request(Vec<(String, Json)>);

impl Request {
    /// Reads an object whose fields are among `known`.
    pub fn read(text: &str, known: &[&str]) -> Result<Request, String> {
        match parse(text) {
            Ok(Json::Object(fields)) => {
                known_only(&fields, known)?;
                Ok(Request(fields))
            }
            Ok(_) => Err("A request is a JSON object.".to_owned()),
            Err(at) => Err(format!("The request is not JSON, from byte {at} on.")),
        }
    }

    fn field(&self, name: &str) -> Option<&Json> {
        self.0
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, value)| value)
    }

    /// A required string field.
    pub fn text(&self, name: &str) -> Result<&str, String> {
        match self.field(name) {
            Some(Json::Text(text)) => Ok(text),
            _ => Err(format!("The request needs the field `{name}`, a string.")),
        }
    }

    /// A list; empty if the field is missing.
    pub fn list(&self, name: &str) -> Result<&[Json], String> {
        match self.field(name) {
            None => Ok(&[]),
            Some(Json::List(items)) => Ok(items),
            Some(_) => Err(format!("The field `{name}` is a list.")),
        }
    }

    /// A list of strings; empty if the field is missing.
    pub fn texts(&self, name: &str) -> Result<Vec<&str>, String> {
        let mut texts = Vec::new();
        for item in self.list(name)? {
            match item {
                Json::Text(text) => texts.push(text.as_str()),
                _ => return Err(format!("The field `{name}` is a list of strings.")),
            }
        }
        Ok(texts)
    }

    /// An optional string.
    pub fn optional_text(&self, name: &str) -> Result<Option<&str>, String> {
        self.field(name).map(|_| self.text(name)).transpose()
    }

    /// A list of objects with the `known` fields; empty if the field is missing.
    pub fn objects(self, name: &str, known: &[&str]) -> Result<Vec<Request>, String> {
        let mut objects = Vec::new();
        for (field, value) in self.0 {
            match value {
                _ if field != name => {}
                Json::List(items) => {
                    for item in items {
                        let Json::Object(fields) = item else {
                            return Err(format!("The field `{name}` is a list of objects."));
                        };
                        known_only(&fields, known)?;
                        objects.push(Request(fields));
                    }
                }
                _ => return Err(format!("The field `{name}` is a list.")),
            }
        }
        Ok(objects)
    }

    /// The indices of findings; empty if the field is missing.
    pub fn indices(&self) -> Result<Vec<usize>, String> {
        let mut indices = Vec::new();
        for item in self.list("indices")? {
            match item {
                // An index that does not fit this machine's integers is in no report.
                Json::Number(index) => indices.push(usize::try_from(*index).unwrap_or(usize::MAX)),
                _ => return Err("The field `indices` is a list of numbers from 0.".to_owned()),
            }
        }
        Ok(indices)
    }

    /// The least safe applicability that is accepted.
    pub fn up_to(&self) -> Result<Option<Applicability>, String> {
        match self.field("up_to") {
            None => Ok(None),
            Some(Json::Text(text)) if text == "safe" => Ok(Some(Applicability::Safe)),
            Some(Json::Text(text)) if text == "unsafe" => Ok(Some(Applicability::Unsafe)),
            Some(_) => Err("The field `up_to` is \"safe\" or \"unsafe\".".to_owned()),
        }
    }

    /// The language of the source; determined from its content if the field is missing.
    pub fn language(&self) -> Result<Option<Language>, String> {
        match self.field("language") {
            None => Ok(None),
            Some(Json::Text(text)) => Language::of_name(text)
                .map(Some)
                .ok_or_else(|| format!("There is no language `{text}` here; python is one.")),
            Some(_) => Err("The field `language` is a string.".to_owned()),
        }
    }

    /// An optional boolean.
    pub fn truth(&self, name: &str) -> Result<Option<bool>, String> {
        match self.field(name) {
            None => Ok(None),
            Some(Json::Bool(truth)) => Ok(Some(*truth)),
            Some(_) => Err(format!("The field `{name}` is true or false.")),
        }
    }

    /// The target, with defaults for missing fields.
    pub fn target(&self) -> Result<Target, String> {
        let mut target = Target::default();
        let fields = match self.field("target") {
            None => return Ok(target),
            Some(Json::Object(fields)) => fields,
            Some(_) => return Err("The field `target` is an object.".to_owned()),
        };
        known_only(fields, &["arch", "rocm", "torch", "python"])?;
        for (name, value) in fields {
            let Json::Text(text) = value else {
                return Err(format!("The target's `{name}` is a string."));
            };
            let version = || Version::try_from(text.clone());
            match name.as_str() {
                "rocm" => target.rocm = version()?,
                "torch" => target.torch = version()?,
                "python" => target.python = version()?,
                _ => {
                    target.arch = Arch::of_name(text).ok_or_else(|| {
                        format!("There is no architecture `{text}` here; gfx942 is one.")
                    })?;
                }
            }
        }
        Ok(target)
    }
}

fn known_only(fields: &[(String, Json)], known: &[&str]) -> Result<(), String> {
    match fields
        .iter()
        .find(|(name, _)| !known.contains(&name.as_str()))
    {
        Some((name, _)) => Err(format!(
            "There is no field `{name}`; there are {}.",
            known.join(", ")
        )),
        None => Ok(()),
    }
}
