use super::*;
use crate::{api::identity::Identity, jobs::Role};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use std::time::Duration;
use tempfile::TempDir;

/// The checks of a server, and its data folder.
fn access(bound: &str, token: Option<&str>) -> (AccessControl, TempDir) {
    let access = AccessConfig {
        token: token.map(str::to_owned),
        ..AccessConfig::default()
    };
    control(bound, access)
}

fn control(bound: &str, access: AccessConfig) -> (AccessControl, TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Store::open(folder.path()).expect("opens");
    let bound = bound.parse().expect("an address");
    (AccessControl::new(bound, access, store), folder)
}

fn headers(pairs: &[(header::HeaderName, &'static str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
        .collect()
}

#[test]
fn own_names_require_the_own_port() {
    let (access, _folder) = access("127.0.0.1:8717", None);
    for host in [
        "127.0.0.1:8717",
        "localhost:8717",
        "LOCALHOST:8717",
        "[::1]:8717",
    ] {
        assert!(access.is_ours(host), "{host}");
    }
    for host in [
        "127.0.0.1",
        "localhost:80",
        "evil.example:8717",
        "localhost.evil.example:8717",
        "",
    ] {
        assert!(!access.is_ours(host), "{host}");
    }
    assert!(
        access.check_host(&HeaderMap::new()).is_err(),
        "no Host at all"
    );
}

#[tokio::test]
async fn allowed_hosts_are_accepted_behind_a_proxy() {
    let access = AccessConfig {
        token: None,
        hosts: vec!["hip.example".to_owned(), "gpu.example:8443".to_owned()],
        ..AccessConfig::default()
    };
    for bound in ["127.0.0.1:8717", "0.0.0.0:8717"] {
        let (access, _folder) = control(bound, access.clone());
        let check = |host| access.check_host(&headers(&[(header::HOST, host)]));
        for host in ["hip.example", "HIP.example:443", "gpu.example:8443"] {
            assert!(check(host).is_ok(), "{host}");
        }
        for host in [
            "gpu.example",
            "evil.example",
            "hip.example.evil.example",
            "",
        ] {
            assert!(check(host).is_err(), "{host}");
        }
        let refused = access.authorize(&HeaderMap::new(), Role::Submit).await;
        let error = refused.expect_err("no token");
        assert_eq!(error.status(), StatusCode::FORBIDDEN);
    }
}

#[test]
fn other_origins_are_rejected() {
    let (access, _folder) = access("127.0.0.1:8717", None);
    let from = |origin| {
        access.check_origin(&headers(&[
            (header::HOST, "localhost:8717"),
            (header::ORIGIN, origin),
        ]))
    };
    assert!(from("http://localhost:8717").is_ok());
    for origin in ["http://localhost:3000", "https://evil.example", "null", ""] {
        assert!(from(origin).is_err(), "{origin}");
    }
}

#[tokio::test]
async fn pages_of_an_allowed_origin_need_the_token_in_the_header() {
    let config = AccessConfig {
        token: Some("secret".to_owned()),
        origins: vec!["https://wiki.example".to_owned()],
        ..AccessConfig::default()
    };
    let (access, _folder) = control("127.0.0.1:8717", config);
    let host = (header::HOST, "127.0.0.1:8717");
    for (origin, is_allowed) in [
        ("https://wiki.example", true),
        ("http://wiki.example", false),
        ("https://wiki.example.evil.example", false),
    ] {
        let checked = access.check_origin(&headers(&[host.clone(), (header::ORIGIN, origin)]));
        assert_eq!(checked.is_ok(), is_allowed, "{origin}");
    }
    let cookie = access.set_cookie("secret").expect("a header");
    let mut request = headers(&[host, (header::ORIGIN, "https://wiki.example")]);
    request.insert(header::COOKIE, cookie);
    let refused = access.authorize(&request, Role::Submit).await;
    let error = refused.expect_err("has only the cookie");
    assert_eq!(error.status(), StatusCode::UNAUTHORIZED);
    request.insert(
        header::AUTHORIZATION,
        HeaderValue::from_static("Bearer secret"),
    );
    assert!(access.authorize(&request, Role::Submit).await.is_ok());
}

fn with_token(value: &'static str) -> HeaderMap {
    headers(&[(header::AUTHORIZATION, value)])
}

#[tokio::test]
async fn server_on_a_network_requires_its_token() {
    let (open, _folder) = access("0.0.0.0:8717", None);
    let refused = open.authorize(&HeaderMap::new(), Role::Submit).await;
    let error = refused.expect_err("no token is set");
    assert_eq!(error.status(), StatusCode::FORBIDDEN);

    let (closed, _folder) = access("0.0.0.0:8717", Some("secret"));
    for value in ["Bearer secret", "bearer secret", "BEARER secret"] {
        let accepted = closed.authorize(&with_token(value), Role::Operate).await;
        assert_eq!(accepted.expect(value), Identity::OPERATOR);
    }
    for value in ["Bearer secre", "Bearer Secret", "Basic secret", "secret"] {
        let refused = closed.authorize(&with_token(value), Role::Read).await;
        let error = refused.expect_err(value);
        assert_eq!(error.status(), StatusCode::UNAUTHORIZED);
    }
    let (local, _folder) = access("127.0.0.1:1", None);
    let accepted = local.authorize(&HeaderMap::new(), Role::Operate).await;
    assert!(accepted.is_ok());
}

fn proxy() -> ProxyAuth {
    ProxyAuth {
        header: HeaderName::from_static("x-user"),
        proxies: Vec::new(),
        operators: vec!["carl@example.org".to_owned()],
    }
}

#[tokio::test]
async fn user_of_a_proxy_has_a_name_and_a_role() {
    let access = AccessConfig {
        proxy: Some(proxy()),
        ..AccessConfig::default()
    };
    let (access, _folder) = control("127.0.0.1:8717", access);
    let user = |name: &'static str| {
        let mut headers = headers(&[
            (header::HOST, "hip.example"),
            (header::ORIGIN, "https://hip.example"),
        ]);
        headers.append("x-user", HeaderValue::from_static(name));
        headers
    };
    let ann = access
        .authorize(&user("ann"), Role::Submit)
        .await
        .expect("may");
    assert_eq!(ann.name.as_deref(), Some("ann"));
    assert!(access.authorize(&user("ann"), Role::Operate).await.is_err());
    let carl = user("carl@example.org");
    assert!(access.authorize(&carl, Role::Operate).await.is_ok());
    for name in ["", "anonymous", "a b", "<b>"] {
        let refused = access.authorize(&user(name), Role::Submit).await;
        let error = refused.expect_err(name);
        assert_eq!(error.status(), StatusCode::UNAUTHORIZED);
    }
    let mut twice = user("ann");
    twice.append("x-user", HeaderValue::from_static("carl@example.org"));
    assert!(access.authorize(&twice, Role::Submit).await.is_err());
    let mut from_elsewhere = user("ann");
    from_elsewhere.remove(header::ORIGIN);
    let refused = access.authorize(&from_elsewhere, Role::Submit).await;
    assert!(refused.is_err(), "no Origin");
}

#[tokio::test]
async fn without_a_token_only_site_benchmarks_run_and_only_if_permitted() {
    for (permitted, is_site_benchmark, runs) in [
        (true, true, true),
        (true, false, false),
        (false, true, false),
    ] {
        let access = AccessConfig {
            token: Some("secret".to_owned()),
            anonymous_benchmarks: permitted,
            ..AccessConfig::default()
        };
        let (access, _folder) = control("127.0.0.1:8717", access);
        let none = HeaderMap::new();
        let identity = access.authorize_job(&none, is_site_benchmark).await;
        assert_eq!(identity.is_ok(), runs);
        assert_eq!(access.precheck_job(&none).await.is_ok(), permitted);
        let wrong = with_token("Bearer wrong");
        assert_eq!(access.authorize_job(&wrong, true).await.is_ok(), permitted);
        for role in [Role::Read, Role::Submit] {
            assert!(access.authorize(&none, role).await.is_err());
        }
    }
}

#[tokio::test]
async fn code_of_others_than_the_operator_needs_approval() {
    let needs = async |bound: &str, token: Option<&str>, headers: HeaderMap| {
        let access = AccessConfig {
            token: token.map(str::to_owned),
            approve: true,
            ..AccessConfig::default()
        };
        let (access, _folder) = control(bound, access);
        let ann = access.store.add_token("ann", Role::Submit, None);
        let ann = format!("Bearer {}", ann.expect("is new"));
        let ann = HeaderValue::try_from(ann).expect("a header");
        let ann = HeaderMap::from_iter([(header::AUTHORIZATION, ann)]);
        let ann = access.authorize(&ann, Role::Submit).await.expect("may");
        let operator = access
            .authorize(&headers, Role::Operate)
            .await
            .expect("may");
        assert_eq!(
            access.check_runs_unapproved(&operator).is_err(),
            access.needs_approval(&operator)
        );
        (
            access.needs_approval(&ann),
            access.needs_approval(&operator),
        )
    };
    let operator = with_token("Bearer secret");
    assert_eq!(
        needs("127.0.0.1:1", Some("secret"), operator).await,
        (true, false)
    );
    // Everybody is the operator there.
    let none = HeaderMap::new();
    assert_eq!(needs("127.0.0.1:1", None, none).await, (true, true));
}

#[tokio::test]
async fn stored_tokens_have_roles_owners_and_an_expiry() {
    let (access, _folder) = access("0.0.0.0:8717", None);
    let bearer = |secret: &str| {
        let value = HeaderValue::try_from(format!("Bearer {secret}")).expect("a header");
        HeaderMap::from_iter([(header::AUTHORIZATION, value)])
    };
    let add = |name, role, valid_for| {
        let added = access.store.add_token(name, role, valid_for);
        added.expect("is new")
    };
    let ann = add("ann", Role::Submit, None);
    let reader = add("reader", Role::Read, None);
    let old = add("old", Role::Operate, Some(Duration::ZERO));

    let identity = access.authorize(&bearer(&ann), Role::Submit).await;
    let identity = identity.expect("may submit");
    assert_eq!(identity.name.as_deref(), Some("ann"));
    assert!(identity.check_owner(Some("ann")).is_ok());
    for other in [Some("bob"), None] {
        let error = identity.check_owner(other).expect_err("is another's");
        assert_eq!(error.status(), StatusCode::FORBIDDEN);
    }
    let refused = access.authorize(&bearer(&reader), Role::Submit).await;
    assert_eq!(
        refused.expect_err("may only read").status(),
        StatusCode::FORBIDDEN
    );
    assert!(access.authorize(&bearer(&reader), Role::Read).await.is_ok());
    let refused = access.authorize(&bearer(&old), Role::Read).await;
    assert_eq!(
        refused.expect_err("has expired").status(),
        StatusCode::UNAUTHORIZED
    );

    let cookie = access.set_cookie(&ann).expect("a header");
    let cookie = cookie
        .to_str()
        .expect("text")
        .split(';')
        .next()
        .expect("a pair");
    let mut with_cookie = HeaderMap::new();
    with_cookie.insert(
        header::COOKIE,
        HeaderValue::try_from(cookie).expect("a header"),
    );
    assert!(
        access.authorize(&with_cookie, Role::Submit).await.is_err(),
        "no Origin"
    );
    with_cookie.insert(header::HOST, HeaderValue::from_static("0.0.0.0:8717"));
    with_cookie.insert(
        header::ORIGIN,
        HeaderValue::from_static("http://0.0.0.0:8717"),
    );
    assert_eq!(
        access.authorize(&with_cookie, Role::Submit).await.ok(),
        Some(identity)
    );

    assert!(access.store.remove_token("ann").expect("works"));
    let refused = access.authorize(&with_cookie, Role::Submit).await;
    assert_eq!(
        refused.expect_err("was removed").status(),
        StatusCode::UNAUTHORIZED
    );
}
