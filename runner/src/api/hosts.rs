//! Hosts that `hipward worker` joins to this server: they report what they can run, lease jobs, and send the events of these jobs.
//! A host has a token with the role `worker`, which permits nothing else, and reaches only the jobs that it has leased.

use super::{
    App,
    hand_over::Turn,
    identity::Identity,
    problem::{ApiError, ApiResult},
    request_body::{check_json, from_json},
};
use crate::jobs::{
    AppendRequest, FreeDevice, HandBackRequest, HostFacts, HostReport, Lease, LeasedJob,
    RecentReports, RenewRequest, Role, Runner, StoreError, WaitRequest, describe, meets,
    server_name,
};
use axum::{
    Json,
    body::{Body, to_bytes},
    extract::{FromRequestParts, Path, State},
    http::{HeaderMap, StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use hipward_protocol::{Capabilities, Device, EventBody, Requirements, Variant};
use serde::de::DeserializeOwned;
use std::{collections::HashSet, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep_until, timeout};

/// Maximum size of a request. All lines of a job's harness are at most 4 MiB, and its output is less.
const BODY_BYTES: usize = 16 * 1024 * 1024;
/// The longest time for which a host may wait for a job.
const MAX_WAIT: Duration = Duration::from_secs(20);
/// Maximum length of a host's name.
const NAME_CHARACTERS: usize = 64;

/// What can run jobs: this server, the hosts that have joined it, and the other servers that share its database.
pub(super) struct Fleet {
    /// All devices.
    pub(super) devices: Vec<Device>,
    /// The variants that at least one of them has.
    pub(super) variants: Vec<Variant>,
    /// The hosts that have joined, without this server.
    hosts: Arc<[Arc<HostReport>]>,
    /// The other servers.
    servers: Arc<[Arc<HostReport>]>,
    /// What jobs can require of this server.
    own_facts: HostFacts,
    /// The number of devices of this server, which are the first of `devices`.
    own_devices: usize,
}

impl Fleet {
    /// What can run jobs at present.
    pub(super) async fn now(app: &App, runner: &Runner) -> Result<Fleet, StoreError> {
        Fleet::within(app, runner, Duration::ZERO).await
    }

    /// What could run jobs at some time within the last `max_age`.
    pub(super) async fn within(
        app: &App,
        runner: &Runner,
        max_age: Duration,
    ) -> Result<Fleet, StoreError> {
        let reports = app
            .store
            .with(move |store| store.recent_reports(&server_name(), max_age));
        let RecentReports { hosts, servers } = reports.await?;
        let mut devices = runner.devices();
        let own_devices = devices.len();
        let mut variants = runner.variants().to_vec();
        let mut known_devices: HashSet<_> =
            devices.iter().map(|device| device.id.clone()).collect();
        let mut known_variants: HashSet<_> =
            variants.iter().map(|variant| variant.id.clone()).collect();
        for host in hosts.iter().chain(&*servers) {
            let Capabilities {
                devices: its_devices,
                variants: its_variants,
                ..
            } = &host.capabilities;
            // Servers name their devices alike, and a job for one of them runs on any.
            let new = its_devices
                .iter()
                .filter(|device| known_devices.insert(device.id.clone()));
            devices.extend(new.cloned());
            let new = its_variants
                .iter()
                .filter(|variant| known_variants.insert(variant.id.clone()));
            variants.extend(new.cloned());
        }
        Ok(Fleet {
            devices,
            variants,
            hosts,
            servers,
            own_facts: runner.facts(),
            own_devices,
        })
    }

    /// Why no device runs a job with these requirements at present. None if one does, or will once it is free.
    pub(super) fn lacks(&self, required: &Requirements, device: Option<&str>) -> Option<String> {
        let own = self.devices[..self.own_devices]
            .iter()
            .map(|device| (device, &self.own_facts));
        let joined = self.hosts.iter().chain(&*self.servers).flat_map(|host| {
            let devices = host.capabilities.devices.iter();
            devices.map(|device| (device, &host.facts))
        });
        let runs = own.chain(joined).any(|(found, facts)| {
            device.is_none_or(|wanted| wanted == found.id) && meets(required, found, facts)
        });
        if runs {
            return None;
        }
        Some(match (required.is_empty(), device) {
            (true, None) => "no host has a device; the job starts when one joins".to_owned(),
            (true, Some(device)) => {
                format!("no host has the device {device}; the job starts when it joins")
            }
            (false, None) => format!(
                "no host has {}; the job starts when one joins",
                describe(required)
            ),
            (false, Some(device)) => format!(
                "the device {device} with {} is on no host; the job starts when it joins",
                describe(required)
            ),
        })
    }

    /// Whether others than this server run jobs.
    pub(super) fn has_others(&self) -> bool {
        !self.hosts.is_empty() || !self.servers.is_empty()
    }

    /// The number of hosts that have joined.
    pub(super) fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// What this server and its hosts can run.
    pub(super) fn capabilities(self, runner: &Runner) -> Capabilities {
        let own = runner.capabilities();
        let Some(first) = self.hosts.iter().chain(&*self.servers).next() else {
            return own;
        };
        // The limits of jobs are those of the host that runs them.
        let base = match own.ready {
            true => own,
            false => first.capabilities.clone(),
        };
        Capabilities {
            devices: self.devices,
            variants: self.variants,
            ..base
        }
    }
}

/// What this server and its hosts can run; only what the server itself can run if the database cannot be read.
pub(super) async fn capabilities(app: &App) -> Capabilities {
    let runner = app.runner.settled().await;
    match Fleet::now(app, &runner).await {
        Ok(fleet) => fleet.capabilities(&runner),
        Err(error) => {
            tracing::error!("cannot list the hosts: {error}");
            runner.capabilities()
        }
    }
}

/// Why no host starts a queued job at present. None if one will, or if the database cannot be read.
pub(super) async fn no_host_reason(app: &App, job: &str) -> Option<String> {
    let id = job.to_owned();
    let found = app.store.with(move |store| {
        let required = store.required(&id)?;
        Ok::<_, StoreError>((store.maintenance()?, required))
    });
    let (maintenance, required) = found.await.ok()?;
    if let Some(reason) = maintenance {
        return Some(match reason.is_empty() {
            true => "maintenance, no host starts a job".to_owned(),
            false => format!("maintenance, no host starts a job ({reason})"),
        });
    }
    let (required, device) = required?;
    let runner = app.runner.settled().await;
    if required.is_empty() && device.is_none() && !runner.devices().is_empty() {
        return None;
    }
    let fleet = Fleet::now(app, &runner).await.ok()?;
    fleet.lacks(&required, device.as_deref())
}

/// Report what a host can run.
///
/// A host is listed for a minute after each report.
#[utoipa::path(
    put,
    path = "/api/v1/hosts/{name}",
    params(("name" = String, Path, max_length = 64, pattern = "^[0-9A-Za-z._-]+$", description = "The name of the host.")),
    request_body = HostReport,
    responses(ApiError, (status = 204, description = "Stored.")),
    security((), ("token" = []))
)]
pub(crate) async fn report(
    State(app): State<App>,
    headers: HeaderMap,
    HostName(name): HostName,
    body: Body,
) -> ApiResult<StatusCode> {
    let holder = holder(&app, &headers).await?;
    let report: HostReport = parse(&app, &headers, body).await?;
    for device in &report.capabilities.devices {
        check_device(&name, device)?;
    }
    let is_free = app
        .store
        .with(move |store| store.host_seen(&name, &holder, &report))
        .await?;
    if !is_free {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "host-name-taken",
            "The name of the host is taken",
            "A host with another token has joined with this name.",
            "Choose another name with --name.",
        ));
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Wait until a job can be leased for a device.
#[utoipa::path(
    post,
    path = "/api/v1/leases/wait",
    request_body = WaitRequest,
    responses(
        ApiError,
        (status = 200, description = "A job waits for this device."),
        (status = 204, description = "There is no job for this device.")
    ),
    security((), ("token" = []))
)]
pub(crate) async fn wait(
    State(app): State<App>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<StatusCode> {
    holder(&app, &headers).await?;
    let WaitRequest { free, wait_s } = parse(&app, &headers, body).await?;
    check_free(&free)?;
    let wait = Duration::try_from_secs_f64(wait_s).unwrap_or_default();
    let deadline = Instant::now() + wait.min(MAX_WAIT);
    let mut work = app.store.watch_work();
    let mut shutdown = app.shutdown.clone();
    let mut turn = None;
    loop {
        work.mark_unchanged();
        let waiting = free.clone();
        let has_work = app.store.with(move |store| store.has_work(&waiting));
        if has_work.await? {
            if let Some(turn) = turn {
                Turn::end_with_claim(turn);
            }
            return Ok(StatusCode::OK);
        }
        drop(turn);
        let woken = async {
            let _ = work.changed().await;
            app.hand_over.turn().await
        };
        turn = tokio::select! {
            turn = woken => Some(turn),
            () = sleep_until(deadline) => return Ok(StatusCode::NO_CONTENT),
            () = shutdown.requested() => return Ok(StatusCode::NO_CONTENT),
        };
    }
}

/// Lease a job for a device.
///
/// The lease expires unless it is renewed.
#[utoipa::path(
    post,
    path = "/api/v1/leases",
    request_body = FreeDevice,
    responses(
        ApiError,
        (status = 200, description = "The job.", body = LeasedJob),
        (status = 204, description = "There is no job for this device.")
    ),
    security((), ("token" = []))
)]
pub(crate) async fn claim(
    State(app): State<App>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let holder = holder(&app, &headers).await?;
    let free: FreeDevice = parse(&app, &headers, body).await?;
    check_free(&free)?;
    let id = free.device.id.clone();
    let valid = app.store.lease_time();
    let claimed = app
        .store
        .with(move |store| store.claim_for(&free, Some(valid), Some(&holder)));
    let claimed = claimed.await;
    app.hand_over.claimed();
    let Some(lease) = claimed? else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    tracing::info!(job = lease.job, attempt = lease.attempt, "leased to {id}");
    Ok(Json(LeasedJob::new(lease, valid)).into_response())
}

