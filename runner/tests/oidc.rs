//! Sign-in with an identity provider.

#[path = "support/provider.rs"]
mod provider;
mod support;

use provider::{CLIENT, Provider, SECRET};
use serde_json::{Value, json};
use std::{fs, path::Path};
use support::{MEASURES, Server, agent, hipward, problem, send};
use url::Url;

const ROLES: [&str; 4] = [
    "--oidc-role",
    "groups=gpu:submit",
    "--oidc-role",
    "groups=gpu-ops:operate",
];

/// A server whose users sign in at this provider.
fn start(provider: &Provider, flags: &[&str]) -> Server {
    start_for(&provider.issuer, flags)
}

fn start_for(issuer: &str, flags: &[&str]) -> Server {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let secret = folder.path().join("secret");
    fs::write(&secret, format!("{SECRET}\n")).expect("is ours");
    let secret = secret.to_str().expect("text");
    let own = [
        "--oidc-issuer",
        issuer,
        "--oidc-client-id",
        CLIENT,
        "--oidc-client-secret-file",
        secret,
    ];
    // The server reads the file before it prints its address.
    Server::start(&[&own[..], &ROLES, flags].concat())
}

/// A browser with its cookies.
#[derive(Default)]
struct Browser(Vec<(String, String)>);

struct Answer {
    status: u16,
    location: Option<String>,
    body: String,
    cookies: Vec<String>,
}

impl Browser {
    fn request(&mut self, method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let cookies: Vec<String> = self
            .0
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(url)
            .header("accept", "text/html")
            .header("cookie", cookies.join("; "));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body.to_owned()).expect("a request");
        let mut answer = agent().run(request).expect("answers");
        let text = |value: &ureq::http::HeaderValue| value.to_str().expect("text").to_owned();
        let set: Vec<String> = answer
            .headers()
            .get_all("set-cookie")
            .iter()
            .map(text)
            .collect();
        for cookie in &set {
            let pair = cookie.split(';').next().expect("a pair");
            let (name, value) = pair.split_once('=').expect("a pair");
            self.0.retain(|(known, _)| known != name);
            if !value.is_empty() {
                self.0.push((name.to_owned(), value.to_owned()));
            }
        }
        Answer {
            status: answer.status().as_u16(),
            location: answer.headers().get("location").map(text),
            body: answer.body_mut().read_to_string().expect("a body"),
            cookies: set,
        }
    }

    fn get(&mut self, url: &str) -> Answer {
        self.request("GET", url, &[("sec-fetch-site", "none")], "")
    }

    /// Follows the sign-in up to the provider's answer.
    fn begin(&mut self, server: &Server, back: &str) -> Url {
        let begun = self.get(&format!("{}/sign-in?return={back}", server.url));
        assert_eq!(begun.status, 303, "{}", begun.body);
        let provider = begun.location.expect("the provider");
        let answered = agent().get(&provider).call().expect("answers");
        let location = answered.headers()["location"].to_str().expect("text");
        Url::parse(location).expect("an address")
    }

    fn sign_in(&mut self, server: &Server, back: &str) -> Answer {
        let callback = self.begin(server, back);
        self.get(callback.as_str())
    }

    /// Sends a job as a page of the server.
    fn submit(&mut self, server: &Server) -> (u16, Value) {
        let headers = [
            ("origin", server.url.as_str()),
            ("content-type", "application/json"),
        ];
        let url = format!("{}/api/v1/jobs", server.url);
        let body = json!({ "code": MEASURES }).to_string();
        let answer = self.request("POST", &url, &headers, &body);
        let body = serde_json::from_str(&answer.body).expect("JSON");
        (answer.status, body)
    }
}

