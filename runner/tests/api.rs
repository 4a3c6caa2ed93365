//! The API over a real socket: jobs, streams, problems, and access control.

mod support;

use hipward_protocol::{
    Event, EventBody, FailureCode, JobState, JobSummary, JobView, Outcome, VariantId,
};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::Duration,
};
use support::{MEASURES, Server, WAITS, agent, hipward, problem, read_events, state};

#[test]
fn job_runs_from_submission_to_verdict() {
    let server = Server::start(&[]);
    let request =
        json!({"code": MEASURES, "title": "Two to one", "variants": ["compile", "fused-ops"]});
    let mut answer = server
        .authorized(agent().post(format!("{}/api/v1/jobs", server.url)))
        .send_json(&request)
        .expect("answers");
    assert_eq!(answer.status(), 202);
    let location = answer.headers()["location"]
        .to_str()
        .expect("text")
        .to_owned();
    let job: JobSummary = answer.body_mut().read_json().expect("a summary");
    assert_eq!(location, format!("/api/v1/jobs/{}", job.id));
    assert_eq!((job.id.len(), job.state), (26, JobState::Queued));
    // Without the baseline and its control there would be no verdict.
    let requested = [
        VariantId::EAGER,
        VariantId::CONTROL,
        VariantId::named("compile"),
        VariantId::named("fused-ops"),
    ];
    assert_eq!(job.variants, requested);

    let events = server.events(&job.id, 0);
    let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>());
    let view = JobView::from_events(&events);
    assert_eq!(view.state, JobState::Done);
    let verdict = view.verdict.clone().expect("has a verdict");
    assert_eq!(verdict.best, Some(VariantId::named("compile")));
    assert_eq!(verdict.comparisons[0].outcome, Outcome::Faster);
    assert!((verdict.comparisons[0].speedup - 2.0).abs() < 0.01);
    assert_eq!(
        verdict.control.expect("has a control").outcome,
        Outcome::Same
    );
    assert!(
        verdict.summary.starts_with("Variant compile is 2.0"),
        "named as the harness names it: {}",
        verdict.summary
    );
    let eager = view.variants[0].stats.as_ref().expect("is measured");
    assert_eq!(eager.n, view.variants[0].samples.len());
    assert!(support::printed(&events).contains("hello"));
    let environment = view.environment.expect("has conditions");
    assert_eq!(environment.code_sha256, job.code_sha256);

    let (status, report) = server.get(&format!("{location}/report.json"));
    assert_eq!(status, 200);
    let report: Value = serde_json::from_str(&report).expect("is JSON");
    assert_eq!(report["job"]["title"], "Two to one");
    assert_eq!(report["code"], MEASURES);
    let answer = agent()
        .get(format!("{}{location}/report.md", server.url))
        .call();
    let answer = answer.expect("answers");
    let disposition = answer.headers()["content-disposition"]
        .to_str()
        .expect("text");
    assert!(disposition.contains("benchmark.md"), "{disposition}");
    assert_eq!(server.get(&format!("{location}/code")).1, MEASURES);
}

