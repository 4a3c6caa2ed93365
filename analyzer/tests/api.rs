//! The JSON requests of the browser, valid and invalid, without a browser.

use hipward_analyzer::{
    Applicability, Options, RULES, Report, Session, analyze, api, apply_fixes, diff, fix_all,
};
use hipward_analyzer_core::json::encode;
use serde_json::{Value, json};

fn parse(answer: Result<String, String>) -> Value {
    serde_json::from_str(&answer.expect("a good request")).expect("JSON")
}

#[test]
fn analysis_returns_the_same_report_as_the_native_api() {
    let source = "import pynvml\npynvml.nvmlInit()\n";
    let answer = api::analyze(
        &json!({ "source": source }).to_string(),
        &mut Session::default(),
    )
    .expect("a good request");
    let report: Report = serde_json::from_str(&answer).expect("a report");
    assert_eq!(report, analyze(source, &Options::default()));
    assert_eq!(report.findings.len(), 1);
}

#[test]
fn target_and_selection_are_applied() {
    let source = "from datetime import UTC\nimport pynvml\n";
    let request = json!({
        "source": source,
        "target": { "arch": "gfx950", "python": "3.10" },
        "select": ["HW4"],
    });
    let report = parse(api::analyze(&request.to_string(), &mut Session::default()));
    assert_eq!(report["target"]["arch"], "gfx950");
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(1));
    assert_eq!(report["findings"][0]["id"], "HW401");
}

#[test]
fn fixes_are_applied_individually_and_all_at_once() {
    let source = "import os\nos.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"max_split_size_mb:64\"\n";
    let fixed = source.replace("_CUDA_", "_");
    let one = parse(api::apply(
        &json!({ "source": source, "indices": [0] }).to_string(),
    ));
    assert_eq!(one, json!({ "source": fixed, "applied": [0] }));
    let all = parse(api::fix_all(&json!({ "source": source }).to_string()));
    assert_eq!(all, json!({ "source": fixed, "applied": 1 }));
    let diff = parse(api::diff(
        &json!({ "before": source, "after": fixed }).to_string(),
    ));
    assert_eq!(diff[1]["kind"], "removed");
    assert_eq!(diff[2]["kind"], "added");
}

#[test]
fn fix_all_skips_unsafe_fixes_by_default() {
    let request = |up_to: &str| json!({ "source": "import pynvml\n", "up_to": up_to }).to_string();
    assert_eq!(parse(api::fix_all(&request("safe")))["applied"], 0);
    assert_eq!(
        parse(api::fix_all(&request("unsafe")))["source"],
        "import amdsmi\n"
    );
}

#[test]
fn scaffold_completes_the_contract() {
    let answer = parse(api::scaffold(
        &json!({ "source": "import torch\n" }).to_string(),
    ));
    let source = answer["source"].as_str().expect("a source");
    assert!(analyze(source, &Options::default()).contract.is_complete());
}

#[test]
fn rule_list_omits_pages() {
    let rules = parse(api::rules());
    assert_eq!(rules[0]["id"], "HW101");
    assert_eq!(rules[0]["family"], "vendor-libraries");
}

#[test]
fn invalid_request_returns_an_error_message() {
    for (request, part) in [
        ("", "not JSON"),
        ("[]", "a JSON object"),
        ("{}", "needs the field `source`"),
        ("{\"source\": 1}", "needs the field `source`, a string"),
        ("{\"source\": \"\", \"colour\": 1}", "no field `colour`"),
        ("{\"source\": \"\", \"target\": 1}", "`target` is an object"),
        (
            "{\"source\": \"\", \"target\": {\"arch\": \"sm_90\"}}",
            "no architecture `sm_90`",
        ),
        (
            "{\"source\": \"\", \"target\": {\"torch\": \"new\"}}",
            "is not a version",
        ),
        (
            "{\"source\": \"\", \"select\": \"pynvml\"}",
            "`select` is a list",
        ),
        (
            "{\"source\": \"\", \"select\": [\"pynvm\"]}",
            "no rule `pynvm`",
        ),
    ] {
        let sentence = api::analyze(request, &mut Session::default()).expect_err("a bad request");
        assert!(sentence.contains(part), "{request}: {sentence}");
    }
    let sentence =
        api::fix_all("{\"source\": \"\", \"up_to\": \"display-only\"}").expect_err("a bad request");
    assert!(sentence.contains("`up_to`"), "{sentence}");
    let sentence = api::apply("{\"source\": \"\", \"indices\": [-1]}").expect_err("a bad request");
    assert!(sentence.contains("numbers from 0"), "{sentence}");
}

/// The browser modules write JSON without serde.
#[test]
fn json_equals_the_output_of_serde() {
    let source = "import pynvml  # \"é\" \\ 🚀 \u{1}\u{1f}\u{7f}\t\nimport os\nos.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'x'\nclass Model(\n";
    let report = analyze(source, &Options::default());
    assert!(!report.findings.is_empty() && !report.notes.is_empty());
    let applied = apply_fixes(source, &report, &[0, 1]);
    let fixed = fix_all(source, &Options::default(), Applicability::Safe);
    let lines = diff(source, &applied.source);
    for (ours, serdes) in [
        (encode(&report), serde_json::to_string(&report)),
        (encode(&applied), serde_json::to_string(&applied)),
        (encode(&fixed), serde_json::to_string(&fixed)),
        (encode(&lines), serde_json::to_string(&lines)),
        (encode(&RULES), serde_json::to_string(&RULES)),
        (encode(&source), serde_json::to_string(&source)),
    ] {
        assert_eq!(ours, serdes.expect("a JSON form"));
    }
}