#[test]
fn user_signs_in_runs_a_job_and_signs_out() {
    let provider = Provider::start();
    let server = start(&provider, &[]);
    let mut browser = Browser::default();
    let (status, refused) = browser.submit(&server);
    assert_eq!(
        (status, &refused["code"]),
        (401, &json!("sign-in-required"))
    );
    let asked = browser.get(&format!("{}/jobs/?label=main", server.url));
    assert_eq!(
        asked.location.as_deref(),
        Some("/sign-in?return=%2Fjobs%2F%3Flabel%3Dmain")
    );

    // The header of each page leads to the sign-in; a script finds out who the reader is.
    let home = browser.get(&format!("{}/", server.url));
    assert!(home.body.contains("href=\"/sign-in\""), "{}", home.body);
    let user = format!("{}/sign-in/user", server.url);
    assert_eq!(browser.get(&user).body, r#"{"by":"nothing"}"#);

    let signed_in = browser.sign_in(&server, "/jobs/?label=main");
    assert_eq!(signed_in.status, 200, "{}", signed_in.body);
    let known = r#"{"user":"ann@example.org","by":"session"}"#;
    assert_eq!(browser.get(&user).body, known);
    // As for other requests, the cookie does not count on pages of other sites.
    let foreign = browser.request("GET", &user, &[("sec-fetch-site", "cross-site")], "");
    assert_eq!(foreign.body, r#"{"by":"nothing"}"#);
    assert!(signed_in.body.contains("url=/jobs/?label=main\""));
    assert!(signed_in.body.contains("ann@example.org"));
    let session = &signed_in.cookies[0];
    assert!(session.contains("; HttpOnly; SameSite=Lax;"), "{session}");
    assert!(!session.contains("Secure"), "the origin is http");
    let jobs = browser.get(&format!("{}/jobs/?label=main", server.url));
    assert_eq!(jobs.status, 200);

    let (status, job) = browser.submit(&server);
    assert_eq!(status, 202, "{job}");
    let listed = browser.request(
        "GET",
        &format!("{}/api/v1/jobs", server.url),
        &[("origin", &server.url)],
        "",
    );
    assert!(listed.body.contains("ann@example.org"), "{}", listed.body);

    // As for the token's cookie: pages of other sites cannot use it.
    let url = format!("{}/api/v1/jobs", server.url);
    for headers in [
        &[("content-type", "application/json")][..],
        &[
            ("content-type", "application/json"),
            ("origin", "http://evil.example"),
        ],
    ] {
        let body = json!({ "code": MEASURES }).to_string();
        let forged = browser.request("POST", &url, headers, &body);
        assert!((400..404).contains(&forged.status), "{}", forged.status);
    }
    let sign_out = format!("{}/sign-out", server.url);
    assert_eq!(browser.request("POST", &sign_out, &[], "").status, 403);
    assert!(browser.get(&sign_out).body.contains("<button>Sign out"));
    let origin = [("origin", server.url.as_str())];
    assert_eq!(browser.request("POST", &sign_out, &origin, "").status, 200);
    assert_eq!(browser.submit(&server).0, 401);
}

#[test]
fn claims_become_roles_and_without_one_a_page_says_so() {
    let provider = Provider::start();
    let server = start(&provider, &["--approve"]);
    let approvals = format!("{}/jobs/approvals/", server.url);
    let mut ann = Browser::default();
    ann.sign_in(&server, "/");
    assert!(ann.get(&approvals).body.contains("Only operators"));

    provider.set_user(json!({"sub": "carl", "groups": ["gpu-ops", "gpu"]}));
    let mut carl = Browser::default();
    let signed_in = carl.sign_in(&server, "/");
    assert!(signed_in.body.contains("<code>operate</code>"));
    assert!(!carl.get(&approvals).body.contains("Only operators"));

    provider.set_user(json!({"sub": "<eve>", "groups": ["sales"]}));
    let mut eve = Browser::default();
    let refused = eve.sign_in(&server, "/");
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("has no role on this server"));
    assert!(!refused.body.contains("<eve>"));
    assert_eq!(eve.submit(&server).0, 401);
}

#[test]
fn claims_that_the_token_leaves_out_come_from_the_user_info() {
    let provider = Provider::start();
    let claims = json!({"sub": "248289761001", "email": "ann@example.org", "email_verified": true, "groups": ["gpu-ops"]});
    provider.set_user_info(claims.clone());
    let server = start(&provider, &[]);
    let signed_in = Browser::default().sign_in(&server, "/");
    assert_eq!(signed_in.status, 200, "{}", signed_in.body);
    assert!(signed_in.body.contains("<code>operate</code>"));
    assert!(signed_in.body.contains("ann@example.org"));

    // Those of the token are signed.
    provider.change(|token| token["groups"] = json!(["gpu"]));
    let signed_in = Browser::default().sign_in(&server, "/");
    assert!(signed_in.body.contains("<code>submit</code>"));

    let mut other = claims;
    other["sub"] = json!("another user");
    provider.set_user_info(other);
    let refused = Browser::default().sign_in(&server, "/");
    assert_eq!(refused.status, 401);
    assert!(
        refused.body.contains("user info is about another user"),
        "{}",
        refused.body
    );
}

#[test]
fn tokens_that_are_not_for_this_sign_in_are_refused() {
    let provider = Provider::start();
    let server = start(&provider, &[]);
    let refused = |reason: &str| {
        let mut browser = Browser::default();
        let answer = browser.sign_in(&server, "/");
        assert_eq!(answer.status, 401, "{reason}: {}", answer.body);
        assert!(answer.body.contains(reason), "{reason}: {}", answer.body);
        assert_eq!(browser.submit(&server).0, 401, "{reason}");
    };
    let set = |claim: &'static str, value: Value| {
        provider.change(move |claims| claims[claim] = value.clone());
    };
    set("aud", json!("another-client"));
    refused("it is for another client");
    set("azp", json!("another-client"));
    refused("it is for another client");
    set("iss", json!("https://other.example"));
    refused("it is from another issuer");
    set("exp", json!(1_000_000_000));
    refused("it has expired");
    set("nbf", json!(99_999_999_999_u64));
    refused("it is not valid yet");
    set("nonce", json!("another"));
    refused("it is for another sign-in");
    provider.change(|claims| {
        claims.as_object_mut().expect("claims").remove("nonce");
    });
    refused("it is for another sign-in");
    provider.change(|claims| {
        claims.as_object_mut().expect("claims").remove("exp");
    });
    refused("exp");
    provider.change(|_| ());
    provider.rotate(false, false);
    refused("its key is none of the provider");
    // Keys of both kinds are found when the provider begins to use them.
    for is_rsa in [true, false] {
        provider.rotate(is_rsa, true);
        assert_eq!(Browser::default().sign_in(&server, "/").status, 200);
    }
}