#[test]
fn labels_group_jobs_in_lists_and_over_time() {
    let server = Server::start(&[]);
    let submit = |title: &str, labels: Value| {
        let request = json!({"code": MEASURES, "title": title, "labels": labels});
        let (status, body) = server.post(&request);
        assert_eq!(status, 202, "{body}");
        let job: JobSummary = serde_json::from_str(&body).expect("a summary");
        server.wait_for(&job.id, |job| job.state.is_final());
        job
    };
    let first = submit("<b>First</b>", json!(["main", "llama/7b", "main"]));
    assert_eq!(first.labels, ["main", "llama/7b"]);
    assert_eq!(server.summary(&first.id).labels, first.labels);
    let second = submit("Second", json!(["main"]));
    let list = |query: &str| -> Vec<String> {
        let request = agent().get(format!("{}/api/v1/jobs{query}", server.url));
        let mut answer = server.authorized(request).call().expect("answers");
        let body = answer.body_mut().read_to_string().expect("text");
        let listed: Vec<Value> = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body}"));
        let ids = listed
            .iter()
            .map(|job| job["id"].as_str().expect("an id").to_owned());
        ids.collect()
    };
    assert_eq!(
        list("?label=main&outcome=FASTER&device=cpu&mine=true"),
        [&second.id, &first.id].map(String::clone)
    );
    assert_eq!(list("?label=llama/7b&state=done"), [first.id.as_str()]);
    assert_eq!(list("?search=second%20twice"), Vec::<String>::new());
    assert_eq!(list("?search=SECOND"), [second.id.as_str()]);

    let page = |path: &str| {
        let request = agent().get(format!("{}{path}", server.url));
        let mut answer = server.authorized(request).call().expect("answers");
        answer.body_mut().read_to_string().expect("text")
    };
    let filtered = page("/jobs/?search=second&state=&device=cpu&outcome=&label=");
    assert!(filtered.contains(&second.id) && !filtered.contains(&first.id));
    assert!(page("/jobs/?search=nothing").contains("No job matches."));
    let history = page("/jobs/history/?label=main");
    assert!(history.contains(&second.id) && history.contains(&first.id));
    assert!(history.contains("class=\"plot\""), "{history}");
    assert!(!history.contains("<b>First"), "titles are escaped");
    // Others do not see titles and ids.
    let (_, hidden) = server.get("/jobs/history/?label=main");
    assert!(hidden.contains("needs the token") && !hidden.contains(&first.id));

    for (labels, code) in [
        (json!(["a b"]), "invalid-label"),
        (json!([""]), "invalid-label"),
        (
            json!(["1", "2", "3", "4", "5", "6", "7", "8", "9"]),
            "too-many-labels",
        ),
        (json!(vec!["1"; 9]), "too-many-labels"),
    ] {
        let (status, body) = server.post(&json!({"code": MEASURES, "labels": labels}));
        assert_eq!((status, problem(&body).code.as_str()), (400, code));
    }
    for query in ["?state=soon", "?outcome=faster", "?mine=yes"] {
        let request = agent().get(format!("{}/api/v1/jobs{query}", server.url));
        assert_eq!(
            server.authorized(request).call().expect("answers").status(),
            400,
            "{query}"
        );
    }

    let badge = format!("{}/api/v1/jobs/{}/badge.svg", server.url, first.id);
    let mut badge = agent().get(badge).call().expect("answers");
    assert_eq!(badge.headers()["content-type"], "image/svg+xml");
    assert_eq!(badge.headers()["cache-control"], "public, max-age=3600");
    let text = badge.body_mut().read_to_string().expect("text");
    assert!(text.contains("2.00× faster"), "{text}");
}

/// A page that runs a job again needs them.
#[test]
fn job_states_the_device_and_the_requirements_of_its_request() {
    let server = Server::start(&[]);
    let request = json!({"code": MEASURES, "device": "cpu", "require": {"vendor": "cpu"}});
    let (status, body) = server.post(&request);
    assert_eq!(status, 202, "{body}");
    let submitted: JobSummary = serde_json::from_str(&body).expect("a summary");
    for job in [&submitted, &server.summary(&submitted.id)] {
        assert_eq!(job.requested_device.as_deref(), Some("cpu"));
        let require = serde_json::to_value(&job.require).expect("JSON");
        assert_eq!(require, json!({"vendor": "cpu"}));
    }
    let other = server.submit(MEASURES);
    assert_eq!((other.requested_device, other.require), (None, None));
}

#[test]
fn queued_event_is_sent_immediately_while_the_device_is_busy() {
    let server = Server::start(&[]);
    let running = server.submit(WAITS).id;
    server.wait_for(&running, |job| job.state == JobState::Running);
    // Long before the device is free: the running job takes ten minutes.
    let job = server.submit(WAITS).id;
    let first = server.stream(&job, 0, 1);
    assert!(matches!(
        first[0].body,
        EventBody::Queued { position: 0, .. }
    ));
    // The other job prints this once it has the device.
    let mut running = server.follow(&running, 0);
    assert!(running.any(|event| matches!(event.body, EventBody::Log { .. })));
    let (_, metrics) = server.get("/metrics");
    assert!(
        metrics.contains("hipward_jobs{state=\"queued\"} 1"),
        "{metrics}"
    );
    assert!(
        metrics.contains("hipward_device_busy{device=\"cpu\"} 1"),
        "{metrics}"
    );
}

