//! How jobs end: a variant that fails late, a time limit, a stopped process, a store that
//! cannot be written.

mod support;

use hipward_protocol::{
    EventBody, FailureCode, JobState, JobView, Outcome, StopReason, VariantId, VariantStatus,
};
use rusqlite::Connection;
use serde_json::json;
use std::{
    thread,
    time::{Duration, Instant},
};
use support::{Server, WAITS, agent, final_body, printed, problem, signal, state};

fn view(server: &Server, code: &str) -> JobView {
    JobView::from_events(&server.run(code))
}

fn row<'a>(view: &'a JobView, name: &str) -> &'a hipward_protocol::VariantView {
    let row = view.variants.iter().find(|row| row.variant.name() == name);
    row.expect("it has a row")
}

/// Lines of samples, without the end of the sampling.
const HELPERS: &str = "
def warm(variant):
    say('precision', variant=variant, passed=True, outputs=[], seeds=5, reference='float64')
    say('compile', variant=variant, seconds=0.1)
def times(variant, ms, rounds=6, each=8):
    for round_ in range(rounds):
        say('samples', variant=variant, round=round_, ms=[ms * (1 + 0.001 * ((round_ * 7 + i * 3) % 5 - 2)) for i in range(each)])
";

#[test]
fn variant_that_fails_while_timed_has_no_results() {
    let server = Server::start(&[]);
    for late in [
        "",
        "say('sampled', variant='model-new', stop='converged')\n",
    ] {
        let view = view(
            &server,
            &format!(
                "{HELPERS}
environment()
for variant, ms in [('eager', 2.0), ('eager-control', 2.0), ('compile', 1.0)]:
    sample(variant, ms)
warm('model-new')
times('model-new', 0.01)
{late}say('precision', variant='model-new', passed=False, outputs=[], seeds=0, reference='float64',
    reason='ModelNew returned output 0 of other inputs, in a timed call.')
"
            ),
        );
        assert_eq!(view.state, JobState::Done, "{:?}", view.failure);
        let rejected = row(&view, "model-new");
        assert!(matches!(rejected.status, VariantStatus::Rejected(_)));
        assert_eq!((&rejected.stats, rejected.samples.len()), (&None, 0));
        let verdict = view.verdict.expect("eager was measured");
        assert_eq!(verdict.best, Some(VariantId::named("compile")));
        assert_eq!(verdict.comparisons.len(), 1, "{verdict:?}");
        assert!(
            !verdict.summary.contains("model-new"),
            "{}",
            verdict.summary
        );
    }
}

#[test]
fn no_verdict_without_eager() {
    let server = Server::start(&[]);
    let view = view(
        &server,
        "environment()
for variant in ['eager', 'eager-control', 'compile']:
    sample(variant, 1.0)
say('precision', variant='eager', passed=False, outputs=[], seeds=0, reference='float64', reason='It changed.')
",
    );
    assert_eq!((view.state, view.verdict), (JobState::Done, None));
}

#[test]
fn six_samples_are_ambiguous() {
    let server = Server::start(&[]);
    let view = view(
        &server,
        &format!(
            "{HELPERS}
environment()
for variant, ms, each in [('eager', 4.5, 1), ('eager-control', 4.5, 1), ('model-new', 0.1, 5)]:
    warm(variant)
    times(variant, ms, each=each)
    say('sampled', variant=variant, stop='time-cap')
"
        ),
    );
    let verdict = view.verdict.expect("eager was measured");
    assert_eq!(verdict.best, None);
    assert_eq!(verdict.comparisons[0].outcome, Outcome::Ambiguous);
    let summary = verdict.summary;
    assert!(
        summary.starts_with("No verdict; ambiguous: Variant model-new (too few samples"),
        "{summary}"
    );
}

