//! The suite on PostgreSQL, and tests of what only a shared database does. One server for all of them, because its start takes
//! longer than a test.

#[path = "../../../../tests/support/postgres.rs"]
mod server;

use self::server::PostgresServer;
use super::*;
use std::{
    thread::{self, sleep},
    time::Instant,
};

/// A database on a server.
struct Database(String);

impl Server for Database {
    fn open(&self) -> Store {
        Store::connect(&self.0, None).expect("the server runs")
    }
}

#[test]
fn suite_passes_on_postgresql() {
    let server = PostgresServer::start();
    for (number, (name, test)) in SUITE.iter().enumerate() {
        eprintln!("{name}");
        test(&Database(server.database(&format!("test_{number}"))));
    }
}

#[test]
fn shared_database_serves_several_servers() {
    let mut server = PostgresServer::start();
    changes_of_another_server_are_signalled(&server.database("signals"));
    two_servers_lease_no_job_twice(&server.database("claims"));
    approval_at_the_moment_of_a_submission_queues_the_job(&server.database("approval"));
    newer_schema_is_refused(&server.database("newer"));
    let url = server.database("outage");
    lost_database_is_reported_and_used_again(&mut server, &url);
}

#[test]
fn connection_is_encrypted_and_the_certificate_is_checked() {
    let server = PostgresServer::start_with_tls();
    let url = server.encrypted_database("jobs");
    let store = Store::connect(&url, Some(&server.certificate())).expect("the server runs");
    let encrypted: bool = store
        .read(|tx| {
            let query = "select ssl::text from pg_stat_ssl where pid = pg_backend_pid()";
            Ok(tx.one::<String>(query, &[])? == "true")
        })
        .expect("readable");
    assert!(encrypted);
    let [here, there] = [
        &store,
        &Store::connect(&url, Some(&server.certificate())).expect("runs"),
    ];
    let id = here.submit(&job(), 10).expect("queued").id;
    let mut signal = there.watch(&id);
    signal.mark_unchanged();
    here.cancel(&id).expect("works");
    wait_until("the notification arrives over TLS", || {
        signal.has_changed().expect("the store lives")
    });
    // The machine does not trust the authority, and another name is not in the certificate.
    let unknown = Store::connect(&url, None)
        .expect_err("is unknown")
        .to_string();
    assert!(unknown.contains("certificate"), "{unknown}");
    let other = url.replace("localhost", "127.0.0.1");
    let other = Store::connect(&other, Some(&server.certificate())).expect_err("another name");
    assert!(other.to_string().contains("certificate"), "{other}");
    let plain = url.replace("?sslmode=require", "");
    assert!(Store::connect(&plain, Some(&server.certificate())).is_err());
    Store::connect(&plain, None).expect("is not encrypted");
    let missing = Store::connect(&url, Some("/nowhere".as_ref())).expect_err("is missing");
    assert!(missing.to_string().contains("/nowhere"), "{missing}");
}

fn wait_until(what: &str, mut reached: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !reached() {
        assert!(begin.elapsed().as_secs() < 60, "{what}");
        sleep(Duration::from_millis(20));
    }
}

fn changes_of_another_server_are_signalled(url: &str) {
    let [here, there] = [(), ()].map(|()| Store::connect(url, None).expect("the server runs"));
    let id = here.submit(&job(), 10).expect("queued").id;
    let mut signal = there.watch(&id);
    let (mut queue, mut work) = (there.watch_queue(), there.watch_work());
    // The last of these when the other server has begun to listen.
    wait_until("a device may get the job", || {
        work.has_changed().expect("the store lives")
    });
    // The submission may still be signalled.
    sleep(Duration::from_millis(200));
    signal.mark_unchanged();
    queue.mark_unchanged();
    work.mark_unchanged();
    let lease = here.claim(&cpu(), true).expect("works").expect("waits");
    here.append(&lease, &[EventBody::Done]).expect("is current");
    wait_until("the job's log has changed", || {
        signal.has_changed().expect("the store lives")
    });
    wait_until("the queue has changed", || {
        queue.has_changed().expect("the store lives")
    });
    queue.mark_unchanged();
    assert_eq!(view(&there, &id).state, JobState::Done);
    assert!(
        !work.has_changed().expect("the store lives"),
        "hosts that wait are not woken by the end of a job"
    );
    here.submit(&job(), 10).expect("queued");
    wait_until("a device may get a job", || {
        work.has_changed().expect("the store lives")
    });
}

