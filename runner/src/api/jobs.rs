//! `/api/v1/jobs`: submit, show and cancel jobs.

use super::{
    App,
    hosts::Fleet,
    identity::Identity,
    job_id::JobId,
    problem::{ApiError, ApiResult},
};
use crate::jobs::{
    CancelOutcome, JobFilter, NewJob, Refusal, RemoveOutcome, Role, Runner, Settings, StoreError,
    is_label as is_host_label,
};
use axum::{
    Json,
    body::Body,
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use data_encoding::HEXLOWER;
use futures_util::StreamExt;
use hipward_protocol::{
    JobRequest, JobState, JobSummary, ListedJob, Outcome, Priority, Problem, Requirements, Variant,
    VariantId,
};
use hipward_site::{HistorySubject, JobHistory, JobList, ListFilter};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use tokio::time::timeout;
use utoipa::IntoParams;

/// Maximum number of queued jobs of all senders without a token.
const MAX_ANONYMOUS: usize = 10;
/// Maximum number of jobs in a list.
const MAX_LISTED: usize = 200;
/// Maximum length of a title, characters.
const TITLE_CHARACTERS: usize = 120;
/// Maximum number of labels of a job, and of those that it requires of a host.
const MAX_LABELS: usize = 8;
/// Maximum length of a label, characters.
const LABEL_CHARACTERS: usize = 64;
/// Maximum size of a body. More than the largest snippet, because JSON may escape a byte as six.
const BODY_BYTES: usize = 2 * 1024 * 1024;
/// After this many bytes the connection is closed while the client is still sending.
const READ_AWAY_BYTES: usize = 64 * 1024 * 1024;

/// Submit a job.
#[utoipa::path(
    post,
    path = "/api/v1/jobs",
    request_body = JobRequest,
    responses(
        ApiError,
        (status = 202, description = "Accepted. The job waits for a device, or for the approval of its code.", body = JobSummary,
            headers(("Location" = String, description = "Path of the job."))),
        (status = 429, description = "The queue is full, or a quota of the token is spent.", content_type = "application/problem+json", body = Problem,
            headers(("Retry-After" = u64, description = "Seconds.")))
    ),
    security((), ("token" = []))
)]
pub(crate) async fn submit(
    State(app): State<App>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    app.access.precheck_job(&headers).await?;
    let runner = app.runner.settled().await;
    let body = read(&app, body).await?;
    let fleet = Fleet::now(&app, &runner).await?;
    let can_run = fleet.has_others() || runner.refusal().is_none();
    let job = parse(&fleet, can_run, &headers, &body)?;
    let is_site_benchmark = app.pages.current().is_benchmark(&job.code);
    let identity = app
        .access
        .authorize_job(&headers, is_site_benchmark)
        .await?;
    if job.priority == Priority::High && identity.role < Role::Operate {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "priority-not-permitted",
            "This priority is for operators",
            "Only a token with the role `operate` may submit a job with the priority high.",
            "Submit it with the priority normal, or ask an operator.",
        ));
    }
    let job = NewJob {
        needs_approval: app.access.needs_approval(&identity) && !is_site_benchmark,
        owner: identity.name.clone(),
        ..job
    };
    // A runner that refuses the code of some senders would still run a job that another host has not leased before.
    if runner.refusal().is_none() || !fleet.has_others() {
        check_runner(refusal(&runner, &identity).as_ref())?;
    }
    let mut limits = runner.settings.queue_limits;
    if identity.is_anonymous() {
        limits.per_owner = limits.per_owner.min(MAX_ANONYMOUS);
    }
    let summary = app
        .store
        .with(move |store| store.submit(&job, limits))
        .await?;
    let location = HeaderValue::try_from(format!("/api/v1/jobs/{}", summary.id)).ok();
    let mut response = (StatusCode::ACCEPTED, Json(summary)).into_response();
    if let Some(location) = location {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// The jobs in a list: those that match every parameter.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Words that must all be in the title, the result, a label, the id, the hash of the code, the device or the sender's name.
    search: Option<String>,
    /// The state.
    #[param(value_type = JobState, required = false)]
    state: Option<String>,
    /// The device that the job was leased to last.
    device: Option<String>,
    /// The outcome of at least one variant.
    #[param(value_type = Outcome, required = false)]
    outcome: Option<String>,
    /// One of the job's labels.
    label: Option<String>,
    /// `true`: only jobs that were submitted with the token of this request.
    #[param(value_type = Option<bool>)]
    mine: Option<String>,
    /// More than 200 means 200; without it, 50.
    #[param(value_type = Option<u64>)]
    limit: Option<String>,
}