#[test]
fn job_stopped_at_its_time_limit_keeps_its_measurements() {
    let server = Server::start(&["--wall-limit", "3"]);
    let events = server.run(&format!(
        "{HELPERS}
import time
environment()
for variant in ['eager', 'eager-control', 'compile']:
    warm(variant)
time.sleep(0.2)
times('eager', 2.0)
times('eager-control', 2.0)
say('sampled', variant='eager-control', stop='converged')
times('compile', 1.0)
time.sleep(600)
"
    ));
    let EventBody::Failed(failure) = final_body(&events) else {
        panic!("{events:?}")
    };
    assert_eq!(failure.code, FailureCode::Timeout);
    assert!(
        failure.message.contains("limit of 3 seconds"),
        "{failure:?}"
    );
    assert!(!failure.help.contains("loop"), "{failure:?}");
    let view = JobView::from_events(&events);
    let stop = |name| row(&view, name).stats.as_ref().map(|stats| stats.stop);
    assert_eq!(stop("eager"), Some(StopReason::TimeLimit));
    assert_eq!(stop("eager-control"), Some(StopReason::Converged));
    let verdict = view.verdict.expect("eager was measured");
    assert_eq!(verdict.comparisons.len(), 1);
    // Not timed at all, so the message must point to the endless loop.
    let (code, message) = server.failure("environment()\nimport time\ntime.sleep(600)");
    assert_eq!(code, FailureCode::Timeout);
    assert!(message.contains("longer than 3 seconds"), "{message}");
}

#[test]
fn time_limit_is_passed_to_the_harness() {
    let server = Server::start(&["--wall-limit", "77"]);
    assert_eq!(
        printed(&server.run("print(job['time_limit_s'])")).trim(),
        "77.0"
    );
}

#[test]
fn invalid_lines_fail_the_job_with_a_reason() {
    let server = Server::start(&[]);
    let sampled = "environment()\nwarm('eager')\n";
    for (code, kind, expected) in [
        (
            "environment()\nenvironment()",
            FailureCode::Internal,
            "after the variants",
        ),
        (
            "environment()\nsample('record', 1.0)",
            FailureCode::Internal,
            "not announced",
        ),
        (
            "sample('eager', 1.0)",
            FailureCode::Internal,
            "not announced",
        ),
        (
            "environment()\nsay('samples', variant='eager', round=0, ms=[1.0])",
            FailureCode::Internal,
            "before its precision",
        ),
        (
            "environment()\nwarm('eager')\ntimes('eager', 0.01, rounds=200)",
            FailureCode::Internal,
            "too many",
        ),
        (
            "environment()\nsample('eager', 0.1)\nsample('eager', 0.1)",
            FailureCode::Internal,
            "after its sampling",
        ),
        (
            "environment()\nwarm('eager')\ntimes('eager', 1000.0)",
            FailureCode::Tampered,
            "seconds had passed",
        ),
        (
            "environment()\nwhile True: say('warning', text='x' * 100_000)",
            FailureCode::Internal,
            "",
        ),
    ] {
        assert!(sampled.contains("warm"));
        let (code, message) = server.failure(&format!("{HELPERS}\n{code}"));
        assert_eq!(code, kind, "{message}");
        assert!(
            message.contains(expected),
            "{message:?} does not contain {expected:?}"
        );
    }
    assert_eq!(state(&server.run(support::MEASURES)), JobState::Done);
}

#[test]
fn device_name_is_that_of_the_lease() {
    let server = Server::start(&[]);
    let view = view(
        &server,
        "say('environment', device_name='AMD Instinct MI355X', arch='gfx950', torch='2', python='3', threads=1,
    clock='c', clock_overhead_ms=0.1, cache='warm', stop_rule='d')",
    );
    let environment = view.environment.expect("is in the log");
    assert_eq!(environment.device_name, "A processor");
    assert_ne!(environment.arch, "gfx950");
    let load = environment.load.expect("the runner adds it");
    assert!(load.cpus > 0 && load.load_average.is_some(), "{load:?}");
}

#[test]
fn stopped_worker_loses_no_job() {
    let server = Server::start(&[]);
    let worker = server.idle_worker();
    // The worker is ready by then.
    thread::sleep(Duration::from_secs(2));
    signal(worker, "-STOP");
    let events = server.run("print('done')");
    assert_eq!(state(&events), JobState::Done, "{:?}", events.last());
    let reasons = events.iter().filter_map(|event| match &event.body {
        EventBody::Queued { reason, .. } => reason.clone(),
        _ => None,
    });
    assert_eq!(reasons.collect::<Vec<_>>(), ["its worker did not answer"]);
}