fn two_servers_lease_no_job_twice(url: &str) {
    const JOBS: usize = 60;
    let stores = [(), (), ()].map(|()| Store::connect(url, None).expect("the server runs"));
    for _ in 0..JOBS {
        stores[0].submit(&job(), 1000).expect("queued");
    }
    let workers: Vec<_> = stores
        .iter()
        .cycle()
        .take(6)
        .cloned()
        .map(|store| {
            thread::spawn(move || {
                let mut leased = Vec::new();
                while let Some(lease) = store.claim(&cpu(), true).expect("works") {
                    store
                        .append(&lease, &[remark("runs"), EventBody::Done])
                        .expect("is current");
                    leased.push(lease.job);
                }
                leased
            })
        })
        .collect();
    let mut leased: Vec<String> = workers
        .into_iter()
        .flat_map(|worker| worker.join().expect("does not panic"))
        .collect();
    leased.sort();
    leased.dedup();
    assert_eq!(leased.len(), JOBS);
    for id in &leased {
        assert_eq!(view(&stores[0], id).state, JobState::Done);
    }
}

/// A job is submitted on one server while another one has approved its code and not yet committed.
fn approval_at_the_moment_of_a_submission_queues_the_job(url: &str) {
    let [here, there] = [(), ()].map(|()| Store::connect(url, None).expect("the server runs"));
    let waits = NewJob {
        needs_approval: true,
        ..job()
    };
    let first = here.submit(&waits, 10).expect("stored");
    assert_eq!(first.state, JobState::AwaitingApproval);
    let mut submitting = None;
    here.change(|tx, _| {
        crate::jobs::store::approval::lock_code(tx, &waits.code_sha256)?;
        let (there, job) = (there.clone(), waits.clone());
        submitting = Some(thread::spawn(move || {
            there.submit(&job, 10).expect("stored")
        }));
        // Longer than a submission takes that does not wait.
        sleep(Duration::from_millis(300));
        tx.execute(
            "insert into approvals (code_sha256, approved_at) values (?1, '')",
            values![&waits.code_sha256],
        )
    })
    .expect("works");
    let second = submitting
        .expect("was started")
        .join()
        .expect("does not panic");
    assert_eq!(second.state, JobState::Queued);
    assert_eq!(
        here.approve(&first.id, None).expect("works"),
        ApprovalOutcome::Decided
    );
}

fn newer_schema_is_refused(url: &str) {
    let store = Store::connect(url, None).expect("the server runs");
    execute(&store, "update meta set value = '999' where key = 'schema'");
    let error = Store::connect(url, None).expect_err("is newer");
    assert!(error.to_string().contains("schema 999"), "{error}");
}

fn lost_database_is_reported_and_used_again(server: &mut PostgresServer, url: &str) {
    let store = Store::connect(url, None).expect("the server runs");
    let id = store.submit(&job(), 10).expect("queued").id;
    let lease = store.claim(&cpu(), true).expect("works").expect("waits");
    server.kill();
    let lost = store.append_after(&lease, 0, &[remark("a")]);
    assert!(
        matches!(lost, Err(StoreError::Unreachable { .. })),
        "{lost:?}"
    );
    assert!(Store::connect(url, None).is_err());
    server.restart();
    wait_until("the database answers", || store.check().is_ok());
    store
        .append_after(&lease, 0, &[remark("a"), EventBody::Done])
        .expect("is current");
    assert_eq!(view(&store, &id).state, JobState::Done);
}