impl ListQuery {
    /// The filter. Fails with the reason if a value is unknown.
    fn filter(&self) -> Result<ListFilter, String> {
        let is_mine = match self.mine.as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => return Err(format!("mine={other:?} is neither true nor false.")),
        };
        Ok(ListFilter {
            search: self.search.clone().unwrap_or_default(),
            state: named("state", self.state.as_deref())?,
            device: self.device.clone(),
            outcome: named("outcome", self.outcome.as_deref())?,
            label: self.label.clone(),
            is_mine,
        })
    }
}

/// The jobs of a list that `identity` requests.
fn condition(filter: &ListFilter, identity: &Identity) -> JobFilter {
    JobFilter {
        search: filter.search.clone(),
        state: filter.state,
        device: filter.device.clone(),
        outcome: filter.outcome,
        label: filter.label.clone(),
        owner: filter.is_mine.then(|| identity.name.clone()),
        ..JobFilter::default()
    }
}

/// The value of an enum with this name in the API.
fn named<T: DeserializeOwned>(parameter: &str, name: Option<&str>) -> Result<Option<T>, String> {
    name.map(|name| serde_json::from_value(name.into()))
        .transpose()
        .map_err(|error| format!("{parameter}: {error}."))
}

/// The newest jobs of all clients.
///
/// Requires the token, because titles and results of others are in it. A job whose id is known can be read without it.
#[utoipa::path(
    get,
    path = "/api/v1/jobs",
    params(ListQuery),
    responses(ApiError, (status = 200, description = "The newest first.", body = Vec<ListedJob>)),
    security((), ("token" = []))
)]
pub(crate) async fn list(
    State(app): State<App>,
    headers: HeaderMap,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> ApiResult<Json<Vec<ListedJob>>> {
    let identity = app.access.authorize_reader(&headers, Role::Read).await?;
    let invalid = |detail: String| {
        ApiError::bad_request(
            "invalid-query",
            "The query is invalid",
            detail,
            "Send for example search=softmax, state=done, outcome=FASTER, mine=true or limit=50.",
        )
    };
    let Query(query) = query.map_err(|error| invalid(format!("{error}.")))?;
    let filter = condition(&query.filter().map_err(invalid)?, &identity);
    let limit = match query.limit {
        None => 50,
        Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            // Only a number that is too large cannot be parsed.
            digits.parse().unwrap_or(usize::MAX)
        }
        Some(other) => return Err(invalid(format!("{other:?} is not a number."))),
    };
    let limit = limit.min(MAX_LISTED);
    let list = app.store.with(move |store| store.list(&filter, limit));
    Ok(Json(list.await?))
}

/// The list of jobs for its page, filtered by the query of the page's address. A form also sends its empty fields, and an unknown
/// value of an address is ignored.
pub(super) async fn for_page(
    app: &App,
    identity: &Identity,
    uri: &Uri,
) -> Result<JobList, StoreError> {
    let query = Query::<Vec<(String, String)>>::try_from_uri(uri);
    let query = query.map_or_else(|_| Vec::new(), |Query(query)| query);
    let value = |name: &str| {
        let found = query.iter().find(|(key, _)| key == name);
        found
            .map(|(_, value)| value.trim().to_owned())
            .filter(|value| !value.is_empty())
    };
    let filter = ListFilter {
        search: value("search").unwrap_or_default(),
        state: named("state", value("state").as_deref()).unwrap_or_default(),
        device: value("device"),
        outcome: named("outcome", value("outcome").as_deref()).unwrap_or_default(),
        label: value("label"),
        is_mine: value("mine").is_some(),
    };
    let condition = condition(&filter, identity);
    app.store
        .with(move |store| {
            Ok(JobList {
                jobs: store.list(&condition, MAX_LISTED)?,
                devices: store.used_devices()?,
                filter,
            })
        })
        .await
}

/// The results of one program over time, for their page: `?code=`, `?title=` or `?label=`.
pub(super) async fn history(app: &App, uri: &Uri) -> Result<JobHistory, StoreError> {
    let query = Query::<HistoryOf>::try_from_uri(uri);
    let of = query.map_or_else(|_| HistoryOf::default(), |Query(of)| of);
    let subject = [
        of.title.clone().map(HistorySubject::Title),
        of.label.clone().map(HistorySubject::Label),
        of.code.clone().map(HistorySubject::Code),
    ];
    let Some(subject) = subject.into_iter().flatten().next() else {
        return Ok(JobHistory::default());
    };
    let filter = JobFilter {
        title: of.title,
        label: of.label,
        code_sha256: of.code,
        ..JobFilter::default()
    };
    let runs = app.store.with(move |store| store.history(&filter)).await?;
    let runs = runs.into_iter().map(|run| (run.job, run.view));
    Ok(JobHistory {
        subject: Some(subject),
        runs: runs.collect(),
    })
}

