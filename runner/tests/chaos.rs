//! Kills at random moments: the server, supervisors, and workers with and without a job. No acknowledged job is lost, no event log
//! has a gap or a second end, and no process or folder is left.
//!
//! `make chaos N=1000` runs it for long; the number of kills is in HIPWARD_CHAOS.

mod support;

use hipward_protocol::{EventBody, JobState};
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    process::Command,
    thread,
    time::{Duration, SystemTime},
};
use support::{MEASURES, Server, assert_nothing_left, whole_log};

/// Kills without HIPWARD_CHAOS.
const FEW: usize = 20;
/// Jobs that wait or run at the same time.
const MOST_ACTIVE: usize = 6;
const FLAGS: &[&str] = &["--wall-limit", "60"];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ (bits >> 31)) % end
    }
}

/// Kills a process that may have ended.
fn kill(process: u32) {
    let status = Command::new("kill")
        .args(["-KILL", &process.to_string()])
        .stderr(std::process::Stdio::null())
        .status();
    status.expect("kill runs");
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

#[test]
fn kills_at_random_moments_lose_nothing() {
    let kills = number("HIPWARD_CHAOS").map_or(FEW, |kills| kills as usize);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seed =
        number("HIPWARD_SEED").unwrap_or_else(|| now.expect("after 1970").as_millis() as u64);
    println!("HIPWARD_SEED={seed} HIPWARD_CHAOS={kills}");
    let mut random = Random(seed);
    let mut server = Server::start(FLAGS);
    let mut jobs: Vec<String> = Vec::new();
    let mut active: Vec<String> = Vec::new();
    let mut killed: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in 0..kills {
        active.retain(|id| !server.summary(id).state.is_final());
        // A job is refused while a new server searches for PyTorch.
        while active.len() < MOST_ACTIVE {
            let wait = 20 * random.below(10);
            let code = format!("import time\ntime.sleep({wait} / 1000)\n{MEASURES}");
            let (status, body) = server.post(&serde_json::json!({ "code": code }));
            assert_eq!(status, 202, "{body}");
            let job: hipward_protocol::JobSummary = serde_json::from_str(&body).expect("a job");
            active.push(job.id.clone());
            jobs.push(job.id);
        }
        thread::sleep(Duration::from_millis(random.below(600)));
        let workers = server.workers();
        let worker = match workers.len() {
            0 => None,
            some => Some(workers[random.below(some as u64) as usize]),
        };
        match (random.below(3), worker) {
            (0, Some(worker)) => {
                kill(worker);
                *killed.entry("worker").or_default() += 1;
            }
            (1, Some(worker)) => {
                if let Some(supervisor) = server.supervisor(worker) {
                    kill(supervisor);
                    *killed.entry("supervisor").or_default() += 1;
                }
            }
            _ => {
                server.kill();
                server.restart(FLAGS);
                *killed.entry("server").or_default() += 1;
            }
        }
    }

    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    for id in &jobs {
        let job = server.wait_for(id, |job| job.state.is_final());
        let events = whole_log(&server, id);
        let verdicts = events
            .iter()
            .filter(|event| matches!(event.body, EventBody::Verdict(_)))
            .count();
        assert_eq!(
            verdicts,
            usize::from(job.state == JobState::Done),
            "{events:?}"
        );
        let end = match events.last().map(|event| &event.body) {
            Some(EventBody::Failed(failure)) => format!("{:?}", failure.code),
            _ => format!("{:?}", job.state),
        };
        *ends.entry(end).or_default() += 1;
    }
    println!("killed: {killed:?}; {} jobs ended: {ends:?}", jobs.len());
    // A job fails only if its own processes were killed, or the server twice while it ran.
    let allowed: BTreeSet<&str> = ["Done", "Crashed", "Internal", "Interrupted"].into();
    assert!(
        ends.keys().all(|end| allowed.contains(end.as_str())),
        "{ends:?}"
    );
    let unique: BTreeSet<&String> = jobs.iter().collect();
    assert_eq!(unique.len(), jobs.len());
    assert_nothing_left(server.data.path(), 1);
    server.stop();
    assert_nothing_left(server.data.path(), 0);
}
