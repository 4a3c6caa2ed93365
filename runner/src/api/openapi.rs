//! `GET /api/openapi.json`: the OpenAPI document, generated from the handlers and from the types of
//! `hipward-protocol`.

use axum::{http::header, response::IntoResponse};
use hipward_protocol::{Event, Problem};
use serde_json::{Value, json};
use std::sync::LazyLock;
use utoipa::{
    Modify, OpenApi,
    openapi::{
        Content, Ref, RefOr, Response, ResponseBuilder, Schema,
        schema::Components,
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

/// The parts of the document that do not belong to one handler.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Hipward",
        version = "1",
        description = "Benchmarks PyTorch snippets on the devices of this server and of the hosts that have joined it. Job ids cannot be guessed. \
            Requests that run or cancel code need the server's token, unless it was started with --no-token."
    ),
    components(schemas(Event, Problem)),
    modifiers(&SharedComponents)
)]
pub(super) struct Document;

/// Components that several handlers refer to.
struct SharedComponents;

impl Modify for SharedComponents {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", token_scheme());
        components
            .responses
            .insert("Problem".to_owned(), RefOr::T(problem_response()));
    }
}

fn token_scheme() -> SecurityScheme {
    let scheme = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some(
            "The token that was passed to `hipward serve`, or that it printed as part of its address. A browser that \
             opened that address sends a cookie instead.",
        ));
    SecurityScheme::Http(scheme.build())
}

fn problem_response() -> Response {
    let schema = Ref::from_schema_name("Problem");
    ResponseBuilder::new()
        .description(
            "RFC 9457 problem details: what happened, a stable code, and what to do about it.",
        )
        .content("application/problem+json", Content::new(Some(schema)))
        .build()
}

/// Replaces the schema of `EventBody::Measured` by the schema of `Measurement`.
///
/// That variant is `#[serde(untagged)]`, and utoipa supports the attribute on whole enums only: its schema would
/// require a second `type` with the value `measured`.
fn inline_measurements(components: &mut Components) {
    let Some(RefOr::T(Schema::OneOf(body))) = components.schemas.get_mut("EventBody") else {
        return;
    };
    if let Some(measured) = body.items.last_mut() {
        *measured = Ref::from_schema_name("Measurement").into();
    }
}

static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
    let mut document = super::routes().into_openapi();
    // The router adds the schemas of its handlers, so they can be changed only now.
    inline_measurements(document.components.get_or_insert_default());
    let mut document = serde_json::to_value(&document).expect("its keys are strings");
    describe_queries_and_streams(&mut document);
    describe_ranges(&mut document["components"]["schemas"]);
    document.to_string()
});

/// Corrects the schemas of numbers without a sign, whose format would limit them to those with one, and of tuples, which could be shorter.
fn describe_ranges(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            let range = match object.get("format").and_then(Value::as_str) {
                Some("int32") => Some(("uint32", u64::from(u32::MAX))),
                // `usize` has no format.
                Some("int64") | None => Some(("uint64", u64::MAX)),
                _ => None,
            };
            if let Some((format, maximum)) = range
                && object.get("minimum") == Some(&json!(0))
            {
                object.insert("format".to_owned(), json!(format));
                object.entry("maximum").or_insert(json!(maximum));
            }
            if let Some(Value::Array(items)) = object.get("prefixItems") {
                let length = json!(items.len());
                object.insert("minItems".to_owned(), length.clone());
                object.insert("maxItems".to_owned(), length);
            }
            object.values_mut().for_each(describe_ranges);
        }
        Value::Array(items) => items.iter_mut().for_each(describe_ranges),
        _ => {}
    }
}

/// Corrects what utoipa cannot describe: a parameter of a query or a header is never `null` and has no largest number, and an event
/// stream consists of objects whose `data` is JSON.
fn describe_queries_and_streams(document: &mut Value) {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    let operations = paths.flat_map(|(_, item)| item.as_object_mut().into_iter().flatten());
    for (_, operation) in operations {
        let parameters = operation.get_mut("parameters");
        let parameters = parameters.and_then(Value::as_array_mut);
        let parameters = parameters.into_iter().flatten();
        for parameter in parameters {
            let Some(schema) = parameter["schema"].as_object_mut() else {
                continue;
            };
            // Numbers of every size are accepted.
            schema.remove("format");
            let types = schema.get("type").and_then(Value::as_array);
            if let Some([kind, Value::String(null)]) = types.map(Vec::as_slice)
                && null == "null"
            {
                let kind = kind.clone();
                schema.insert("type".to_owned(), kind);
            }
        }
        let responses = operation.get_mut("responses");
        let responses = responses.and_then(Value::as_object_mut);
        for (_, response) in responses.into_iter().flatten() {
            if let Some(stream) = response.pointer_mut("/content/text~1event-stream") {
                stream["schema"] = json!({
                    "type": "object",
                    "description": "One event of the stream.",
                    "required": ["data"],
                    "properties": {
                        "id": {"type": "string", "description": "The sequence number of the event."},
                        "data": {
                            "type": "string",
                            "contentMediaType": "application/json",
                            "contentSchema": stream["schema"],
                        },
                    },
                });
            }
        }
    }
}

