//! Files the browser loads, carried inside this binary. Their names hold a hash of what is in
//! them, so a browser may keep them for ever.

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

/// What the bundle calls the list of its files.
pub(crate) const MANIFEST: &str = "manifest.json";

/// The manifest, or an empty one while nothing was bundled.
pub(crate) fn manifest() -> String {
    Assets::get(MANIFEST).map_or_else(
        || "{}".to_owned(),
        |file| String::from_utf8_lossy(&file.data).into_owned(),
    )
}

/// `GET /assets/{name}`
pub(crate) async fn get(Path(name): Path<String>, headers: HeaderMap) -> Response<Body> {
    let (file, encoding) = match brotli(&name, &headers) {
        Some(compressed) => (Some(compressed), Some("br")),
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
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    response
}

/// The compressed sibling, if there is one and the client takes it.
fn brotli(name: &str, headers: &HeaderMap) -> Option<EmbeddedFile> {
    let accepted = headers.get(header::ACCEPT_ENCODING)?.to_str().ok()?;
    let takes_it = accepted
        .split(',')
        .map(|coding| coding.trim().split_once(';').unwrap_or((coding.trim(), "")))
        .any(|(coding, quality)| coding.trim() == "br" && !quality.trim().starts_with("q=0"));
    if !takes_it {
        return None;
    }
    Assets::get(&format!("{name}.br"))
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
    fn compressed_files_go_only_to_those_who_take_them() {
        let accepting = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            headers
        };
        let Some(name) = Assets::iter().find_map(|name| Some(name.strip_suffix(".br")?.to_owned()))
        else {
            // Nothing is bundled in this build; tests/ serves the real bundle.
            return;
        };
        assert!(brotli(&name, &accepting("gzip, br;q=1.0")).is_some());
        assert!(brotli(&name, &accepting("gzip")).is_none());
        assert!(brotli(&name, &accepting("br;q=0")).is_none());
        assert!(brotli(&name, &HeaderMap::new()).is_none());
    }
}
