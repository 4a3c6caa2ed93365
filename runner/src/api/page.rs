//! Everything that is not the API: the site's pages, and each job's page.

use super::{
    App, approvals, fleet, hosts, identity::Identity, job_list, problem::ApiError, report,
};
use crate::{
    jobs::Role,
    web::{
        content_coding::Coding,
        pages::{Pages, SearchFiles},
        stored_body::StoredBody,
    },
};
use axum::{
    extract::{Query, Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    response::{Html, IntoResponse, Redirect, Response},
};
use std::{io, sync::Arc};
use tokio::task::spawn_blocking;

/// Maximum number of jobs side by side.
const MAX_COMPARED: usize = 6;

/// The handler of all paths without a route.
pub(crate) async fn show(State(app): State<App>, request: Request) -> Response {
    let path = request.uri().path();
    if path.starts_with("/api/") || path == "/api" {
        return ApiError::route_not_found(path).into_response();
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return ApiError::method_not_allowed(request.method().as_str(), path).into_response();
    }
    if let Some(entered) = app.access.enter(request.uri()).await {
        return entered;
    }
    let pages = app.pages.current();
    if let Some(job) = path.strip_prefix("/jobs/")
        && !pages.is_remote_job(path)
    {
        return match job.split_once('/') {
            None if job.is_empty() => jobs_page(&app, request.headers(), request.uri()).await,
            Some(("history", "")) => history_page(&app, request.headers(), request.uri()).await,
            Some(("approvals", "")) => approvals_page(&app, request.headers(), request.uri()).await,
            Some(("compare", "")) => compare_page(&app, request.uri()).await,
            Some((id, "")) => job_page(&app, id.to_owned()).await,
            None if !job.is_empty() => {
                Redirect::permanent(&format!("/jobs/{job}/")).into_response()
            }
            _ => not_found(&app),
        };
    }
    match path {
        "/fleet/" => return fleet_page(&app, request.headers(), request.uri()).await,
        "/fleet" => return Redirect::permanent("/fleet/").into_response(),
        _ => {}
    }
    if let Some(html) = pages.content_error_page(path) {
        return page(&pages, StatusCode::INTERNAL_SERVER_ERROR, html);
    }
    if let Some(bytes) = pages.download(path) {
        return download(path, bytes);
    }
    match pages.canonical_path(path) {
        Some(proper) if proper != path => Redirect::permanent(&proper).into_response(),
        Some(proper) => site_page(&app, pages, proper, request.headers()).await,
        None => match pages.part_address(path) {
            Some(address) => Redirect::temporary(&address).into_response(),
            None => not_found(&app),
        },
    }
}

/// A page that is the same for all clients. It is rendered and compressed once.
async fn site_page(app: &App, pages: Arc<Pages>, path: String, headers: &HeaderMap) -> Response {
    let coding = Coding::best(headers);
    let policy = pages.security_policy();
    let with_body = |page: Arc<StoredBody>| Some((page.body(coding)?, page));
    let mut known = pages.fresh(&path).and_then(with_body);
    let mut capabilities = None;
    if known.is_none() && pages.needs_runner(&path) {
        capabilities = Some(hosts::capabilities(app).await);
        let current = pages.rendered(&path, capabilities.as_ref());
        known = current.and_then(with_body);
    }
    let (body, page) = match known {
        Some(known) => known,
        None => {
            let rendered = spawn_blocking(move || {
                let page = pages
                    .rendered(&path, capabilities.as_ref())
                    .or_else(|| pages.render(&path, capabilities));
                page.map(|page| Ok((page.compress(coding)?, page)))
                    .transpose()
            });
            match rendered.await.map_err(io::Error::from).flatten() {
                Ok(Some(rendered)) => rendered,
                Ok(None) => return not_found(app),
                Err(error) => return not_rendered(&error),
            }
        }
    };
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/html; charset=utf-8"),
        ),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    stored_response(&page, coding, (headers, body).into_response())
}

/// Adds the headers of a stored body, which is in this content coding.
fn stored_response(
    stored: &StoredBody,
    coding: Option<Coding>,
    mut response: Response,
) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(tag) = HeaderValue::from_str(stored.tag()) {
        headers.insert(header::ETAG, tag);
    }
    if let Some(coding) = coding {
        let coding = HeaderValue::from_static(coding.name());
        headers.insert(header::CONTENT_ENCODING, coding);
    }
    response
}

/// `GET /search.json`
pub(crate) async fn search_index(State(app): State<App>, headers: HeaderMap) -> Response {
    search_file(&app, &headers, |files| &files.index).await
}

/// `GET /search-texts.json`
pub(crate) async fn search_texts(State(app): State<App>, headers: HeaderMap) -> Response {
    search_file(&app, &headers, |files| &files.texts).await
}

/// `GET /sitemap.xml`
pub(crate) async fn sitemap(State(app): State<App>) -> Response {
    match app.pages.current().sitemap() {
        Some(xml) => ([(header::CONTENT_TYPE, "application/xml")], xml).into_response(),
        None => not_found(&app),
    }
}

/// `GET /robots.txt`
pub(crate) async fn robots(State(app): State<App>) -> Response {
    match app.pages.current().robots() {
        Some(text) => text.into_response(),
        None => not_found(&app),
    }
}

