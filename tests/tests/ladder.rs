//! The variants of the ladder through the real server and the real harness, on a CPU: they are announced,
//! measured on top of each other, and those that cannot run have a reason.

use hipward_protocol::{
    Capabilities, EventBody, JobState, JobView, Measurement, Step, VariantId, VariantStatus,
    VariantView,
};
use hipward_tests::{Server, root};
use serde_json::json;
use std::fs;

#[test]
fn variants_are_streamed_in_announced_order_with_their_steps() {
    let data = tempfile::tempdir().expect("a temporary folder");
    let server = Server::start(data.path(), &[]);
    let (_, body) = server.get("/api/v1/capabilities");
    let capabilities: Capabilities = serde_json::from_str(&body).expect("capabilities");
    let known: Vec<&str> = capabilities
        .variants
        .iter()
        .map(|variant| variant.id.name())
        .collect();
    assert_eq!((known[0], known[known.len() - 1]), ("eager", "model-new"));
    let (_, form) = server.get("/benchmark/");
    for variant in &capabilities.variants[1..] {
        assert!(
            form.contains(&format!("value=\"{}\"", variant.id.name())),
            "{form}"
        );
    }

    let example = root().join("kernels/examples/attention_block.py");
    let code = fs::read_to_string(example).expect("the example is there");
    // Without torch.compile, which takes long and has its own test.
    let variants = [
        "gemm-routing",
        "fused-projections",
        "fused-ops",
        "attention-routing",
    ];
    let events = server.run(&json!({ "code": code, "variants": variants }));

    let Some(EventBody::Measured(Measurement::Variants { variants })) = events
        .iter()
        .map(|event| &event.body)
        .find(|body| matches!(body, EventBody::Measured(Measurement::Variants { .. })))
    else {
        panic!("the variants were not announced: {events:?}")
    };
    let announced: Vec<&str> = variants.iter().map(|variant| variant.id.name()).collect();
    let requested = [
        "eager",
        "eager-control",
        "attention-routing",
        "fused-ops",
        "fused-projections",
        "gemm-routing",
    ];
    assert_eq!(announced, requested);

    let steps: Vec<(Step, Option<&str>)> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::Measured(Measurement::Step { step, variant }) => {
                Some((*step, variant.as_ref().map(VariantId::name)))
            }
            _ => None,
        })
        .collect();
    let first = [
        (Step::Load, None),
        (Step::Reference, None),
        (Step::Roofline, None),
        // The first time only called Model once.
        (Step::Reference, None),
        (Step::Compile, Some("eager")),
        (Step::Precision, Some("eager")),
        (Step::WarmUp, Some("eager")),
        (Step::Compile, Some("eager-control")),
    ];
    assert_eq!(steps[..first.len()], first);
    assert_eq!(steps.last(), Some(&(Step::Timing, None)));

    let view = JobView::from_events(&events);
    assert_eq!(view.state, JobState::Done, "{:?}", view.failure);
    assert_eq!(view.pending().count(), 0);
    assert!(view.started_at.is_some() && view.step.is_none());
    let environment = view.environment.as_ref().expect("has conditions");
    assert!(environment.time_limit_s.is_some_and(|limit| limit > 0.0));
    let rows: Vec<&str> = view.variants.iter().map(|row| row.variant.name()).collect();
    assert_eq!(rows, requested);
    let row = |name: &str| -> &VariantView {
        let row = view.variants.iter().find(|row| row.variant.name() == name);
        row.expect("each variant has a row")
    };
    for measured in [
        "eager",
        "eager-control",
        "attention-routing",
        "fused-projections",
    ] {
        assert!(row(measured).stats.is_some(), "{:?}", row(measured).status);
    }
    assert_eq!(row("attention-routing").based_on, []);
    let top = row("fused-projections");
    assert_eq!(top.based_on, [VariantId::named("attention-routing")]);
    assert_eq!(
        top.includes[0],
        "Attention routing: softmax(q·kᵀ)·v of attention"
    );
    assert!(
        top.includes[1].contains("attention.q_proj + attention.k_proj + attention.v_proj"),
        "{:?}",
        top.includes
    );
    for (name, reason) in [
        ("fused-ops", "Triton"),
        ("gemm-routing", "aiter is not installed"),
    ] {
        assert!(
            matches!(&row(name).status, VariantStatus::Unavailable(why) if why.contains(reason)),
            "{:?}",
            row(name).status
        );
    }
    let verdict = view.verdict.as_ref().expect("eager was measured");
    let compared: Vec<&str> = verdict
        .comparisons
        .iter()
        .map(|c| c.variant.name())
        .collect();
    assert_eq!(compared, ["attention-routing", "fused-projections"]);
}
