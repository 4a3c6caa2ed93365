//! The files that browsers load, embedded in this binary. Their names contain a hash of their
//! content, so browsers may cache them for ever.

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

/// The content codings in the bundle, best first, with the suffix of the compressed file.
const CODINGS: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

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
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    response
}

/// The best compressed version of a file that the client accepts, with its coding.
fn compressed(name: &str, headers: &HeaderMap) -> Option<(EmbeddedFile, &'static str)> {
    CODINGS
        .iter()
        .filter(|(coding, _)| accepts(headers, coding))
        .find_map(|(coding, ending)| Some((Assets::get(&format!("{name}{ending}"))?, *coding)))
}

/// Whether the client accepts a content coding: it lists it with a quality above 0.
fn accepts(headers: &HeaderMap, coding: &str) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    let offers = values.filter_map(|value| value.to_str().ok());
    offers.flat_map(|value| value.split(',')).any(|offer| {
        let mut parts = offer.split(';').map(str::trim);
        let named = parts
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case(coding));
        let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
        named && quality.is_none_or(|quality| quality > 0.0)
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coding_is_chosen_by_accept_encoding() {
        let best = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            let accepted = CODINGS.iter().find(|(coding, _)| accepts(&headers, coding));
            accepted.map(|(coding, _)| *coding)
        };
        assert_eq!(best("gzip, deflate, br;q=1.0, zstd"), Some("br"));
        assert_eq!(best("gzip, deflate"), Some("gzip"));
        assert_eq!(best("br; q=0.000, GZIP;q=0.5"), Some("gzip"));
        assert_eq!(best("br;q=0, gzip;q=0"), None);
        assert_eq!(best("identity"), None);
    }
}