#[test]
fn stream_resumes_by_header_or_query_and_ends_with_204() {
    let server = Server::start(&[]);
    let all = server.run(MEASURES);
    let id = server.submit(MEASURES).id;
    server.wait_for(&id, |job| job.state.is_final());
    let last = server.summary(&id).last_seq;
    let resume = |header: Option<&str>, query: &str| {
        let mut request = agent().get(format!("{}/api/v1/jobs/{id}/events{query}", server.url));
        if let Some(header) = header {
            request = request.header("last-event-id", header);
        }
        request.call().expect("answers")
    };
    let first_seq = |answer: ureq::http::Response<ureq::Body>| {
        read_events(answer.into_body())
            .next()
            .expect("an event")
            .seq
    };
    assert_eq!(first_seq(resume(Some("3"), "")), 4);
    assert_eq!(first_seq(resume(None, "?after=3")), 4);
    assert_eq!(first_seq(resume(Some("3"), "?after=5")), 6);
    assert_eq!(first_seq(resume(Some("5"), "?after=3")), 6);
    assert_eq!(resume(Some(&last.to_string()), "").status(), 204);
    assert_eq!(resume(Some("18446744073709551615"), "").status(), 204);
    // A position after the current end of a growing log is the end. Later events are sent.
    let waiting = server.submit(WAITS).id;
    let rest = server.follow(&waiting, 1_000_000);
    server.cancel(&waiting);
    let end = rest.last().expect("an event");
    assert!(matches!(end.body, EventBody::Cancelled), "{end:?}");
    let answer = resume(None, "");
    assert_eq!(answer.headers()["x-accel-buffering"], "no");
    let text = answer.into_body().read_to_string().expect("text");
    assert!(text.starts_with("retry: 2000"), "{text}");
    assert!(text.contains(&format!("id: {last}\n")));

    for (header, query) in [(Some("soon"), ""), (Some(""), ""), (None, "?after=")] {
        let mut wrong = resume(header, query);
        assert_eq!(wrong.status(), 400, "{header:?} {query:?}");
        let wrong = wrong.body_mut().read_to_string().expect("text");
        assert_eq!(problem(&wrong).code, "invalid-position");
    }
    assert_eq!(state(&all), JobState::Done);
}

#[test]
fn disconnected_client_can_resume_without_losing_events() {
    let server = Server::start(&[]);
    let id = server
        .submit("import time\nfor i in range(12):\n  print(i, flush=True)\n  time.sleep(0.12)")
        .id;
    let mut seen: Vec<Event> = server.stream(&id, 0, 4);
    thread::sleep(Duration::from_millis(300));
    let last = seen.last().expect("seen").seq;
    seen.extend(server.events(&id, last));
    assert_eq!(seen, server.events(&id, 0));
    assert_eq!(state(&seen), JobState::Done);
}

#[test]
fn job_in_any_state_is_cancelled_and_cancelling_is_idempotent() {
    let server = Server::start(&[]);
    let running = server.submit(WAITS).id;
    let queued = server.submit(WAITS).id;
    server.wait_for(&running, |job| job.state == JobState::Running);
    for id in [&queued, &running, &running] {
        let (status, body) = server.cancel(id);
        assert_eq!(status, 200, "{body}");
        let job: JobSummary = serde_json::from_str(&body).expect("a summary");
        assert_eq!(job.state, JobState::Cancelled);
    }
    for id in [&queued, &running] {
        let events = server.events(id, 0);
        let ends = events.iter().filter(|event| event.body.is_final()).count();
        assert_eq!((state(&events), ends), (JobState::Cancelled, 1));
    }
    // The device is free again, and no process of the cancelled job is left.
    assert_eq!(state(&server.run("print('next')")), JobState::Done);
    support::assert_nothing_left(server.data.path(), 1);
    assert_eq!(server.cancel("unknown").0, 404);
}

