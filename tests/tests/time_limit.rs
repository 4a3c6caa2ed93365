//! A job whose variants take longer than its time limit ends in time, with a verdict on those that were measured.

use hipward_protocol::{JobState, JobView, VariantStatus};
use hipward_tests::Server;
use serde_json::json;

#[test]
fn job_over_its_time_limit_ends_with_its_measurements() {
    let data = tempfile::tempdir().expect("a folder");
    let flags = ["--wall-limit", "75", "--time-cap", "600"];
    let server = Server::start(data.path(), &flags);
    // The preparation of ModelNew, which includes several calls, takes longer than its share of the limit.
    let code = "
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
        time.sleep(30)
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
    let left_out = view.variants.iter().filter(
        |row| matches!(&row.status, VariantStatus::Unavailable(why) if why.starts_with("Left out")),
    );
    let left_out: Vec<&str> = left_out.map(|row| row.variant.name()).collect();
    assert!(left_out.contains(&"model-new"), "{left_out:?}");
}
