//! Running code requires the token, also on this machine.

mod support;

use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt, process::Output};
use support::{Server, agent, hipward, printed, problem};

fn post(server: &Server, headers: &[(&str, &str)]) -> ureq::http::Response<ureq::Body> {
    let mut request = agent().post(format!("{}/api/v1/jobs", server.url));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.send_json(json!({"code": "print(1)"}));
    answer.expect("answers")
}

#[test]
fn loopback_server_requires_its_random_token() {
    let server = Server::start(&[]);
    let token = server.token.clone().expect("it prints one");
    let mut refused = post(&server, &[]);
    assert_eq!(refused.status(), 401);
    let refused = problem(&refused.body_mut().read_to_string().expect("a body"));
    assert_eq!(refused.code, "token-required");
    assert!(
        refused.help.contains("Authorization: Bearer"),
        "{refused:?}"
    );
    assert_eq!(
        post(&server, &[("authorization", "Bearer guessed")]).status(),
        401
    );
    let compile = agent()
        .post(format!("{}/api/v1/compile", server.url))
        .send_json(json!({"language": "triton", "source": "x"}));
    assert_eq!(compile.expect("answers").status(), 401);
    let cancel = agent()
        .delete(format!("{}/api/v1/jobs/any", server.url))
        .call();
    assert_eq!(cancel.expect("answers").status(), 401);
    for scheme in ["Bearer", "bearer"] {
        let answer = post(&server, &[("authorization", &format!("{scheme} {token}"))]);
        assert_eq!(answer.status(), 202, "{scheme}");
    }
    // Reading needs none.
    assert_eq!(server.get("/benchmark/").0, 200);
    assert_eq!(server.get("/api/v1/capabilities").0, 200);
    let other = Server::start(&[]);
    assert_ne!(other.token, Some(token), "each start makes up another");
}

#[test]
fn address_with_the_token_sets_the_cookie() {
    let server = Server::start(&[]);
    let token = server.token.clone().expect("it prints one");
    let open = |path: &str| {
        agent()
            .get(format!("{}{path}", server.url))
            .call()
            .expect("answers")
    };
    let entered = open(&format!("/benchmark/?token={token}&variants=compile"));
    assert_eq!(entered.status(), 303);
    assert_eq!(
        entered.headers()["location"],
        "/benchmark/?variants=compile"
    );
    assert_eq!(entered.headers()["cache-control"], "no-store");
    let cookie = entered.headers()["set-cookie"].to_str().expect("text");
    assert!(!cookie.contains(&token), "{cookie}");
    assert!(
        cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"),
        "{cookie}"
    );
    let (cookie, _) = cookie.split_once(';').expect("attributes");

    let own = ("origin", server.url.as_str());
    assert_eq!(post(&server, &[("cookie", cookie), own]).status(), 202);
    let among_others = format!("a=b; {cookie}; c=d");
    assert_eq!(
        post(&server, &[("cookie", &among_others), own]).status(),
        202
    );
    // Requests that another site causes, and requests without an origin.
    let foreign = ("origin", "http://localhost:3000");
    assert_eq!(post(&server, &[("cookie", cookie), foreign]).status(), 403);
    assert_eq!(post(&server, &[("cookie", cookie)]).status(), 401);
    assert_eq!(
        post(&server, &[("cookie", "hipward=guessed"), own]).status(),
        401
    );

    let wrong = open("/?token=guessed");
    assert_eq!(wrong.status(), 401);
    assert!(!wrong.headers().contains_key("set-cookie"));
    // No redirect to another host.
    let elsewhere = open(&format!("//evil.example/?token={token}"));
    assert_eq!(elsewhere.headers()["location"], "/evil.example/");
}

#[test]
fn request_with_the_token_sets_the_cookie() {
    let server = Server::start(&[]);
    let bearer = format!("Bearer {}", server.token.as_deref().expect("it prints one"));
    let own = ("origin", server.url.as_str());
    let answer = post(&server, &[("authorization", &bearer), own]);
    let cookie = answer.headers()["set-cookie"]
        .to_str()
        .expect("text")
        .to_owned();
    let (cookie, _) = cookie.split_once(';').expect("attributes");
    assert_eq!(post(&server, &[("cookie", cookie), own]).status(), 202);
    // A program stores its token itself, so it gets no cookie.
    let program = post(&server, &[("authorization", &bearer)]);
    assert!(!program.headers().contains_key("set-cookie"));
}