#[test]
fn failed_job_has_message_and_help() {
    let server = Server::start(&[]);
    let id = server.submit("raise ValueError('no width')").id;
    let failed = server.wait_for(&id, |job| job.state.is_final());
    let failure = failed.failure.expect("it failed");
    assert_eq!(failure.code, FailureCode::ForwardError);
    assert!(failure.message.contains("no width"), "{failure:?}");
    assert!(!failure.help.is_empty());
    let EventBody::Failed(stored) = support::final_body(&server.events(&id, 0)) else {
        panic!("its log ends otherwise");
    };
    assert_eq!(failure, stored);

    let id = server.submit("print('well')").id;
    let done = server.wait_for(&id, |job| job.state.is_final());
    assert_eq!(done.failure, None);
}

#[test]
fn each_kernel_is_compiled_in_a_new_worker() {
    let server = Server::start(&[]);
    let compile = |request: &Value| {
        let mut answer = server
            .authorized(agent().post(format!("{}/api/v1/compile", server.url)))
            .send_json(request)
            .expect("answers");
        let body = answer.body_mut().read_to_string().expect("a body");
        (answer.status().as_u16(), body)
    };
    let mut workers = Vec::new();
    for _ in 0..3 {
        let (status, body) = compile(&json!({"language": "triton", "source": "two\nlines"}));
        assert_eq!(status, 200, "{body}");
        let answer: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(
            (&answer["type"], &answer["echo"]),
            (&json!("compiled"), &json!("two\nlines"))
        );
        workers.push(answer["worker"].as_str().expect("a folder").to_owned());
    }
    workers.dedup();
    assert_eq!(workers.len(), 3, "one worker answered twice");
    // Whole numbers, as JSON schema defines them.
    let numbers = json!({"language": "triton", "source": "x", "num_warps": 4.0, "num_stages": 2});
    assert_eq!(compile(&numbers).0, 200);

    for (source, code) in [
        ("refused", "compile-source-error"),
        ("silent", "compile-failed"),
        ("garbled", "compile-garbled"),
    ] {
        let (_, body) = compile(&json!({"language": "hip", "source": source}));
        let problem = problem(&body);
        assert_eq!(problem.code, code, "{body}");
        assert!(!problem.help.is_empty());
    }
    let (_, body) = compile(&json!({"language": "hip", "source": "refused"}));
    assert_eq!(problem(&body).detail, "Line 7: there is no such function");
}

#[test]
fn each_kernel_is_executed_in_a_new_worker_with_this_program() {
    let server = Server::start(&[]);
    let emulate = |source: &str| {
        let request = json!({"language": "cuda", "source": source, "launch": "grid = 1"});
        let mut answer = server
            .authorized(agent().post(format!("{}/api/v1/emulate", server.url)))
            .send_json(&request)
            .expect("answers");
        let body = answer.body_mut().read_to_string().expect("a body");
        (answer.status().as_u16(), body)
    };
    let mut workers = Vec::new();
    for _ in 0..2 {
        let (status, body) = emulate("two\nlines");
        assert_eq!(status, 200, "{body}");
        let report: Value = serde_json::from_str(&body).expect("JSON");
        let received: Value =
            serde_json::from_str(report["kernel"].as_str().expect("text")).expect("JSON");
        let expected = json!({
            "language": "cuda", "source": "two\nlines", "arch": null, "launch": "grid = 1",
            "reference": null, "unsafe_fixes": false,
        });
        assert_eq!(received, expected);
        let program = report["output"].as_str().expect("a path");
        assert!(program.ends_with("/hipward"), "{program}");
        workers.push(report["file"].as_str().expect("a folder").to_owned());
    }
    assert_ne!(workers[0], workers[1], "one worker answered twice");
    for (source, code) in [
        ("not-executed", "emulate-not-executed"),
        ("timeout", "emulate-timeout"),
        ("failed", "emulate-failed"),
        ("silent", "emulate-failed"),
        ("garbled", "emulate-failed"),
    ] {
        let (status, body) = emulate(source);
        let problem = problem(&body);
        assert_eq!((status, problem.code.as_str()), (422, code), "{body}");
        assert!(!problem.help.is_empty());
    }
}

