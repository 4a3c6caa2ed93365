//! Entity tags (RFC 9110, 8.8.3): a client that already has a response gets 304 and no body.

use crate::web::stored_body::weak_tag;
use axum::{
    body::{Body, HttpBody, to_bytes},
    extract::Request,
    http::{HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use headers::{ETag, HeaderMapExt, IfNoneMatch};

/// Adds an `ETag` to every complete response, and omits a body that the client has.
///
/// A handler that compresses its response sets the tag itself, because the tag is that of the uncompressed body.
pub(super) async fn revalidate(request: Request, next: Next) -> Response {
    let known: Option<IfNoneMatch> = request.headers().typed_get();
    let get = request.method() == Method::GET;
    let mut response = next.run(request).await;
    // An event stream has no length. It must not be collected before it is sent.
    let complete = response.body().size_hint().exact().is_some();
    if !get || !complete || response.status() != StatusCode::OK {
        return response;
    }
    if !response.headers().contains_key(header::ETAG) {
        let (mut parts, body) = response.into_parts();
        let bytes = match to_bytes(body, usize::MAX).await {
            Ok(bytes) => bytes,
            Err(error) => {
                tracing::error!("a response could not be read: {error}");
                return StatusCode::INTERNAL_SERVER_ERROR.into_response();
            }
        };
        if let Ok(tag) = weak_tag(&bytes).parse() {
            parts.headers.insert(header::ETAG, tag);
        }
        response = Response::from_parts(parts, Body::from(bytes));
    }
    let current: Option<ETag> = response.headers().typed_get();
    match (known, current) {
        (Some(known), Some(current)) if !known.precondition_passes(&current) => {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = Body::empty();
            let headers = response.headers_mut();
            headers.remove(header::CONTENT_LENGTH);
            headers.remove(header::CONTENT_TYPE);
            headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
            response
        }
        _ => response,
    }
}
