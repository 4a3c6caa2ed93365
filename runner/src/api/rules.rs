//! `GET /api/v1/rules`: the team's own rules, as the playground hands them to the analyzer; and the JSON Schema of
//! what the analyzer answers.

use super::App;
use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use hipward_analyzer::output::REPORT_SCHEMA;

/// The handler.
pub(crate) async fn list(State(app): State<App>) -> Response {
    let kind = "application/json";
    ([(header::CONTENT_TYPE, kind)], app.pages.team_rules()).into_response()
}

/// `GET /schema/report.json`
pub(crate) async fn schema() -> Response {
    let kind = "application/schema+json";
    ([(header::CONTENT_TYPE, kind)], REPORT_SCHEMA).into_response()
}
