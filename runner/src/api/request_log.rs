//! The request log of `hipward serve --log-requests`: one line for each response.

use super::Peer;
use axum::{extract::Request, middleware::Next, response::Response};
use std::time::Instant;

/// Logs a response. The query is left out, because it can contain a token.
pub(super) async fn log(request: Request, next: Next) -> Response {
    let begin = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    let response = next.run(request).await;
    tracing::info!(
        peer = peer.map(tracing::field::display),
        ms = begin.elapsed().as_millis(),
        "{method} {path} {}",
        response.status().as_u16()
    );
    response
}