#[test]
fn sign_in_that_was_begun_elsewhere_or_was_changed_is_refused() {
    let provider = Provider::start();
    let server = start(&provider, &[]);
    let callback = Browser::default().begin(&server, "/");
    // Another browser: somebody sends a link that signs others in as himself.
    let mut victim = Browser::default();
    let refused = victim.get(callback.as_str());
    assert_eq!(refused.status, 400, "{}", refused.body);
    victim.begin(&server, "/");
    assert_eq!(victim.get(callback.as_str()).status, 400, "another state");

    let mut browser = Browser::default();
    let mut callback = browser.begin(&server, "/");
    callback.set_query(Some("error=access_denied&error_description=%3Cb%3Eno"));
    assert_eq!(browser.get(callback.as_str()).status, 400, "no state");
    let mut callback = browser.begin(&server, "/");
    let state = callback
        .query_pairs()
        .find(|(name, _)| name == "state")
        .expect("a state")
        .1
        .into_owned();
    callback
        .query_pairs_mut()
        .clear()
        .append_pair("state", &state)
        .append_pair("error", "access_denied")
        .append_pair("error_description", "<b>not you");
    let refused = browser.get(callback.as_str());
    assert_eq!(refused.status, 403);
    assert!(
        refused.body.contains("&lt;b&gt;not you"),
        "{}",
        refused.body
    );

    // A code counts once.
    let mut browser = Browser::default();
    let callback = browser.begin(&server, "/");
    let cookies = browser.0.clone();
    assert_eq!(browser.get(callback.as_str()).status, 200);
    let mut again = Browser(cookies);
    let refused = again.get(callback.as_str());
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert!(refused.body.contains("the code is unknown"));
}

#[test]
fn sign_in_leads_to_pages_of_this_server_only() {
    let provider = Provider::start();
    let server = start(&provider, &[]);
    for elsewhere in [
        "https://evil.example/",
        "//evil.example",
        "/%5Cevil.example",
        "javascript:alert(1)",
    ] {
        let signed_in = Browser::default().sign_in(&server, elsewhere);
        assert_eq!(signed_in.status, 200, "{}", signed_in.body);
        assert!(signed_in.body.contains("0; url=/\""), "{}", signed_in.body);
        assert!(!signed_in.body.contains("evil"), "{elsewhere}");
    }
}

#[test]
fn provider_that_is_down_is_reported_and_used_when_it_is_back() {
    let provider = Provider::start();
    let issuer = provider.issuer.clone();
    drop(provider);
    let server = start_for(&issuer, &[]);
    let mut browser = Browser::default();
    let refused = browser.get(&format!("{}/sign-in", server.url));
    assert_eq!(refused.status, 503);
    assert!(
        refused
            .body
            .contains("The identity provider cannot be used"),
        "{}",
        refused.body
    );
    let address = issuer.strip_prefix("http://").expect("http");
    let provider = Provider::start_at(address.parse().expect("an address"));
    let callback = browser.begin(&server, "/");
    drop(provider);
    let refused = browser.get(callback.as_str());
    assert_eq!(refused.status, 503, "{}", refused.body);
    let _provider = Provider::start_at(address.parse().expect("an address"));
    assert_eq!(browser.sign_in(&server, "/").status, 200);
}