#[test]
fn invalid_or_aborted_compile_requests_use_no_worker() {
    let server = Server::start(&[]);
    let compile = |request: &Value, patience: Duration| {
        let agent = ureq::Agent::from(
            ureq::Agent::config_builder()
                .http_status_as_error(false)
                .timeout_global(Some(patience))
                .build(),
        );
        let url = format!("{}/api/v1/compile", server.url);
        let request = server.authorized(agent.post(url)).send_json(request);
        let mut answer = request.ok()?;
        let body: Value = answer.body_mut().read_json().ok()?;
        Some((answer.status().as_u16(), body))
    };
    let long = Duration::from_secs(120);
    let worker = |source: &str| {
        let (_, body) =
            compile(&json!({"language": "hip", "source": source}), long).expect("answers");
        body["worker"].as_str().expect("a folder").to_owned()
    };
    server.idle_worker();
    let [device] = &server.worker_folders()[..] else {
        panic!("only the device has a worker");
    };
    let device = device.clone();
    let first = worker("x");
    for bad in [
        json!({}),
        json!([]),
        json!(["hip", "x", null, null, null, null, null, null, null]),
        json!({"language": "cuda", "source": "x"}),
        json!({"language": "hip", "source": " "}),
        json!({"language": "hip", "source": "x".repeat(300_000)}),
        json!({"language": "hip", "source": "x", "archs": "gfx942"}),
        json!({"language": "hip", "source": "x", "archs": []}),
        json!({"language": "triton", "source": "x", "num_warps": 17}),
        json!({"language": "hip", "source": "x", "shell": "ls"}),
    ] {
        let (status, body) = compile(&bad, long).expect("answers");
        assert_eq!(
            (status, &body["code"]),
            (422, &json!("compile-bad-request")),
            "{body}"
        );
    }
    assert_ne!(worker("x"), first, "each worker answers one request");
    // One request is compiled, and seven wait until their clients disconnect.
    let busy = thread::scope(|scope| {
        let compile = &compile;
        let request = |source| json!({"language": "hip", "source": source});
        let slow = scope.spawn(move || compile(&request("slow"), long));
        thread::sleep(Duration::from_millis(500));
        for _ in 0..7 {
            scope.spawn(move || compile(&request("x"), Duration::from_secs(2)));
        }
        thread::sleep(Duration::from_millis(500));
        let (status, body) = compile(&request("x"), long).expect("answers");
        assert_eq!(
            (status, &body["code"]),
            (429, &json!("compile-busy")),
            "{body}"
        );
        let (_, body) = slow.join().expect("no panic").expect("answers");
        body["worker"].as_str().expect("a folder").to_owned()
    });
    // The next worker serves the next waiting client.
    let next = loop {
        let workers = server.worker_folders();
        let is_next = |folder: &String| ![&device, &busy].contains(&folder);
        if let Some(next) = workers.into_iter().find(is_next) {
            break next;
        }
        thread::sleep(Duration::from_millis(20));
    };
    thread::sleep(Duration::from_secs(3));
    assert_eq!(worker("x"), next);
}

#[test]
fn invalid_submissions_are_problems_with_code_and_help() {
    let server = Server::start(&[]);
    let long_code = "x".repeat(256 * 1024 + 1);
    let long_title = "é".repeat(121);
    for (request, status, code) in [
        (json!({}), 400, "invalid-json"),
        (json!([]), 400, "invalid-json"),
        (json!({"code": 1}), 400, "invalid-json"),
        (json!({"code": "x", "kode": "y"}), 400, "invalid-json"),
        (json!({"code": " \n"}), 400, "code-empty"),
        (json!({"code": long_code}), 413, "code-too-large"),
        (json!({"code": "x".repeat(5 << 20)}), 413, "code-too-large"),
        (
            json!({"code": "x", "title": long_title}),
            400,
            "title-too-long",
        ),
        (
            json!({"code": "x", "variants": ["eagre"]}),
            409,
            "unknown-variant",
        ),
        (
            json!({"code": "x", "device": "cuda:7"}),
            409,
            "unknown-device",
        ),
    ] {
        let (answered, body) = server.post(&request);
        let problem = problem(&body);
        assert_eq!((answered, problem.code.as_str()), (status, code), "{body}");
        assert_eq!(problem.status, status);
        assert!(
            !problem.detail.is_empty() && !problem.help.is_empty(),
            "{body}"
        );
    }
    for (body, media_type, code) in [
        ("{", "application/json", "invalid-json"),
        ("\u{0}", "application/json", "invalid-json"),
        ("{\"code\":\"x\"}", "text/plain", "unsupported-media-type"),
        (
            "code=x",
            "application/x-www-form-urlencoded",
            "unsupported-media-type",
        ),
    ] {
        let mut answer = server
            .authorized(agent().post(format!("{}/api/v1/jobs", server.url)))
            .content_type(media_type)
            .send(body)
            .expect("answers");
        let text = answer.body_mut().read_to_string().expect("text");
        assert_eq!(problem(&text).code, code);
    }
}