/// Add events to a leased job.
#[utoipa::path(
    post,
    path = "/api/v1/leases/{job}/{attempt}/events",
    params(
        ("job" = String, Path, description = "The job's id."),
        ("attempt" = u32, Path, description = "The attempt.")
    ),
    request_body = AppendRequest,
    responses(
        ApiError,
        (status = 204, description = "Stored."),
        (status = 409, description = "The lease has ended.", content_type = "application/problem+json", body = hipward_protocol::Problem)
    ),
    security((), ("token" = []))
)]
pub(crate) async fn append(
    State(app): State<App>,
    headers: HeaderMap,
    LeaseId(lease): LeaseId,
    body: Body,
) -> ApiResult<StatusCode> {
    let holder = holder(&app, &headers).await?;
    let AppendRequest { after, events } = parse(&app, &headers, body).await?;
    if events.iter().any(|event| !may_come_from_host(event)) {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "event-not-permitted",
            "A host cannot send this event",
            "Events of the kinds awaiting_approval, approved, queued, leased and cancelled come from the server.",
            "Send the events of the job that the host runs.",
        ));
    }
    on_lease(&app, holder, lease, move |store, lease| {
        store.append_after(lease, after, &events)
    })
    .await
}

/// Renew a lease.
#[utoipa::path(
    put,
    path = "/api/v1/leases/{job}/{attempt}",
    params(
        ("job" = String, Path, description = "The job's id."),
        ("attempt" = u32, Path, description = "The attempt.")
    ),
    request_body = RenewRequest,
    responses(
        ApiError,
        (status = 204, description = "Renewed."),
        (status = 409, description = "The lease has ended.", content_type = "application/problem+json", body = hipward_protocol::Problem)
    ),
    security((), ("token" = []))
)]
pub(crate) async fn renew(
    State(app): State<App>,
    headers: HeaderMap,
    LeaseId(lease): LeaseId,
    body: Body,
) -> ApiResult<StatusCode> {
    let holder = holder(&app, &headers).await?;
    let RenewRequest { begun } = parse(&app, &headers, body).await?;
    on_lease(&app, holder, lease, move |store, lease| {
        if begun {
            store.mark_begun(lease)?;
        }
        store.renew(lease, Some(store.lease_time()))
    })
    .await
}

