//! `GET /api/v1/devices`

use super::App;
use axum::{Json, extract::State};
use hipward_protocol::Device;

/// The devices of this host.
#[utoipa::path(
    get,
    path = "/api/v1/devices",
    responses((status = 200, description = "The devices, GPUs first.", body = Vec<Device>))
)]
pub(crate) async fn list(State(app): State<App>) -> Json<Vec<Device>> {
    Json(app.runner.settled().await.devices())
}
