//! Parsers of the addresses of other sites, for the command line: origins that may send requests to this server, and runners
//! that the pages of this site use, and links.

use url::Url;

/// Parses the origin of a site, such as `https://wiki.example`, as browsers send it.
pub(crate) fn origin(text: &str) -> Result<String, String> {
    if text == "*" {
        return Err(
            "every site could then send code to this server; name each origin, such as https://wiki.example".to_owned(),
        );
    }
    let url = parse(text)?;
    if url.path() != "/" {
        return Err("an origin has no path, as in https://wiki.example".to_owned());
    }
    Ok(url.origin().ascii_serialization())
}

/// Parses the address of a runner, such as `https://gpu.example`. The result ends with a slash.
pub(crate) fn runner(text: &str) -> Result<String, String> {
    let mut url = parse(text)?;
    // The address is part of the content security policy, in which these characters are separators.
    if url.path().contains([';', ',', '\'']) {
        return Err("the path has a character that an address of a runner cannot have".to_owned());
    }
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url.into())
}

/// Checks the address of a link: http, https or mailto.
pub(crate) fn link(text: &str) -> Result<String, String> {
    let url = Url::parse(text).map_err(|error| {
        format!("{error}; write the whole address, as in https://git.example/hipward")
    })?;
    match url.scheme() {
        "http" | "https" | "mailto" => Ok(url.into()),
        _ => Err("only addresses that begin with https://, http:// or mailto: work".to_owned()),
    }
}

fn parse(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| {
        format!("{error}; write the scheme and the host, as in https://gpu.example")
    })?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("only addresses that begin with http:// or https:// work".to_owned());
    }
    let has_more = url.query().is_some()
        || url.fragment().is_some()
        || !url.username().is_empty()
        || url.password().is_some();
    if has_more {
        return Err("the address must have no user, query or fragment".to_owned());
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_written_as_browsers_send_them() {
        for (text, expected) in [
            ("https://Wiki.Example", "https://wiki.example"),
            ("https://wiki.example:443/", "https://wiki.example"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ] {
            assert_eq!(origin(text).as_deref(), Ok(expected));
        }
        for text in [
            "*",
            "wiki.example",
            "null",
            "file:///wiki",
            "https://wiki.example/page",
            "https://ann@wiki.example",
            "https://wiki.example?a=b",
        ] {
            assert!(origin(text).is_err(), "{text}");
        }
    }

    #[test]
    fn links_lead_to_pages_and_mail_addresses() {
        for text in [
            "https://git.example/hipward?tab=issues",
            "mailto:gpu-team@acme.example",
        ] {
            assert_eq!(link(text).as_deref(), Ok(text));
        }
        for text in [
            "javascript:alert(1)",
            "git.example/hipward",
            "data:text/html,x",
        ] {
            assert!(link(text).is_err(), "{text}");
        }
    }

    #[test]
    fn runner_addresses_end_with_a_slash() {
        assert_eq!(
            runner("https://gpu.example").as_deref(),
            Ok("https://gpu.example/")
        );
        assert_eq!(
            runner("https://gpu.example/hipward").as_deref(),
            Ok("https://gpu.example/hipward/")
        );
        for text in ["gpu:8717", "https://gpu.example/a;b", "/runner"] {
            assert!(runner(text).is_err(), "{text}");
        }
    }
}