/// The query of the page of a history.
#[derive(Debug, Default, Deserialize)]
struct HistoryOf {
    code: Option<String>,
    title: Option<String>,
    label: Option<String>,
}

/// The state of a job.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{id}",
    params(JobId),
    responses(ApiError, (status = 200, description = "The job.", body = ListedJob))
)]
pub(crate) async fn show(State(app): State<App>, JobId(id): JobId) -> ApiResult<Json<ListedJob>> {
    let listed = app.store.with(move |store| store.listed(&id)).await?;
    let job = listed.ok_or_else(ApiError::job_not_found)?;
    // The sender is for the list, which needs a token.
    Ok(Json(ListedJob { owner: None, ..job }))
}

/// Whether a job is also deleted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Removal {
    /// Also delete the job's code, events and result, with the addresses of its pages.
    #[serde(default)]
    permanently: bool,
}

/// Cancel a job, or delete it.
///
/// Cancelling has no effect on a job that has ended. A token with the role `submit` can cancel and delete only the jobs that were
/// submitted with it.
#[utoipa::path(
    delete,
    path = "/api/v1/jobs/{id}",
    params(JobId, Removal),
    responses(
        ApiError,
        (status = 200, description = "The job in its new state.", body = JobSummary),
        (status = 204, description = "The job is deleted.")
    ),
    security((), ("token" = []))
)]
pub(crate) async fn cancel(
    State(app): State<App>,
    headers: HeaderMap,
    JobId(id): JobId,
    removal: Result<Query<Removal>, QueryRejection>,
) -> ApiResult<Response> {
    let identity = app.access.authorize(&headers, Role::Submit).await?;
    let Query(Removal { permanently }) = removal.map_err(|error| {
        ApiError::bad_request(
            "invalid-query",
            "The query is invalid",
            format!("{error}."),
            "Send permanently=true to delete the job, or nothing to cancel it.",
        )
    })?;
    let job = id.clone();
    let owner = app.store.with(move |store| store.owner(&job)).await?;
    let owner = owner.ok_or_else(ApiError::job_not_found)?;
    identity.check_owner(owner.as_deref())?;
    let job = id.clone();
    let was_active = if permanently {
        match app.store.with(move |store| store.remove(&job)).await? {
            RemoveOutcome::NotFound => return Err(ApiError::job_not_found()),
            RemoveOutcome::Removed { was_active } => was_active,
        }
    } else {
        match app.store.with(move |store| store.cancel(&job)).await? {
            CancelOutcome::NotFound => return Err(ApiError::job_not_found()),
            CancelOutcome::AlreadyEnded => false,
            CancelOutcome::Cancelled => true,
        }
    };
    if was_active {
        let runner = app.runner.settled().await;
        runner.activity.stop(&id);
    }
    if permanently {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(show(State(app), JobId(id)).await?.into_response())
}

/// The code of a job.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{id}/code",
    params(JobId),
    responses(ApiError, (status = 200, description = "Python source.", content_type = "text/x-python", body = String))
)]
pub(crate) async fn code(State(app): State<App>, JobId(id): JobId) -> ApiResult<Response> {
    let code = app.store.with(move |store| store.code(&id)).await?;
    let code = code.ok_or_else(ApiError::job_not_found)?;
    Ok((
        [(header::CONTENT_TYPE, "text/x-python; charset=utf-8")],
        code,
    )
        .into_response())
}

/// The request, with variants as plain strings so that an error can name an unknown one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Submitted {
    code: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    variants: Vec<String>,
    #[serde(default)]
    device: Option<String>,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    require: Option<Requirements>,
    #[serde(default)]
    priority: Option<Priority>,
}

/// Parses an object. serde alone would also accept a list of the fields' values.
fn object(body: &[u8]) -> serde_json::Result<Submitted> {
    let fields: Map<String, Value> = serde_json::from_slice(body)?;
    Submitted::deserialize(Value::Object(fields))
}

/// The runner, if it can run code of this sender.
pub(super) async fn ready_runner(app: &App, identity: &Identity) -> ApiResult<Arc<Runner>> {
    let runner = app.runner.settled().await;
    check_runner(refusal(&runner, identity).as_ref())?;
    Ok(runner)
}