/// A file of the search, which is computed and compressed once. The first response does not wait for the smallest form.
async fn search_file(
    app: &App,
    headers: &HeaderMap,
    file: fn(&SearchFiles) -> &Arc<StoredBody>,
) -> Response {
    let pages = app.pages.current();
    let coding = Coding::best(headers);
    let known = pages
        .known_search_files()
        .map(file)
        .and_then(|file| Some((file.body(coding)?, file.clone())));
    let (body, file) = match known {
        Some(known) => known,
        None => {
            let computed = spawn_blocking(move || {
                let file = file(pages.search_files());
                io::Result::Ok((file.compress(coding)?, file.clone()))
            });
            match computed.await.map_err(io::Error::from).flatten() {
                Ok((body, file)) => {
                    let later = file.clone();
                    spawn_blocking(move || later.minimize());
                    (body, file)
                }
                Err(error) => return not_rendered(&error),
            }
        }
    };
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "max-age=600"),
    ];
    stored_response(&file, coding, (headers, body).into_response())
}

/// The list of jobs. Those of others are in it only for requests that may see them.
async fn jobs_page(app: &App, headers: &HeaderMap, uri: &Uri) -> Response {
    let load = |identity| async move { job_list::for_page(app, &identity, uri).await };
    match for_role(app, headers, uri, Role::Read, load).await {
        Ok(jobs) => render(app, |pages| pages.jobs(jobs)).await,
        Err(instead) => instead,
    }
}

/// The results of one program over time. Only requests that may see the jobs of others get them.
async fn history_page(app: &App, headers: &HeaderMap, uri: &Uri) -> Response {
    match for_role(app, headers, uri, Role::Read, |_| {
        job_list::history(app, uri)
    })
    .await
    {
        Ok(history) => render(app, |pages| pages.history(history)).await,
        Err(instead) => instead,
    }
}

/// The hosts, for requests that may see the jobs of others.
async fn fleet_page(app: &App, headers: &HeaderMap, uri: &Uri) -> Response {
    match for_role(app, headers, uri, Role::Read, |_| fleet::fleet(app)).await {
        Ok(found) => render(app, |pages| pages.fleet(found)).await,
        Err(instead) => instead,
    }
}

/// The jobs that wait for approval. Only operators see them.
async fn approvals_page(app: &App, headers: &HeaderMap, uri: &Uri) -> Response {
    match for_role(app, headers, uri, Role::Operate, |_| {
        approvals::pending(app)
    })
    .await
    {
        Ok(pending) => render(app, |pages| pages.approvals(pending)).await,
        Err(instead) => instead,
    }
}

/// What a page shows to requests with a role; None for others. The error is the response instead of the page: a failure, or
/// the way to the sign-in.
async fn for_role<T, E, F>(
    app: &App,
    headers: &HeaderMap,
    uri: &Uri,
    role: Role,
    load: impl FnOnce(Identity) -> F,
) -> Result<Option<T>, Response>
where
    F: Future<Output = Result<T, E>>,
    ApiError: From<E>,
{
    match app.access.authorize_reader(headers, role).await {
        Ok(identity) => match load(identity).await {
            Ok(found) => Ok(Some(found)),
            Err(error) => Err(ApiError::from(error).into_response()),
        },
        Err(error) => match app.access.sign_in_first(headers, uri, &error) {
            Some(redirect) => Err(redirect),
            None => Ok(None),
        },
    }
}

/// Jobs side by side: `?job=…&job=…`.
async fn compare_page(app: &App, uri: &Uri) -> Response {
    let query = Query::<Vec<(String, String)>>::try_from_uri(uri);
    let names = query.map_or_else(|_| Vec::new(), |Query(names)| names);
    let mut jobs = Vec::new();
    for (_, id) in names
        .into_iter()
        .filter(|(name, _)| name == "job")
        .take(MAX_COMPARED)
    {
        match report::find(app, id).await {
            Ok(found) => jobs.extend(found),
            Err(error) => return ApiError::from(error).into_response(),
        }
    }
    render(app, |pages| pages.compare(jobs)).await
}

async fn job_page(app: &App, id: String) -> Response {
    match report::find(app, id).await {
        Ok(Some(job)) => render(app, |pages| pages.job(job)).await,
        Ok(None) => not_found(app),
        Err(error) => ApiError::from(error).into_response(),
    }
}

/// Renders a page of jobs on a thread where blocking is allowed, because code is highlighted and samples are plotted.
async fn render(app: &App, html: impl FnOnce(&Pages) -> String + Send + 'static) -> Response {
    let pages = app.pages.current();
    let rendered = pages.clone();
    match spawn_blocking(move || html(&rendered)).await {
        Ok(html) => page(&pages, StatusCode::OK, html),
        Err(error) => not_rendered(&error.into()),
    }
}

fn not_rendered(error: &io::Error) -> Response {
    tracing::error!("cannot render a page: {error}");
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}

/// A file of a lesson. It is saved, never shown: its text is a program.
fn download(path: &str, bytes: Vec<u8>) -> Response {
    let kind = if path.ends_with(".zip") {
        "application/zip"
    } else {
        "text/plain; charset=utf-8"
    };
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_DISPOSITION, "attachment"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, bytes).into_response()
}

pub(super) fn not_found(app: &App) -> Response {
    let pages = app.pages.current();
    page(&pages, StatusCode::NOT_FOUND, pages.not_found())
}

fn page(pages: &Pages, status: StatusCode, html: String) -> Response {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, pages.security_policy()),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (status, headers, Html(html)).into_response()
}
