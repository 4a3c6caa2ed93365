//! The cookies of tokens and of the sign-in: their names, their values, and the header that sets them.

use super::AccessControl;
use crate::jobs::cookie_value;
use axum::http::{HeaderMap, HeaderValue, header};

/// Maximum number of cookies of a request that are looked up.
const MAX_COOKIES: usize = 4;

impl AccessControl {
    /// The name of the cookie. It contains the port, because browsers share cookies between ports.
    pub(in crate::api) fn cookie_name(&self) -> String {
        format!("hipward-{}", self.bound.port())
    }

    /// The `Set-Cookie` header.
    pub(super) fn set_cookie(&self, token: &str) -> Option<HeaderValue> {
        let (name, value) = (self.cookie_name(), cookie_value(token));
        HeaderValue::try_from(format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict")).ok()
    }

    /// The name of a cookie of the sign-in. Over https, a browser accepts it from this host only.
    pub(in crate::api) fn sign_in_cookie(&self, purpose: &str) -> String {
        let origin = self.origin();
        match origin.rsplit_once(':') {
            _ if origin.starts_with("https://") => format!("__Host-hipward-{purpose}"),
            // Browsers share cookies between ports.
            Some((_, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("hipward-{purpose}-{port}")
            }
            _ => format!("hipward-{purpose}"),
        }
    }
}

/// The values of a cookie in a request.
pub(in crate::api) fn cookies(headers: &HeaderMap, name: &str) -> Vec<String> {
    let name = format!("{name}=");
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|cookies| cookies.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().strip_prefix(&name).map(str::to_owned))
        .take(MAX_COOKIES)
        .collect()
}