/// Why the runner does not run code of this sender, if it does not.
fn refusal(runner: &Runner, identity: &Identity) -> Option<Refusal> {
    match identity.name {
        Some(_) => runner.refusal_for_others(),
        None => runner.refusal().cloned(),
    }
}

/// Fails if the runner refuses to run code.
pub(super) fn check_runner(refusal: Option<&Refusal>) -> ApiResult<()> {
    refusal.map_or(Ok(()), |refusal| {
        Err(ApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            refusal.code,
            "Benchmarks cannot run here",
            refusal.missing.consequence.clone(),
            refusal.missing.fix.clone(),
        ))
    })
}

/// Reads the whole body within the server's time limit. A body that is too large is still read up to a limit, because a browser
/// shows a response only after it has sent everything.
pub(super) async fn read(app: &App, body: Body) -> ApiResult<Vec<u8>> {
    timeout(app.body_timeout, read_body(body))
        .await
        .unwrap_or_else(|_| {
            Err(ApiError::new(
                StatusCode::REQUEST_TIMEOUT,
                "body-timeout",
                "The body took too long",
                format!(
                    "The whole body was not received within {} seconds.",
                    app.body_timeout.as_secs()
                ),
                "Send the request again, over a faster connection.",
            ))
        })
}

async fn read_body(body: Body) -> ApiResult<Vec<u8>> {
    let mut stream = body.into_data_stream();
    let mut kept = Vec::new();
    let mut seen = 0;
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| {
            ApiError::bad_request(
                "body-incomplete",
                "The body is incomplete",
                format!("{error}."),
                "Send the request again.",
            )
        })?;
        seen += chunk.len();
        if seen <= BODY_BYTES {
            kept.extend_from_slice(&chunk);
        } else if seen > READ_AWAY_BYTES {
            break;
        }
    }
    if seen > BODY_BYTES {
        return Err(too_large("The request"));
    }
    Ok(kept)
}

/// Reads a JSON body of a request that is no job. `what` says what the body should be, and `help` what to send.
pub(super) async fn read_json<T: DeserializeOwned>(
    app: &App,
    headers: &HeaderMap,
    body: Body,
    what: &str,
    help: &str,
) -> ApiResult<T> {
    check_json(headers)?;
    serde_json::from_slice(&read(app, body).await?).map_err(|error| {
        ApiError::bad_request(
            "invalid-json",
            &format!("The body is not {what}"),
            format!("{error}."),
            help,
        )
    })
}

/// Checks that the content type is JSON.
pub(super) fn check_json(headers: &HeaderMap) -> ApiResult<()> {
    let media_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .unwrap_or_default()
        .trim();
    if !media_type.eq_ignore_ascii_case("application/json") {
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            "Unsupported media type",
            format!("The content type of the body is {media_type:?}."),
            "Send JSON with the header `Content-Type: application/json`.",
        ));
    }
    Ok(())
}

fn parse(fleet: &Fleet, can_run: bool, headers: &HeaderMap, body: &[u8]) -> ApiResult<NewJob> {
    check_json(headers)?;
    let submitted = object(body).map_err(|error| {
        ApiError::bad_request(
            "invalid-json",
            "The body is not a job",
            format!("{error}."),
            r#"Send an object such as {"code": "…", "variants": ["eager", "compile"]}."#,
        )
    })?;
    check_code(&submitted.code)?;
    if submitted.code.trim().is_empty() {
        return Err(ApiError::bad_request(
            "code-empty",
            "There is no code",
            "The code is empty.",
            "Send Python source with `class Model(nn.Module)`, `get_inputs()` and `get_init_inputs()`.",
        ));
    }
    let characters = submitted
        .title
        .as_ref()
        .map_or(0, |title| title.chars().count());
    if characters > TITLE_CHARACTERS {
        return Err(ApiError::bad_request(
            "title-too-long",
            "The title is too long",
            format!("The title has {characters} characters; {TITLE_CHARACTERS} are allowed."),
            "Choose a shorter one.",
        ));
    }
    let labels = labels(submitted.labels)?;
    let variants = variants(&submitted.variants, &fleet.variants)?;
    if let Some(wanted) = &submitted.device
        && can_run
        && !fleet.devices.iter().any(|device| device.id == *wanted)
    {
        let known: Vec<&str> = fleet
            .devices
            .iter()
            .map(|device| device.id.as_str())
            .collect();
        // Not 400: the request is well-formed, and hosts come and go.
        return Err(ApiError::new(
            StatusCode::CONFLICT,
            "unknown-device",
            "Unknown device",
            format!(
                "This runner has no device {wanted:?}; it has: {}.",
                known.join(", ")
            ),
            "Leave the device out to take the first that is free.",
        ));
    }
    let require = submitted.require.unwrap_or_default();
    check_requirements(&require)?;
    Ok(NewJob {
        code_sha256: HEXLOWER.encode(&Sha256::digest(submitted.code.as_bytes())),
        code: submitted.code,
        title: submitted.title.filter(|title| !title.trim().is_empty()),
        variants,
        device: submitted.device,
        labels,
        owner: None,
        needs_approval: false,
        require,
        priority: submitted.priority.unwrap_or_default(),
    })
}