#[test]
fn no_token_allows_everybody_on_this_machine() {
    let server = Server::start(&["--no-token"]);
    assert_eq!(server.token, None);
    // Others can send code then, so file restrictions are required.
    let weak = Server::start(&["--no-token", "--no-bubblewrap", "--newest-landlock", "0"]);
    let answer = post(&weak, &[]);
    assert_eq!(answer.status(), 503);
    if server.fences_files() {
        assert_eq!(post(&server, &[]).status(), 202);
    }
}

#[test]
fn no_token_refuses_requests_from_a_network() {
    let server = Server::start(&["--allow-host", "hip.example", "--no-token"]);
    let mut refused = post(&server, &[]);
    assert_eq!(refused.status(), 403);
    let refused = problem(&refused.body_mut().read_to_string().expect("a body"));
    assert_eq!(refused.code, "token-not-set");
    let server = Server::start(&[
        "--allow-host",
        "hip.example",
        "--minimum-isolation",
        "limits",
    ]);
    assert_eq!(post(&server, &[]).status(), 401);
    assert_eq!(server.post(&json!({"code": "print(1)"})).0, 202);
}

fn serve(flags: &[&str], token: Option<&str>) -> Output {
    let data = tempfile::tempdir().expect("a folder");
    let mut command = hipward();
    command
        .args(["serve", "--bind", "127.0.0.1:0", "--data"])
        .arg(data.path())
        .args(flags);
    command.envs(token.map(|token| ("HIPWARD_TOKEN", token)));
    command.output().expect("runs")
}

#[test]
fn token_on_the_command_line_is_rejected() {
    let refused = serve(&["--token", "secret"], None);
    assert_eq!(refused.status.code(), Some(1));
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(
        text.contains("--token-file FILE") && text.contains("HIPWARD_TOKEN"),
        "{text}"
    );
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn invalid_token_stops_the_server_at_start() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().to_str().expect("a path");
    let assert_stderr = |output: Output, part: &str| {
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(part), "{text}");
    };
    assert_stderr(serve(&["--token-file", path], None), "is empty");
    assert_stderr(
        serve(&["--token-file", "/nonexistent"], None),
        "/nonexistent: ",
    );
    for token in ["ключ", "open sesame "] {
        assert_stderr(
            serve(&[], Some(token)),
            "this token cannot be sent in a header",
        );
        fs::write(file.path(), format!("{token}\n")).expect("is written");
        assert_stderr(
            serve(&["--token-file", path], None),
            "this token cannot be sent in a header",
        );
    }
}

/// Searches everything in /proc for the text.
const SEARCH: &str = r#"
import os
found = []
for process in ['self', *range(1, int(open('/proc/loadavg').read().split()[-1]) + 1)]:
    for file in ('cmdline', 'environ'):
        try:
            text = open(f'/proc/{process}/{file}', 'rb').read()
        except OSError:
            continue
        if marker.encode() in text:
            found.append((process, file))
print('found', found)
"#;

#[test]
fn job_cannot_read_the_token_from_proc() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    fs::write(&file, "canary-of-the-test\n").expect("a file");
    // Readable by the server without privileges.
    for (path, mode) in [(folder.path(), 0o755), (&file, 0o644)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    }
    let path = file.to_str().expect("a path");
    let flags = ["--token-file", path, "--minimum-isolation", "limits"];
    for flags in [
        flags.to_vec(),
        [&flags[..], &["--newest-landlock", "0"]].concat(),
    ] {
        let mut server = if flags.len() > 4 {
            Server::start_without_privileges(&flags)
        } else {
            Server::start(&flags)
        };
        assert_eq!(server.token, None, "a configured token is not printed");
        server.token = Some("canary-of-the-test".to_owned());
        // Concatenated, so that the search does not find its own source.
        let code = format!("marker = 'canary' + '-of-the-test'\n{SEARCH}");
        assert_eq!(printed(&server.run(&code)).trim(), "found []");
    }
}
