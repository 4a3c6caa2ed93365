//! `GET /api/v1/devices`

use super::{App, hosts};
use axum::{Json, extract::State};
use hipward_protocol::Device;

/// The devices of this server and of the hosts that have joined it.
#[utoipa::path(
    get,
    path = "/api/v1/devices",
    responses((status = 200, description = "The devices, GPUs first.", body = Vec<Device>))
)]
pub(crate) async fn list(State(app): State<App>) -> Json<Vec<Device>> {
    Json(hosts::capabilities(&app).await.devices)
}