/// The labels, each once.
fn labels(names: Vec<String>) -> ApiResult<Vec<String>> {
    let mut labels = Vec::new();
    for name in names {
        if !is_label(&name) {
            return Err(ApiError::bad_request(
                "invalid-label",
                "A label is invalid",
                format!("{name:?} is not a label."),
                &format!(
                    "A label has up to {LABEL_CHARACTERS} letters, digits and ._/@:+- and begins with a letter or digit."
                ),
            ));
        }
        if !labels.contains(&name) {
            labels.push(name);
        }
    }
    if labels.len() > MAX_LABELS {
        return Err(ApiError::bad_request(
            "too-many-labels",
            "There are too many labels",
            format!(
                "The job has {} labels; {MAX_LABELS} are allowed.",
                labels.len()
            ),
            "Send fewer labels.",
        ));
    }
    Ok(labels)
}

/// The same rule as the schema of `Label` in hipward-protocol.
fn is_label(name: &str) -> bool {
    let others = "._/@:+-";
    name.len() <= LABEL_CHARACTERS
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

/// Checks that the values of requirements can be compared with a host's.
fn check_requirements(require: &Requirements) -> ApiResult<()> {
    let is_version = |text: &str| {
        (1..=64).contains(&text.len())
            && text
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.')
    };
    let is_arch = |text: &str| {
        (1..=64).contains(&text.len())
            && text.chars().all(|c| {
                c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '_')
            })
    };
    let invalid = |name: &str, value: &str| {
        Err(ApiError::bad_request(
            "invalid-requirement",
            "A requirement is invalid",
            format!("{value:?} is not a value of {name}."),
            "Use values such as arch gfx942, torch 2.9, rocm 7.0, and up to 8 labels of lower-case letters, digits, - and . ",
        ))
    };
    if let Some(arch) = require.arch.as_deref().filter(|arch| !is_arch(arch)) {
        return invalid("arch", arch);
    }
    for (name, version) in [("rocm", &require.rocm), ("torch", &require.torch)] {
        if let Some(version) = version.as_deref().filter(|version| !is_version(version)) {
            return invalid(name, version);
        }
    }
    if let Some(label) = require.labels.iter().find(|label| !is_host_label(label)) {
        return invalid("labels", label);
    }
    if require.labels.len() > MAX_LABELS {
        return invalid("labels", &require.labels.join(","));
    }
    Ok(())
}

/// The requested variants in ladder order, always including eager and its control: without the baseline
/// and its noise there is no verdict.
fn variants(names: &[String], variants: &[Variant]) -> ApiResult<Vec<VariantId>> {
    if variants.is_empty() {
        // No job can run here; `check_runner` reports why.
        return Ok(Vec::new());
    }
    let known = |name: &String| variants.iter().any(|variant| variant.id.name() == name);
    if let Some(name) = names.iter().find(|name| !known(name)) {
        let all: Vec<&str> = variants.iter().map(|variant| variant.id.name()).collect();
        return Err(ApiError::new(
            StatusCode::CONFLICT,
            "unknown-variant",
            "Unknown variant",
            format!("There is no variant {name:?}."),
            format!("The variants are: {}.", all.join(", ")),
        ));
    }
    let requested = |variant: &&Variant| {
        names.is_empty()
            || names.iter().any(|name| name == variant.id.name())
            || [VariantId::EAGER, VariantId::CONTROL].contains(&variant.id)
    };
    Ok(variants
        .iter()
        .filter(requested)
        .map(|variant| variant.id.clone())
        .collect())
}

/// Checks the size of a file that a client sent.
pub(super) fn check_code(code: &str) -> ApiResult<()> {
    if code.len() > Settings::MAX_CODE_BYTES {
        return Err(too_large("The code"));
    }
    Ok(())
}

fn too_large(what: &str) -> ApiError {
    ApiError::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "code-too-large",
        "Too large",
        format!(
            "{what} is larger than {} KiB.",
            Settings::MAX_CODE_BYTES / 1024
        ),
        "Send only the module and its inputs; generate data in get_inputs().",
    )
}
