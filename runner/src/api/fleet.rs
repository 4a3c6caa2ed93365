//! `/api/v1/fleet`: the hosts, their devices and what runs on them; drains and maintenance for operators.

use super::{
    App,
    hosts::HostName,
    problem::{ApiError, ApiResult},
    request_body::{check_json, read},
};
use crate::jobs::{HostReport, Role, RunningJob, StoreError, machine_name, server_name};
use axum::{
    Json,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use hipward_protocol::{Device, Fleet, FleetDevice, FleetHost, HostState, JobState, Pause};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Maximum length of a reason, characters.
const REASON_CHARACTERS: usize = 200;

/// The hosts, their devices, and the queue.
///
/// Requires the token, because titles and senders of jobs are in it. A host is listed for a day after its last report.
#[utoipa::path(
    get,
    path = "/api/v1/fleet",
    responses(ApiError, (status = 200, description = "The hosts, by name.", body = Fleet)),
    security((), ("token" = []))
)]
pub(crate) async fn show(State(app): State<App>, headers: HeaderMap) -> ApiResult<Json<Fleet>> {
    app.access.authorize_reader(&headers, Role::Read).await?;
    Ok(Json(fleet(&app).await?))
}

/// Drain a host.
///
/// Its running jobs end, and it starts no others until the drain is removed, also after it was started again. Requires a token
/// with the role `operate`.
#[utoipa::path(
    put,
    path = "/api/v1/hosts/{name}/drain",
    params(("name" = String, Path, max_length = 64, pattern = "^[0-9A-Za-z._-]+$", description = "The name of the host.")),
    request_body = Pause,
    responses(ApiError, (status = 204, description = "The host starts no more jobs.")),
    security((), ("token" = []))
)]
pub(crate) async fn drain(
    State(app): State<App>,
    headers: HeaderMap,
    HostName(name): HostName,
    body: Body,
) -> ApiResult<StatusCode> {
    app.access.authorize(&headers, Role::Operate).await?;
    let reason = reason(&app, &headers, body).await?;
    let host = name.clone();
    if !is_known(&app, name).await? {
        return Err(unknown_host(&host));
    }
    app.store
        .with(move |store| store.drain(&host, &reason))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// End the drain of a host.
///
/// Requires a token with the role `operate`.
#[utoipa::path(
    delete,
    path = "/api/v1/hosts/{name}/drain",
    params(("name" = String, Path, max_length = 64, pattern = "^[0-9A-Za-z._-]+$", description = "The name of the host.")),
    responses(ApiError, (status = 204, description = "The host starts jobs.")),
    security((), ("token" = []))
)]
pub(crate) async fn resume(
    State(app): State<App>,
    headers: HeaderMap,
    HostName(name): HostName,
) -> ApiResult<StatusCode> {
    app.access.authorize(&headers, Role::Operate).await?;
    let host = name.clone();
    let was_drained = app.store.with(move |store| store.resume(&host)).await?;
    if !was_drained && !is_known(&app, name.clone()).await? {
        return Err(unknown_host(&name));
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Start maintenance.
///
/// Jobs are accepted and wait; running jobs end; no host starts another one. Requires a token with the role `operate`.
#[utoipa::path(
    put,
    path = "/api/v1/maintenance",
    request_body = Pause,
    responses(ApiError, (status = 204, description = "No host starts a job.")),
    security((), ("token" = []))
)]
pub(crate) async fn start_maintenance(
    State(app): State<App>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<StatusCode> {
    app.access.authorize(&headers, Role::Operate).await?;
    let reason = reason(&app, &headers, body).await?;
    app.store
        .with(move |store| store.set_maintenance(Some(&reason)))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// End maintenance.
///
/// Requires a token with the role `operate`.
#[utoipa::path(
    delete,
    path = "/api/v1/maintenance",
    responses(ApiError, (status = 204, description = "Hosts start jobs.")),
    security((), ("token" = []))
)]
pub(crate) async fn end_maintenance(
    State(app): State<App>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    app.access.authorize(&headers, Role::Operate).await?;
    app.store.with(|store| store.set_maintenance(None)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The hosts and the queue at present.
pub(super) async fn fleet(app: &App) -> Result<Fleet, StoreError> {
    let runner = app.runner.settled().await;
    let (counts, maintenance, drains, seen, running) = app
        .store
        .with(|store| {
            Ok::<_, StoreError>((
                store.counts()?,
                store.maintenance()?,
                store.drains()?,
                store.seen_hosts(&server_name())?,
                store.running_jobs()?,
            ))
        })
        .await?;
    let count = |state| {
        let found = counts.iter().find(|(counted, _)| *counted == state);
        found.map_or(0, |(_, count)| *count)
    };
    let mut hosts = Vec::new();
    if runner.refusal().is_none() {
        hosts.push(host(
            machine_name(),
            runner.report(),
            None,
            &drains,
            &running,
        ));
    }
    for found in seen {
        let contact = Some((found.seen_s, found.is_silent));
        hosts.push(host(found.name, found.report, contact, &drains, &running));
    }
    Ok(Fleet {
        maintenance,
        awaiting_approval: count(JobState::AwaitingApproval),
        queued: count(JobState::Queued),
        running: count(JobState::Running),
        hosts,
    })
}

/// A host. `contact` is the time since its last report, seconds, and whether it is silent; None for this server.
fn host(
    name: String,
    report: HostReport,
    contact: Option<(f64, bool)>,
    drains: &BTreeMap<String, String>,
    running: &[RunningJob],
) -> FleetHost {
    let HostReport {
        capabilities,
        facts,
    } = report;
    let drain_reason = drains.get(&name).cloned();
    let state = match (contact, &drain_reason) {
        (Some((_, true)), _) => HostState::Silent,
        (_, Some(_)) => HostState::Draining,
        (_, None) => HostState::Ready,
    };
    let device = |device: Device| {
        let found = running
            .iter()
            .find(|running| running.host == name && running.device == device.id);
        FleetDevice {
            job: found.map(|running| running.job.clone()),
            device: Device {
                current_job: None,
                ..device
            },
        }
    };
    let devices = capabilities.devices.into_iter().map(device).collect();
    FleetHost {
        name,
        state,
        drain_reason,
        last_contact_s: contact.map(|(seen_s, _)| seen_s),
        version: Some(capabilities.version),
        torch: facts.torch.or(capabilities.torch),
        rocm: facts.rocm,
        labels: facts.labels,
        devices,
    }
}

/// Whether a host has this name.
async fn is_known(app: &App, name: String) -> ApiResult<bool> {
    let seen = app
        .store
        .with(|store| store.seen_hosts(&server_name()))
        .await?;
    Ok(name == machine_name() || seen.iter().any(|host| host.name == name))
}

fn unknown_host(name: &str) -> ApiError {
    ApiError::new(
        StatusCode::NOT_FOUND,
        "host-not-found",
        "No such host",
        format!("No host named {name} has reported within a day."),
        "Look at /fleet/ or `hipward fleet` for the names.",
    )
}

/// Parses the body of a drain or maintenance.
async fn reason(app: &App, headers: &HeaderMap, body: Body) -> ApiResult<String> {
    check_json(headers)?;
    let body = read(app, body).await?;
    let invalid = |detail: String| {
        ApiError::bad_request(
            "invalid-reason",
            "The reason is invalid",
            detail,
            r#"Send an object such as {"reason": "New driver"}, with up to 200 characters."#,
        )
    };
    // serde alone would also accept a list of the fields' values.
    let pause = serde_json::from_slice::<Map<String, Value>>(&body)
        .and_then(|fields| Pause::deserialize(Value::Object(fields)))
        .map_err(|error| invalid(format!("{error}.")))?;
    let characters = pause.reason.chars().count();
    if characters > REASON_CHARACTERS {
        return Err(invalid(format!("The reason has {characters} characters.")));
    }
    Ok(pause.reason.trim().to_owned())
}
