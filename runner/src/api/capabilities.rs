//! `GET /api/v1/capabilities`

use super::App;
use axum::{Json, extract::State};
use hipward_protocol::Capabilities;

/// The handler.
pub(crate) async fn show(State(app): State<App>) -> Json<Capabilities> {
    Json(app.runner.settled().await.capabilities())
}
