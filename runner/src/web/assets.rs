//! The files that browsers load, embedded in this binary. Their names contain a hash of their
//! content, so browsers may cache them for ever.

use super::content_coding::Coding;
use axum::{
    body::Body,
    extract::Path,
    http::{HeaderMap, HeaderValue, Response, StatusCode, header},
    response::IntoResponse,
};
use rust_embed::{EmbeddedFile, RustEmbed};
use std::borrow::Cow;

#[derive(RustEmbed)]
#[folder = "$HIPWARD_ASSETS"]
#[exclude = ".work/*"]
pub(crate) struct Assets;

/// The bundle's list of files.
pub(crate) const MANIFEST: &str = "manifest.json";

/// The manifest. Empty if nothing was bundled.
pub(crate) fn manifest() -> String {
    Assets::get(MANIFEST).map_or_else(
        || "{}".to_owned(),
        |file| String::from_utf8_lossy(&file.data).into_owned(),
    )
}

/// `GET /assets/{name}`
pub(crate) async fn get(Path(name): Path<String>, headers: HeaderMap) -> Response<Body> {
    let (file, encoding) = match compressed(&name, &headers) {
        Some((file, coding)) => (Some(file), Some(coding)),
        None => (Assets::get(&name), None),
    };
    let Some(file) = file else {
        return (StatusCode::NOT_FOUND, "There is no such file.").into_response();
    };
    let data = match file.data {
        Cow::Borrowed(data) => Body::from(data),
        Cow::Owned(data) => Body::from(data),
    };
    let mut response = Response::new(data);
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_TYPE, content_type(&name)),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::VARY, "accept-encoding"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // The name contains a hash of the content, so it identifies the content.
    if let Ok(tag) = format!("W/\"{name}\"").parse() {
        headers.insert(header::ETAG, tag);
    }
    if let Some(encoding) = encoding {
        headers.insert(
            header::CONTENT_ENCODING,
            HeaderValue::from_static(encoding.name()),
        );
    }
    response
}

/// The best compressed version of a file that the client accepts, with its coding.
fn compressed(name: &str, headers: &HeaderMap) -> Option<(EmbeddedFile, Coding)> {
    Coding::accepted(headers)
        .find_map(|coding| Some((Assets::get(&format!("{name}{}", coding.suffix()))?, coding)))
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "wasm" => "application/wasm",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}
