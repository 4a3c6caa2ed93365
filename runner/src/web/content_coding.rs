//! Content codings of responses that are compressed once and sent often (RFC 9110, 12.5.3).

use axum::http::{HeaderMap, header};

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Brotli,
    Gzip,
}

impl Coding {
    /// All codings, best first.
    const ALL: [Coding; 2] = [Coding::Brotli, Coding::Gzip];

    /// The codings that a client accepts, best first.
    pub(super) fn accepted(headers: &HeaderMap) -> impl Iterator<Item = Coding> {
        Coding::ALL
            .into_iter()
            .filter(|coding| accepts(headers, coding.name()))
    }

    /// The best coding that a client accepts.
    pub(crate) fn best(headers: &HeaderMap) -> Option<Coding> {
        Coding::accepted(headers).next()
    }

    /// Its name in `Accept-Encoding` and `Content-Encoding`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
        }
    }

    /// The suffix of a file that is compressed with it.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Coding::Brotli => ".br",
            Coding::Gzip => ".gz",
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn coding_is_chosen_by_accept_encoding() {
        let best = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            Coding::best(&headers)
        };
        assert_eq!(best("gzip, deflate, br;q=1.0, zstd"), Some(Coding::Brotli));
        assert_eq!(best("gzip, deflate"), Some(Coding::Gzip));
        assert_eq!(best("br; q=0.000, GZIP;q=0.5"), Some(Coding::Gzip));
        assert_eq!(best("br;q=0, gzip;q=0"), None);
        assert_eq!(best("identity"), None);
    }
}
