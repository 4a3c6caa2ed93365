//! `GET /api/v1/jobs`: lists of jobs, for the API and for pages.

use super::{
    App,
    identity::Identity,
    problem::{ApiError, ApiResult},
};
use crate::jobs::{JobFilter, Role, StoreError};
use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderMap, Uri},
};
use hipward_protocol::{JobState, ListedJob, Outcome};
use hipward_site::{HistorySubject, JobHistory, JobList, ListFilter};
use serde::{Deserialize, de::DeserializeOwned};
use utoipa::IntoParams;

/// Maximum number of jobs in a list.
const MAX_LISTED: usize = 200;

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