/// This document.
#[utoipa::path(
    get,
    path = "/api/openapi.json",
    responses((status = 200, description = "OpenAPI 3.1.", content_type = "application/json", body = serde_json::Value))
)]
pub(crate) async fn show() -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "application/json")],
        DOCUMENT.as_str(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use hipward_protocol::{FailureCode, Measurement};
    use std::collections::BTreeSet;

    fn document() -> Value {
        serde_json::from_str(&DOCUMENT).expect("the document is JSON")
    }

    /// The values of `type` that a schema's alternatives allow.
    fn tags(document: &Value, schema: &str) -> BTreeSet<String> {
        fn collect(document: &Value, schema: &Value, tags: &mut BTreeSet<String>) {
            if let Some(reference) = schema["$ref"].as_str() {
                let name = reference.rsplit('/').next().expect("a name");
                if name == "Measurement" {
                    collect(document, &document["components"]["schemas"][name], tags);
                }
            }
            for key in ["oneOf", "allOf"] {
                for item in schema[key].as_array().into_iter().flatten() {
                    collect(document, item, tags);
                }
            }
            let tag = &schema["properties"]["type"];
            tags.extend(tag["const"].as_str().map(str::to_owned));
            let values = tag["enum"].as_array().into_iter().flatten();
            tags.extend(values.filter_map(Value::as_str).map(str::to_owned));
        }
        let mut found = BTreeSet::new();
        collect(
            document,
            &document["components"]["schemas"][schema],
            &mut found,
        );
        found
    }

    #[test]
    fn event_schema_has_every_kind_of_event() {
        let tags = tags(&document(), "EventBody");
        let lifecycle = [
            "awaiting_approval",
            "approved",
            "queued",
            "leased",
            "variant_done",
            "log",
            "verdict",
            "done",
            "failed",
            "cancelled",
        ];
        for kind in lifecycle {
            assert!(tags.contains(kind), "{kind}");
        }
        assert!(!tags.contains("measured"));
        // serde lists the kinds of measurements in its error.
        let unknown = serde_json::from_value::<Measurement>(json!({"type": "?"}));
        let error = unknown.expect_err("an unknown kind").to_string();
        let kinds: Vec<&str> = error.split('`').skip(1).step_by(2).skip(1).collect();
        assert!(kinds.contains(&"samples"), "{error}");
        // Names under which older servers stored events; none is sent any more.
        let former = ["caution", "rungs"];
        for kind in kinds.into_iter().filter(|kind| !former.contains(kind)) {
            assert!(tags.contains(kind), "{kind}");
        }
    }

    #[test]
    fn numbers_have_their_range_and_tuples_their_length() {
        let schemas = &document()["components"]["schemas"];
        let memory = &schemas["Device"]["properties"]["memory_bytes"];
        assert_eq!(memory["maximum"], json!(u64::MAX));
        assert_eq!(memory["format"], "uint64");
        // A `usize`.
        let n = &schemas["Stats"]["properties"]["n"];
        assert_eq!(n["maximum"], json!(u64::MAX), "{n}");
        let text = schemas.to_string();
        assert_eq!(
            text.matches("\"prefixItems\"").count(),
            text.matches("\"minItems\":2").count(),
            "pairs"
        );
    }

    #[test]
    fn failure_codes_are_listed() {
        let document = document();
        let codes = &document["components"]["schemas"]["FailureCode"]["enum"];
        let codes: Vec<FailureCode> = serde_json::from_value(codes.clone()).expect("are codes");
        assert!(codes.contains(&FailureCode::Internal));
    }

    #[test]
    fn operations_that_run_code_require_the_token() {
        let document = document();
        for (path, method) in [
            ("/api/v1/jobs", "post"),
            ("/api/v1/jobs/{id}", "delete"),
            ("/api/v1/jobs/{id}/approve", "post"),
            ("/api/v1/jobs/{id}/reject", "post"),
            ("/api/v1/approvals", "get"),
            ("/api/v1/fleet", "get"),
            ("/api/v1/hosts/{name}/drain", "put"),
            ("/api/v1/hosts/{name}/drain", "delete"),
            ("/api/v1/maintenance", "put"),
            ("/api/v1/maintenance", "delete"),
            ("/api/v1/compile", "post"),
            ("/api/v1/emulate", "post"),
            ("/api/v1/exercises/{part}/{lesson}/{exercise}", "post"),
        ] {
            let security = &document["paths"][path][method]["security"];
            assert_eq!(*security, json!([{}, {"token": []}]), "{method} {path}");
        }
    }

    #[test]
    fn every_operation_describes_its_problems() {
        let document = document();
        let paths = document["paths"].as_object().expect("paths");
        assert_eq!(paths.len(), 29);
        for (path, item) in paths {
            for (method, operation) in item.as_object().expect("a path item") {
                assert!(operation["summary"].is_string(), "{method} {path}");
                let only_success = [
                    "/api/openapi.json",
                    "/healthz",
                    "/api/v1/rules",
                    "/api/v1/devices",
                ];
                let problem = &operation["responses"]["default"]["$ref"];
                assert_eq!(
                    problem.is_string(),
                    !only_success.contains(&path.as_str()),
                    "{method} {path}"
                );
            }
        }
    }

    #[test]
    fn references_resolve() {
        let document = document();
        let references: Vec<&str> = DOCUMENT
            .split("\"$ref\":\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert!(!references.is_empty());
        for reference in references {
            let pointer = reference.strip_prefix('#').expect("is local");
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }
}