#[test]
fn unknown_routes_are_problems_in_the_api_and_pages_elsewhere() {
    let server = Server::start(&[]);
    for (path, code) in [
        ("/api/v2/jobs", "not-found"),
        ("/api/v1/jobs/aaaaaaaaaaaaaaaaaaaaaaaaaa", "job-not-found"),
        (
            "/api/v1/jobs/aaaaaaaaaaaaaaaaaaaaaaaaaa/events",
            "job-not-found",
        ),
        (
            "/api/v1/jobs/aaaaaaaaaaaaaaaaaaaaaaaaaa/report.md",
            "job-not-found",
        ),
        ("/api/v1/jobs/%00%ff/code", "job-not-found"),
    ] {
        let (status, body) = server.get(path);
        assert_eq!(
            (status, problem(&body).code.as_str()),
            (404, code),
            "{path}"
        );
    }
    let (status, body) = server.get("/api/v1/exercises/a/b/c");
    assert_eq!(
        (status, problem(&body).code.as_str()),
        (405, "method-not-allowed")
    );

    let answer = agent().get(format!("{}/no/such/page", server.url)).call();
    let answer = answer.expect("answers");
    assert_eq!(answer.status(), 404);
    assert!(
        answer.headers()["content-type"]
            .to_str()
            .expect("text")
            .starts_with("text/html")
    );
    assert!(answer.headers().contains_key("content-security-policy"));
    // A part of the course is no page of its own.
    let answer = agent().get(format!("{}/learn/port/", server.url)).call();
    let answer = answer.expect("answers");
    assert_eq!(answer.status(), 307);
    assert_eq!(answer.headers()["location"], "/learn/#port");
    assert_eq!(server.get("/learn/nothing/").0, 404);
    assert_eq!(server.get("/").0, 200);
    assert_eq!(server.get("/jobs/aaaaaaaaaaaaaaaaaaaaaaaaaa/").0, 404);
    assert_eq!(server.get("/assets/nothing.js").0, 404);
    assert_eq!(server.get("/assets/..%2f..%2fCargo.toml").0, 404);
}

#[test]
fn job_page_survives_a_restart() {
    let mut server = Server::start(&[]);
    let id = server.submit(MEASURES).id;
    server.wait_for(&id, |job| job.state.is_final());
    let before = server.get(&format!("/jobs/{id}/"));
    assert_eq!(before.0, 200);
    server.stop();
    server.restart(&[]);
    assert_eq!(server.get(&format!("/jobs/{id}/")), before);
    assert_eq!(state(&server.events(&id, 0)), JobState::Done);
}

/// A raw request, for headers that no client sends.
fn raw(server: &Server, head: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port().parse().expect("a port")))
        .expect("connects");
    write!(stream, "{head}\r\nConnection: close\r\n\r\n").expect("writes");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("reads");
    answer
}

#[test]
fn foreign_hosts_and_origins_are_rejected() {
    let server = Server::start(&[]);
    let port = server.port();
    let get = |headers: &str| {
        raw(
            &server,
            &format!("GET /api/v1/capabilities HTTP/1.1\r\n{headers}"),
        )
    };
    assert!(get(&format!("Host: localhost:{port}")).starts_with("HTTP/1.1 200"));
    let own = format!("Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}");
    assert!(get(&own).starts_with("HTTP/1.1 200"));
    for (headers, code) in [
        (format!("Host: evil.example:{port}"), "foreign-host"),
        ("Host: 127.0.0.1:1".to_owned(), "foreign-host"),
        (
            format!("Host: 127.0.0.1:{port}\r\nOrigin: http://evil.example"),
            "foreign-origin",
        ),
        (
            format!("Host: 127.0.0.1:{port}\r\nOrigin: null"),
            "foreign-origin",
        ),
    ] {
        let answer = get(&headers);
        assert!(answer.starts_with("HTTP/1.1 403"), "{headers}: {answer}");
        assert!(answer.contains(code), "{answer}");
        assert!(answer.contains("application/problem+json"), "{answer}");
    }
    let page = get("Host: <evil>\r\nAccept: text/html,*/*;q=0.8");
    assert!(page.starts_with("HTTP/1.1 403"), "{page}");
    assert!(page.contains("<h1>Foreign host</h1>"), "{page}");
    assert!(!page.contains("<evil>"), "{page}");
}

