//! `GET /api/v1/capabilities`

use super::App;
use axum::{Json, extract::State};
use hipward_protocol::Capabilities;

/// What this runner can run, and with which limits.
#[utoipa::path(
    get,
    path = "/api/v1/capabilities",
    responses((status = 200, description = "The capabilities.", body = Capabilities))
)]
pub(crate) async fn show(State(app): State<App>) -> Json<Capabilities> {
    Json(app.runner.settled().await.capabilities())
}