#[test]
fn tokens_of_the_provider_count_on_the_api() {
    let provider = Provider::start();
    let server = start(&provider, &["--oidc-audience", "ci"]);
    let file = server.data.path().join("token");
    let submit = |claims: &Value| {
        fs::write(&file, provider.token(claims)).expect("is ours");
        let body = json!({ "code": MEASURES });
        send(&server, "POST", "/api/v1/jobs", Path::new(&file), &body)
    };
    for audience in [json!(CLIENT), json!("ci"), json!(["other", "ci"])] {
        let (status, body) = submit(&json!({ "aud": audience }));
        assert_eq!(status, 202, "{body}");
    }
    let refused = |(status, code): (u16, String), expected| {
        assert_eq!((status, code.as_str()), expected);
    };
    let invalid = (401, "provider-token-invalid");
    refused(submit(&json!({"aud": "other"})), invalid);
    refused(submit(&json!({"exp": 1_000_000_000})), invalid);
    refused(submit(&json!({"groups": ["sales"]})), (403, "no-role"));
    // Everybody can send a token with an unknown key.
    provider.rotate(false, false);
    for _ in 0..20 {
        refused(submit(&json!({})), invalid);
    }
    assert!(provider.key_requests() <= 6, "{}", provider.key_requests());
    let unsigned = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.";
    fs::write(&file, unsigned).expect("is ours");
    let body = json!({ "code": MEASURES });
    let answer = send(&server, "POST", "/api/v1/jobs", &file, &body);
    refused(answer, invalid);
}

#[test]
fn session_counts_on_every_server_with_the_same_options() {
    let provider = Provider::start();
    let server = start(
        &provider,
        &[
            "--public-origin",
            "https://hip.example",
            "--allow-host",
            "hip.example",
        ],
    );
    let other = start(
        &provider,
        &[
            "--public-origin",
            "https://hip.example",
            "--allow-host",
            "hip.example",
        ],
    );
    let host = [("host", "hip.example"), ("sec-fetch-site", "none")];
    let mut browser = Browser::default();
    // A proxy sends each request to another server.
    let begun = browser.request("GET", &format!("{}/sign-in", server.url), &host, "");
    assert!(begun.cookies[0].starts_with("__Host-hipward-sign-in="));
    let location = begun.location.expect("the provider");
    let answered = agent().get(&location).call().expect("answers");
    let location = answered.headers()["location"].to_str().expect("text");
    let path = location
        .strip_prefix("https://hip.example")
        .expect("the origin");
    let signed_in = browser.request("GET", &format!("{}{path}", other.url), &host, "");
    assert_eq!(signed_in.status, 200, "{}", signed_in.body);
    assert!(signed_in.cookies[0].starts_with("__Host-hipward-session="));
    assert!(signed_in.cookies[0].ends_with("; Secure"));
    for node in [&server, &other] {
        let page = browser.request("GET", &format!("{}/sign-out", node.url), &host, "");
        assert!(page.body.contains("ann@example.org"), "{}", page.body);
    }
    let elsewhere = browser.get(&format!("{}/sign-in", server.url));
    assert!(elsewhere.body.contains("https://hip.example/sign-in"));
}

#[test]
fn options_that_cannot_work_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let secret = folder.path().join("secret");
    let run = |text: &str, more: &[&str]| {
        fs::write(&secret, text).expect("is ours");
        let output = hipward()
            .args([
                "serve",
                "--oidc-issuer",
                "https://login.example",
                "--oidc-client-id",
                "a",
            ])
            .args([
                "--oidc-role",
                "groups=gpu:submit",
                "--oidc-client-secret-file",
            ])
            .arg(&secret)
            .arg("--data")
            .arg(folder.path().join("data"))
            .args(more)
            .output()
            .expect("runs");
        assert!(!output.status.success());
        String::from_utf8(output.stderr).expect("text")
    };
    assert!(run("short", &[]).contains("too short"));
    let open = run(SECRET, &["--bind", "0.0.0.0:0"]);
    assert!(open.contains("--public-origin"), "{open}");
    let role = run(SECRET, &["--oidc-role", "groups=gpu"]);
    assert!(role.contains("CLAIM=VALUE:ROLE"), "{role}");
}

#[test]
fn local_server_with_a_provider_needs_the_sign_in() {
    let provider = Provider::start();
    let server = start(&provider, &["--no-token"]);
    let (status, body) = server.post(&json!({ "code": MEASURES }));
    assert_eq!(
        (status, problem(&body).code.as_str()),
        (401, "token-required")
    );
    assert_eq!(Browser::default().submit(&server).0, 401);
}