#[test]
fn stopped_supervisor_does_not_block_the_queue() {
    let server = Server::start(&["--wall-limit", "3"]);
    let supervisor = server.supervisor(server.idle_worker());
    let supervisor = supervisor.expect("runs below the server");
    signal(supervisor, "-STOP");
    let started = Instant::now();
    let stuck = server.submit(WAITS).id;
    let next = server.submit("print('next')").id;
    let stuck = server.wait_for(&stuck, |job| job.state.is_final());
    assert_eq!(stuck.failure.expect("it failed").code, FailureCode::Timeout);
    server.wait_for(&next, |job| job.state == JobState::Done);
    assert!(started.elapsed() < Duration::from_secs(60));
    support::assert_nothing_left(server.data.path(), 1);
}

#[test]
fn server_stops_and_dead_workers_do_not_count_as_crashes() {
    let mut server = Server::start(&["--wall-limit", "60"]);
    let id = server.submit(WAITS).id;
    for attempt in 1..=3 {
        server.wait_for(&id, |job| {
            job.state == JobState::Running && job.attempt == attempt
        });
        // Its code runs.
        let seen = server.follow(&id, 0).filter(|event| {
            event.attempt == attempt && matches!(event.body, EventBody::Log { .. })
        });
        assert_eq!(seen.take(1).count(), 1);
        server.stop();
        server.restart(&["--wall-limit", "60"]);
    }
    let job = server.wait_for(&id, |job| job.state == JobState::Running);
    assert_eq!(job.attempt, 4);
}

#[test]
fn final_event_is_stored_later_and_server_is_not_ready_meanwhile() {
    let server = Server::start(&[]);
    let id = server.submit("import time\ntime.sleep(4)").id;
    server.wait_for(&id, |job| job.state == JobState::Running);
    assert_eq!(server.get("/readyz").0, 200);
    // Its first line is stored by then.
    thread::sleep(Duration::from_millis(1500));
    let database = Connection::open(server.data.path().join("jobs.sqlite")).expect("opens");
    database
        .execute_batch("begin immediate")
        .expect("no other writer");
    let locked = Instant::now();
    let (status, body) = server.get("/readyz");
    assert_eq!(
        (status, problem(&body).code.as_str()),
        (503, "store-unavailable")
    );
    // Longer than the job, and than the timeout of the database.
    thread::sleep(Duration::from_secs(11).saturating_sub(locked.elapsed()));
    assert_eq!(server.summary(&id).state, JobState::Running);
    database.execute_batch("rollback").expect("is ours");
    server.wait_for(&id, |job| job.state == JobState::Done);
    assert_eq!(server.get("/readyz").0, 200);
    assert_eq!(state(&server.run("print('next')")), JobState::Done);
}

#[test]
fn full_queue_responds_with_retry_after_and_positions_are_current() {
    let server = Server::start(&["--queue-limit", "3"]);
    let first = server.submit(WAITS).id;
    server.wait_for(&first, |job| job.state == JobState::Running);
    let waiting: Vec<String> = (0..3).map(|_| server.submit("x = 1").id).collect();
    let answer = server
        .authorized(agent().post(format!("{}/api/v1/jobs", server.url)))
        .send_json(json!({"code": "x = 1"}))
        .expect("answers");
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["retry-after"]),
        (429, &"60".parse().expect("a header"))
    );
    assert_eq!(server.summary(&waiting[2]).position, Some(2));

    let mut positions = Vec::new();
    let mut view = JobView::default();
    for event in server.follow(&waiting[2], 0).take(2) {
        if positions.is_empty() {
            assert_eq!(server.cancel(&waiting[0]).0, 200);
        }
        view.apply(&event);
        positions.push((event.seq, view.position));
    }
    assert_eq!(
        positions,
        [(1, 2), (1, 1)],
        "the second is the first with the position of now"
    );
    assert_eq!(server.summary(&waiting[2]).position, Some(1));
    let (_, page) = server.get(&format!("/jobs/{}/", waiting[2]));
    assert!(page.contains("one job is ahead"), "{page}");
    server.cancel(&first);
    server.wait_for(&waiting[2], |job| job.state == JobState::Done);
    let log = server.events(&waiting[2], 0);
    let queued = log
        .iter()
        .filter(|event| matches!(event.body, EventBody::Queued { .. }));
    assert_eq!(queued.count(), 1, "positions are not stored");
    assert_eq!(server.summary(&waiting[2]).position, None);
}
