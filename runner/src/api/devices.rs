//! `GET /api/v1/devices`

use super::App;
use axum::{Json, extract::State};
use hipward_protocol::Device;

/// The handler.
pub(crate) async fn list(State(app): State<App>) -> Json<Vec<Device>> {
    Json(app.runner.settled().await.devices())
}