/// Return a leased job to the queue.
#[utoipa::path(
    post,
    path = "/api/v1/leases/{job}/{attempt}/hand-back",
    params(
        ("job" = String, Path, description = "The job's id."),
        ("attempt" = u32, Path, description = "The attempt.")
    ),
    request_body = HandBackRequest,
    responses(
        ApiError,
        (status = 204, description = "The job waits again."),
        (status = 409, description = "The lease has ended.", content_type = "application/problem+json", body = hipward_protocol::Problem)
    ),
    security((), ("token" = []))
)]
pub(crate) async fn hand_back(
    State(app): State<App>,
    headers: HeaderMap,
    LeaseId(lease): LeaseId,
    body: Body,
) -> ApiResult<StatusCode> {
    let holder = holder(&app, &headers).await?;
    let HandBackRequest { reason } = parse(&app, &headers, body).await?;
    on_lease(&app, holder, lease, move |store, lease| {
        store.requeue(lease, &reason)
    })
    .await
}

/// Whether an event is one of those that a host adds to the log of its job.
fn may_come_from_host(event: &EventBody) -> bool {
    !matches!(
        event,
        EventBody::AwaitingApproval
            | EventBody::Approved
            | EventBody::Queued { .. }
            | EventBody::Leased { .. }
            | EventBody::Cancelled
    )
}

