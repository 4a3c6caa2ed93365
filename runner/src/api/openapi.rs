//! `GET /api/openapi.json`: the API in OpenAPI's words, kept by hand in `openapi.json`. A test
//! compares it with the router.

use axum::{http::header, response::IntoResponse};

const OPENAPI: &str = include_str!("openapi.json");

/// The handler.
pub(crate) async fn show() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hipward_protocol::FailureCode;
    use serde_json::Value;
    use std::collections::BTreeSet;

    #[test]
    fn every_route_is_described_and_nothing_else_is() {
        let document: Value = serde_json::from_str(OPENAPI).expect("is JSON");
        let described = document["paths"].as_object().expect("has paths");
        let described: BTreeSet<&str> = described.keys().map(String::as_str).collect();
        let served: BTreeSet<&str> = super::super::routes()
            .iter()
            .map(|(path, _)| *path)
            .collect();
        assert_eq!(described, served);
    }

    #[test]
    fn every_failure_that_is_described_is_one() {
        let document: Value = serde_json::from_str(OPENAPI).expect("is JSON");
        let codes = &document["components"]["schemas"]["Failure"]["properties"]["code"]["enum"];
        let codes: Vec<FailureCode> = serde_json::from_value(codes.clone()).expect("are codes");
        assert!(codes.contains(&FailureCode::Internal));
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document: Value = serde_json::from_str(OPENAPI).expect("is JSON");
        let references: Vec<&str> = OPENAPI
            .split("\"$ref\": \"")
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
