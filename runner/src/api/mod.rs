//! The HTTP API: every route in one list. Handlers are thin; the work is done in `jobs/` and
//! `web/`.

mod access_control;
mod approvals;
mod badge;
mod capabilities;
mod compile;
mod compile_schema;
mod content_changes;
mod devices;
mod emulate;
mod emulate_schema;
mod entity_tag;
mod events;
mod exercises;
mod fleet;
mod hand_over;
mod health;
mod hosts;
mod identity;
mod job_id;
mod job_list;
mod jobs;
mod metrics;
mod openapi;
mod page;
mod problem;
mod proxy_auth;
mod report;
mod request_body;
mod request_log;
mod rules;
mod sign_in;
mod submission;

pub(crate) use access_control::{AccessConfig, AccessControl, Peer};
pub(crate) use hand_over::HandOver;
pub(crate) use metrics::RequestMetrics;
pub(crate) use proxy_auth::{ProxyAuth, is_user_name};

use crate::{
    jobs::{LocalRunner, RequestWorkers, Store},
    shutdown::Shutdown,
    web::{
        assets,
        live_pages::LivePages,
        pages::{CONTENT_CHANGES, REPORT_SCHEMA_PATH, ROBOTS, SEARCH_INDEX, SEARCH_TEXTS, SITEMAP},
    },
};
use axum::{
    Router,
    extract::{FromRef, Request},
    http::{HeaderName, HeaderValue, Method, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use problem::ApiError;
use std::{sync::Arc, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower_http::{compression::CompressionLayer, cors::CorsLayer};
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

/// The state of the handlers.
#[derive(Clone)]
pub(crate) struct App {
    /// Jobs and their logs.
    pub(crate) store: Store,
    /// The runner.
    pub(crate) runner: LocalRunner,
    /// The compiler of kernels.
    pub(crate) compiler: Arc<RequestWorkers>,
    /// The judges of exercises.
    pub(crate) judges: Arc<RequestWorkers>,
    /// The workers that execute kernels in the emulator.
    pub(crate) emulators: Arc<RequestWorkers>,
    /// The site.
    pub(crate) pages: LivePages,
    /// The access checks.
    pub(crate) access: Arc<AccessControl>,
    /// The open event streams.
    pub(crate) streams: Streams,
    /// The turns of the hosts that wait for a job.
    pub(crate) hand_over: HandOver,
    /// Time within which a client must send the body of a request.
    pub(crate) body_timeout: Duration,
    /// Whether each response is logged.
    pub(crate) log_requests: bool,
    /// Counters for monitoring.
    pub(crate) requests: Arc<RequestMetrics>,
    /// Ends streams when the server stops.
    pub(crate) shutdown: Shutdown,
}

/// The limit of event streams that are open at the same time.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    /// Their maximum number.
    limit: usize,
    /// One permit for each that may be opened.
    free: Arc<Semaphore>,
}

impl Streams {
    /// At most `limit` streams.
    pub(crate) fn new(limit: usize) -> Self {
        Streams {
            limit,
            free: Arc::new(Semaphore::new(limit)),
        }
    }

    /// The permit for one more stream, which ends with its drop.
    fn open(&self) -> Option<OwnedSemaphorePermit> {
        self.free.clone().try_acquire_owned().ok()
    }
}

impl FromRef<App> for Arc<RequestMetrics> {
    fn from_ref(app: &App) -> Self {
        app.requests.clone()
    }
}

impl FromRef<App> for Arc<AccessControl> {
    fn from_ref(app: &App) -> Self {
        app.access.clone()
    }
}

/// The routes of the API. Each handler declares its path and its schemas with `#[utoipa::path]`, so that the OpenAPI
/// document is generated from this list.
fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::Document::openapi())
        .routes(routes!(submission::submit, job_list::list))
        .routes(routes!(jobs::show, jobs::cancel))
        .routes(routes!(jobs::code))
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::approve))
        .routes(routes!(approvals::reject))
        .routes(routes!(events::stream))
        .routes(routes!(report::json))
        .routes(routes!(report::markdown))
        .routes(routes!(badge::badge))
        .routes(routes!(rules::list))
        .routes(routes!(compile::compile))
        .routes(routes!(exercises::judge))
        .routes(routes!(emulate::emulate))
        .routes(routes!(hosts::report))
        .routes(routes!(hosts::wait))
        .routes(routes!(hosts::claim))
        .routes(routes!(hosts::append))
        .routes(routes!(hosts::renew))
        .routes(routes!(hosts::hand_back))
        .routes(routes!(fleet::show))
        .routes(routes!(fleet::drain, fleet::resume))
        .routes(routes!(fleet::start_maintenance, fleet::end_maintenance))
        .routes(routes!(devices::list))
        .routes(routes!(capabilities::show))
        .routes(routes!(openapi::show))
        .routes(routes!(health::alive))
        .routes(routes!(health::ready))
        .routes(routes!(metrics::metrics))
}

/// The whole server: the API, the assets, and every page of the site.
pub(crate) fn router(app: App) -> Router {
    let (router, _) = routes().split_for_parts();
    let cors = cross_origin(app.access.origins());
    let router = match app.access.signs_in() {
        true => router.merge(sign_in::routes()),
        false => router,
    };
    let router = router
        .route("/assets/{name}", get(assets::get))
        .route(&format!("/{REPORT_SCHEMA_PATH}"), get(rules::schema))
        .route(&format!("/{SEARCH_INDEX}"), get(page::search_index))
        .route(&format!("/{SITEMAP}"), get(page::sitemap))
        .route(&format!("/{ROBOTS}"), get(page::robots))
        .route(&format!("/{SEARCH_TEXTS}"), get(page::search_texts))
        .route(&format!("/{CONTENT_CHANGES}"), get(content_changes::stream))
        .route(
            &format!("/{CONTENT_CHANGES}.js"),
            get(content_changes::script),
        )
        .method_not_allowed_fallback(async |request: Request| {
            ApiError::method_not_allowed(request.method().as_str(), request.uri().path())
        })
        .fallback(page::show)
        .layer(middleware::from_fn(entity_tag::revalidate))
        // Event streams are not compressed, so that each event is sent immediately.
        .layer(CompressionLayer::new())
        .layer(middleware::from_fn(harden));
    // Outside of the layer that answers with 304, so that such an answer has its headers too.
    let router = match cors {
        Some(cors) => router.layer(cors),
        None => router,
    };
    let router = router
        .layer(middleware::from_fn_with_state(
            app.clone(),
            access_control::reject_foreign,
        ))
        .layer(middleware::from_fn_with_state(app.clone(), metrics::count));
    let router = match app.log_requests {
        true => router.layer(middleware::from_fn(request_log::log)),
        false => router,
    };
    router.with_state(app)
}

/// Maximum time for which a browser may store the answer to a preflight request.
const PREFLIGHT_AGE: Duration = Duration::from_mins(10);

/// Permits pages of these origins to read responses, if there are any. Browsers send no cookies with their requests.
fn cross_origin(origins: &[String]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let origins = origins
        .iter()
        .filter_map(|origin| HeaderValue::try_from(origin).ok());
    let cors = CorsLayer::new()
        .allow_origin(origins.collect::<Vec<_>>())
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            HeaderName::from_static("last-event-id"),
        ])
        .expose_headers([header::LOCATION, header::RETRY_AFTER])
        .max_age(PREFLIGHT_AGE);
    Some(cors)
}

/// Adds headers to every response.
async fn harden(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await.into_response();
    let headers = response.headers_mut();
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