#[test]
fn everything_except_benchmarks_works_without_torch() {
    // Without the scripted package, the interpreter has no PyTorch.
    let server = Server::start(&["--python", "/nonexistent/python"]);
    let (_, body) = server.get("/api/v1/capabilities");
    let capabilities: Value = serde_json::from_str(&body).expect("is JSON");
    assert_eq!(capabilities["ready"], false);
    assert!(
        !capabilities["missing"][0]["fix"]
            .as_str()
            .expect("text")
            .is_empty()
    );
    let (status, body) = server.post(&json!({"code": "x"}));
    assert_eq!((status, problem(&body).code.as_str()), (503, "no-torch"));
    assert_eq!(server.get("/readyz").0, 503);
    assert_eq!(server.get("/healthz").0, 200);
    assert_eq!(server.get("/benchmark/").0, 200);

    let doctor = hipward()
        .args(["doctor", "--python", "/nonexistent/python"])
        .output()
        .expect("runs");
    assert!(!doctor.status.success());
    let text = String::from_utf8_lossy(&doctor.stdout);
    let lacks = text
        .lines()
        .filter(|line| line.starts_with("lacks") || line.starts_with("NEEDS"));
    let fixes = text.lines().filter(|line| line.contains("fix: "));
    assert!(text.contains("NEEDS"), "{text}");
    assert_eq!(lacks.count(), fixes.count(), "{text}");
}

#[test]
fn team_rules_are_served_to_the_playground() {
    let plain = Server::start(&[]);
    assert_eq!(
        plain.get("/api/v1/rules"),
        (200, "{\"rules\":[]}".to_owned())
    );
    assert!(!plain.get("/playground/").1.contains("team-rules"));

    let folder = tempfile::tempdir().expect("a folder");
    let rule = "[[rule]]\nid = \"ACME001\"\nname = \"acme\"\nmessage = \"Not here.\"\nmatch.call = \"acme.f\"\n";
    std::fs::write(folder.path().join("acme.toml"), rule).expect("a file");
    let path = folder.path().to_str().expect("text");
    let server = Server::start(&["--rules", path]);
    let (status, body) = server.get("/api/v1/rules");
    let value: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(status, 200);
    assert_eq!(
        value["rules"],
        json!([{"id": "ACME001", "name": "acme", "message": "Not here.", "match": {"call": "acme.f"}}])
    );
    let (_, page) = server.get("/playground/");
    assert!(page.contains("\"team-rules\":\"/api/v1/rules\""));
    let (_, page) = server.get("/rules/");
    let (_, team) = page.split_once("Your team’s own").expect("a table");
    let (team, _) = team.split_once("</table>").expect("its end");
    assert!(
        team.contains("ACME001") && team.contains("Not here."),
        "{team}"
    );
}

#[test]
fn invalid_team_rules_stop_the_server_with_file_line_and_key() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("acme.toml"), "[[rule]]\nid = \"x\"\n").expect("a file");
    let output = hipward()
        .args(["serve", "--bind", "127.0.0.1:0", "--rules"])
        .arg(folder.path())
        .output()
        .expect("hipward runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(errors.contains("acme.toml:2: `id`:"), "{errors}");
}

#[test]
fn report_schema_is_served() {
    let server = Server::start(&[]);
    let (status, schema) = server.get("/schema/report.json");
    let printed = hipward().args(["check", "--schema"]).output();
    assert_eq!(status, 200);
    assert_eq!(schema.as_bytes(), printed.expect("hipward runs").stdout);
}
