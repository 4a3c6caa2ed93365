//! A job whose variants take longer than it may run ends in time, with a verdict on those that were measured.

use hipward_protocol::{JobState, JobView, VariantStatus};
use hipward_tests::{Server, root};
use serde_json::json;
use std::fs;

#[test]
fn a_job_with_too_much_to_compile_and_sample_ends_with_what_it_measured() {
    let data = tempfile::tempdir().expect("a folder");
    let flags = ["--wall-limit", "75", "--time-cap", "600"];
    let server = Server::start(data.path(), &flags);
    // Every call takes another time, so no interval gets narrow.
    let code = fs::read_to_string(root().join("kernels/examples/attention_block.py"))
        .expect("the example is there")
        .replace(
            "import torch\n",
            "import random\nimport time\n\nimport torch\n",
        );
    let code = format!(
        "{code}

class ModelNew(Model):
    def forward(self, *inputs):
        time.sleep(random.uniform(0.01, 0.2))
        return super().forward(*inputs)
"
    );
    let view = JobView::from_events(&server.run(&json!({ "code": code })));
    assert_eq!(view.state, JobState::Done, "{:?}", view.failure);
    let verdict = view.verdict.as_ref().expect("eager was measured");
    let measured = view.variants.iter().filter(|row| row.stats.is_some());
    assert!(measured.count() >= 3, "{verdict:?}");
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
