//! A job whose variants take longer than its time limit ends in time, with a verdict on those that were measured.

use hipward_protocol::{JobState, JobView, VariantStatus};
use hipward_tests::Server;
use serde_json::json;

#[test]
fn job_over_its_time_limit_ends_with_its_measurements() {
    let data = tempfile::tempdir().expect("a folder");
    let flags = ["--wall-limit", "75", "--time-cap", "600"];
    let server = Server::start(data.path(), &flags);
    // Each call of ModelNew has another duration, so its interval stays wide.
    let code = "
import random
import time
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(64, 64), nn.Linear(64, 64)
    def forward(self, x):
        return self.down(torch.relu(self.up(x)))

class ModelNew(Model):
    def forward(self, x):
        time.sleep(random.uniform(0.01, 0.2))
        return super().forward(x)

def get_inputs():
    return [torch.randn(8, 64)]

def get_init_inputs():
    return []
";
    let view = JobView::from_events(&server.run(&json!({ "code": code })));
    assert_eq!(view.state, JobState::Done, "{:?}", view.failure);
    let verdict = view.verdict.as_ref().expect("eager was measured");
    let measured = view.variants.iter().filter(|row| row.stats.is_some());
    assert!(measured.count() >= 2, "{verdict:?}");
    let left_out = view.variants.iter().filter(|row| {
        matches!(&row.status, VariantStatus::Unavailable(why) if why.starts_with("Left out: the job's time limit"))
    });
    let stopped = view.variants.iter().filter(|row| {
        let stop = row.stats.as_ref().map(|stats| stats.stop);
        stop == Some(hipward_protocol::StopReason::TimeLimit)
    });
    assert!(
        left_out.count() + stopped.count() > 0,
        "{:?}",
        view.variants
    );
}
