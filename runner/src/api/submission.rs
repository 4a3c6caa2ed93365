//! `POST /api/v1/jobs`: checks a request for a job and queues it.

use super::{
    App,
    hosts::Fleet,
    jobs::{check_runner, refusal},
    problem::{ApiError, ApiResult},
    request_body::{check_code, check_json, from_json, read},
};
use crate::jobs::{NewJob, Role, Runner, is_label as is_host_label};
use axum::{
    Json,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use data_encoding::HEXLOWER;
use hipward_protocol::{
    JobRequest, JobSummary, Priority, Problem, Requirements, Variant, VariantId,
};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// Maximum number of queued jobs of all senders without a token.
const MAX_ANONYMOUS: usize = 10;
/// Age of the list of hosts with which a submission is checked first.
const FLEET_AGE: Duration = Duration::from_secs(1);
/// Maximum length of a title, characters.
const TITLE_CHARACTERS: usize = 120;
/// Maximum number of labels of a job, and of those that it requires of a host.
const MAX_LABELS: usize = 8;
/// Maximum length of a label, characters.
const LABEL_CHARACTERS: usize = 64;

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
    let known = Fleet::within(&app, &runner, FLEET_AGE).await?;
    let job = known
        .has_others()
        .then(|| parse(&known, &runner, &headers, &body));
    let (fleet, job) = match job {
        Some(Ok(job)) => (known, job),
        // A host that has just joined may have what the job needs.
        _ => {
            let fleet = Fleet::now(&app, &runner).await?;
            let job = parse(&fleet, &runner, &headers, &body)?;
            (fleet, job)
        }
    };
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
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(serde::de::Error::custom("expected an object"));
    }
    from_json(body)
}

fn parse(fleet: &Fleet, runner: &Runner, headers: &HeaderMap, body: &[u8]) -> ApiResult<NewJob> {
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
        && (fleet.has_others() || runner.refusal().is_none())
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
    if names.len() > MAX_LABELS {
        return Err(ApiError::bad_request(
            "too-many-labels",
            "There are too many labels",
            format!(
                "The job has {} labels; {MAX_LABELS} are allowed.",
                names.len()
            ),
            "Send fewer labels.",
        ));
    }
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
