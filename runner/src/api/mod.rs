//! The HTTP face: every route in one list. Handlers are thin; what they do lives in `jobs/` and
//! `web/`.

mod capabilities;
mod compile;
mod devices;
mod entity_tag;
mod events;
mod guard;
mod health;
mod job_id;
mod jobs;
mod openapi;
mod page;
mod problem;
mod report;
mod rules;

pub(crate) use guard::{Access, Guard};

use crate::{
    jobs::{Compiler, LocalRunner, Store},
    shutdown::Shutdown,
    web::{
        assets,
        pages::{Pages, REPORT_SCHEMA_PATH, SEARCH_INDEX},
    },
};
use axum::{
    Router,
    extract::{FromRef, Request},
    http::{HeaderValue, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use problem::ApiError;
use std::sync::Arc;
use tower_http::compression::CompressionLayer;

/// What handlers work with.
#[derive(Clone)]
pub(crate) struct App {
    /// Jobs and their logs.
    pub(crate) store: Store,
    /// What runs them.
    pub(crate) runner: LocalRunner,
    /// What compiles kernels.
    pub(crate) compiler: Arc<Compiler>,
    /// The site.
    pub(crate) pages: Arc<Pages>,
    /// Who may ask.
    pub(crate) guard: Arc<Guard>,
    /// Ends streams when the server stops.
    pub(crate) shutdown: Shutdown,
}

impl FromRef<App> for Arc<Guard> {
    fn from_ref(app: &App) -> Self {
        app.guard.clone()
    }
}

/// Every route of the API, as `/api/openapi.json` must list them.
fn routes() -> Vec<(&'static str, MethodRouter<App>)> {
    vec![
        ("/api/v1/jobs", post(jobs::submit)),
        ("/api/v1/jobs/{id}", get(jobs::show).delete(jobs::cancel)),
        ("/api/v1/jobs/{id}/code", get(jobs::code)),
        ("/api/v1/jobs/{id}/events", get(events::stream)),
        ("/api/v1/jobs/{id}/report.json", get(report::json)),
        ("/api/v1/jobs/{id}/report.md", get(report::markdown)),
        ("/api/v1/rules", get(rules::list)),
        ("/api/v1/compile", post(compile::compile)),
        ("/api/v1/devices", get(devices::list)),
        ("/api/v1/capabilities", get(capabilities::show)),
        ("/api/openapi.json", get(openapi::show)),
        ("/healthz", get(health::alive)),
        ("/readyz", get(health::ready)),
        ("/metrics", get(health::metrics)),
    ]
}

/// The whole server.
pub(crate) fn router(app: App) -> Router {
    let mut router = Router::new()
        .route("/assets/{name}", get(assets::get))
        .route(&format!("/{REPORT_SCHEMA_PATH}"), get(rules::schema))
        .route(&format!("/{SEARCH_INDEX}"), get(page::search));
    for (path, handlers) in routes() {
        router = router.route(path, handlers);
    }
    router
        .method_not_allowed_fallback(async |request: Request| {
            ApiError::method_not_allowed(request.method().as_str(), request.uri().path())
        })
        .fallback(page::show)
        .layer(middleware::from_fn(entity_tag::revalidate))
        // Event streams are left as they are: each event is sent when it happens.
        .layer(CompressionLayer::new())
        .layer(middleware::from_fn(harden))
        .layer(middleware::from_fn_with_state(
            app.clone(),
            guard::refuse_foreign,
        ))
        .with_state(app)
}

/// Headers that every answer carries.
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