/// The name under which the leases of a request's token are stored.
async fn holder(app: &App, headers: &HeaderMap) -> ApiResult<String> {
    let identity: Identity = app.access.authorize(headers, Role::Worker).await?;
    // The operator's own token has no name, and other names are not empty.
    Ok(identity.name.unwrap_or_default())
}

/// Calls the store for a lease, if the token that sent the request has it.
async fn on_lease(
    app: &App,
    holder: String,
    (job, attempt): (String, u32),
    call: impl FnOnce(&crate::jobs::Store, &Lease) -> Result<(), StoreError> + Send + 'static,
) -> ApiResult<StatusCode> {
    let result = app
        .store
        .with(move |store| call(store, &store.lease_of(&job, attempt, &holder)?))
        .await;
    match result {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(StoreError::Fenced) => Err(lease_ended()),
        Err(error) => Err(error.into()),
    }
}

fn lease_ended() -> ApiError {
    ApiError::new(
        StatusCode::CONFLICT,
        "lease-ended",
        "The lease has ended",
        "The job was cancelled or has ended, or another attempt has it.",
        "Stop running the job.",
    )
}

/// The job and the attempt in a request's path. A lease that cannot exist is answered like one that has ended.
pub(crate) struct LeaseId((String, u32));

impl<S: Send + Sync> FromRequestParts<S> for LeaseId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(lease)) => Ok(LeaseId(lease)),
            Err(_) => Err(lease_ended()),
        }
    }
}

/// The name of a host in a request's path.
pub(crate) struct HostName(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for HostName {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let name = Path::<String>::from_request_parts(parts, state).await;
        let name = name.map_or_else(|_| String::new(), |Path(name)| name);
        check_name(&name)?;
        Ok(HostName(name))
    }
}

/// Reads a JSON body.
async fn parse<T: DeserializeOwned>(app: &App, headers: &HeaderMap, body: Body) -> ApiResult<T> {
    check_json(headers)?;
    let bytes = timeout(app.body_timeout, to_bytes(body, BODY_BYTES)).await;
    let invalid = |detail: String| {
        ApiError::bad_request(
            "invalid-body",
            "The body is invalid",
            detail,
            "Use a `hipward worker` of the server's version.",
        )
    };
    let bytes = bytes
        .map_err(|_| invalid("The body was not received in time.".to_owned()))?
        .map_err(|error| invalid(format!("{error}.")))?;
    from_json(&bytes).map_err(|error| invalid(format!("{error}.")))
}

/// Checks the name of a host, which is a part of its devices' ids.
fn check_name(name: &str) -> ApiResult<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > NAME_CHARACTERS || !name.chars().all(is_plain) {
        return Err(ApiError::bad_request(
            "invalid-host-name",
            "The name of the host is invalid",
            format!("{name:?} is not a name of a host."),
            "Use up to 64 letters, digits, and - _ .",
        ));
    }
    Ok(())
}

/// Checks the name of a host and its device.
fn check_free(free: &FreeDevice) -> ApiResult<()> {
    check_name(&free.host)?;
    check_device(&free.host, &free.device)
}

/// Checks that a device belongs to the host.
fn check_device(host: &str, device: &Device) -> ApiResult<()> {
    let id = device.id.strip_prefix(host);
    if id.is_some_and(|id| id.len() > 1 && id.starts_with('/')) {
        return Ok(());
    }
    // Not 400: its schema cannot state that two values belong together.
    Err(ApiError::new(
        StatusCode::CONFLICT,
        "invalid-device",
        "The device is not one of the host",
        format!("{:?} does not begin with {host}/.", device.id),
        "Use a `hipward worker` of the server's version.",
    ))
}
