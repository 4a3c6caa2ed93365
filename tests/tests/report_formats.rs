//! The published descriptions of a report, generated from the Rust types: the JSON Schema of `hipward check --schema`,
//! and the TypeScript types of the npm package.
//!
//! After a change of the types, run `UPDATE_REPORT_FORMATS=1 cargo nextest run -p hipward-tests --test report_formats`.

use std::fmt::Write as _;
use std::path::Path;

use hipward_analyzer::{DiffLine, Judgement, Report, SCHEMA_VERSION, Summary};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

const UPDATE: &str = "UPDATE_REPORT_FORMATS";

/// The schemas of all types of `T`, by name.
fn definitions(add: impl FnOnce(&mut schemars::SchemaGenerator)) -> Map<String, Value> {
    let mut generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    add(&mut generator);
    let mut definitions = generator.take_definitions(true);
    for definition in definitions.values_mut() {
        simplify(definition);
    }
    definitions
}

/// Removes what no reader of the schema needs: the formats of integers, and line breaks within a sentence.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("type").is_some_and(Value::is_string) || fields.contains_key("minimum") {
                fields.remove("format");
            }
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            fields.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// The JSON Schema of `hipward check --format json`: an array of files, each with the fields of its report.
fn report_schema() -> String {
    let mut definitions = definitions(|generator| {
        generator.subschema_for::<Report>();
    });
    for definition in definitions.values_mut() {
        if let Some(fields) = definition.as_object_mut()
            && fields.contains_key("properties")
        {
            fields.insert("additionalProperties".to_owned(), json!(false));
        }
    }
    let mut file = definitions.remove("Report").expect("a report");
    file["description"] = json!("The result of analyzing one file.");
    file["properties"]["path"] = json!({
        "type": "string",
        "description": "Path of the file, with `/` between its parts; `-` is standard input.",
    });
    file["required"]
        .as_array_mut()
        .expect("required fields")
        .push(json!("path"));
    definitions.insert("File".to_owned(), file);
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("urn:hipward:schema:report:{SCHEMA_VERSION}"),
        "title": "Hipward report",
        "description": "Output of `hipward check --format json`: an array of files, each with its report. Fields may be added; if a field is removed or changes its meaning, `schema` is increased.",
        "type": "array",
        "items": { "$ref": "#/$defs/File" },
        "$defs": definitions,
    });
    format!("{schema:#}\n")
}

/// TypeScript declarations of the types in the analyzer's answers.
fn typescript() -> String {
    let definitions = definitions(|generator| {
        generator.subschema_for::<Report>();
        generator.subschema_for::<Summary>();
        generator.subschema_for::<DiffLine>();
        generator.subschema_for::<Judgement>();
    });
    let mut code =
        "// Generated from the analyzer's Rust types by tests/tests/report_formats.rs.\n"
            .to_owned();
    for (name, schema) in &definitions {
        code.push('\n');
        comment(&mut code, "", schema);
        let properties = schema["properties"].as_object();
        match properties {
            None => writeln!(code, "export type {name} ={};", union(schema)),
            Some(_) => writeln!(code, "export interface {name} {{"),
        }
        .expect("a string");
        let Some(properties) = properties else {
            continue;
        };
        for (field, schema) in properties {
            comment(&mut code, "  ", schema);
            writeln!(code, "  {field}: {};", type_of(schema)).expect("a string");
        }
        code.push_str("}\n");
    }
    code
}

fn comment(code: &mut String, indent: &str, schema: &Value) {
    if let Some(text) = schema["description"].as_str() {
        writeln!(code, "{indent}/** {text} */").expect("a string");
    }
}

/// An enum, one member on each line with its description; or another type.
fn union(schema: &Value) -> String {
    match schema["oneOf"].as_array() {
        None => format!(" {}", type_of(schema)),
        Some(members) => members
            .iter()
            .map(|member| {
                let about = member["description"].as_str().unwrap_or_default();
                format!("\n  /** {about} */\n  | {}", type_of(member))
            })
            .collect(),
    }
}

fn type_of(schema: &Value) -> String {
    let any = |members: &Value| {
        let members = members.as_array().into_iter().flatten();
        members.map(type_of).collect::<Vec<_>>().join(" | ")
    };
    if let Some(name) = schema["$ref"].as_str() {
        return name.trim_start_matches("#/$defs/").to_owned();
    }
    for key in ["anyOf", "oneOf"] {
        if schema[key].is_array() {
            return any(&schema[key]);
        }
    }
    if !schema["const"].is_null() {
        return schema["const"].to_string();
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<_> = values.iter().map(Value::to_string).collect();
        return values.join(" | ");
    }
    match &schema["type"] {
        Value::Array(types) => {
            let types: Vec<_> = types
                .iter()
                .map(|one| type_of(&json!({ "type": one })))
                .collect();
            types.join(" | ")
        }
        Value::String(name) if name == "array" => match schema["prefixItems"].as_array() {
            Some(items) => {
                let items: Vec<_> = items.iter().map(type_of).collect();
                format!("[{}]", items.join(", "))
            }
            None => {
                let item = type_of(&schema["items"]);
                match item.contains(' ') {
                    true => format!("({item})[]"),
                    false => format!("{item}[]"),
                }
            }
        },
        Value::String(name) if name == "integer" => "number".to_owned(),
        Value::String(name) => name.clone(),
        other => panic!("no TypeScript type for {other} in {schema}"),
    }
}

fn compare(path: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, generated).expect("the file can be written");
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == generated,
        "{} does not match the Rust types. Run: {UPDATE}=1 cargo nextest run -p hipward-tests --test report_formats",
        path.display()
    );
}

#[test]
fn json_schema_matches_the_rust_types() {
    compare("analyzer/src/output/report.schema.json", &report_schema());
}

#[test]
fn typescript_types_match_the_rust_types() {
    compare("analyzer/npm/report.d.ts", &typescript());
}
