//! An exercise is solved if each of its conditions is met; each unmet condition has a message.

use hipward_analyzer::{Exercise, Judgement, Target};

fn judge(exercise: &str, source: &str) -> Judgement {
    let exercise = Exercise::parse(exercise).unwrap_or_else(|error| panic!("{error}"));
    exercise.judge(source, &Target::default())
}

/// The messages of the conditions that are not met.
fn missing(exercise: &str, source: &str) -> Vec<String> {
    let conditions = judge(exercise, source).conditions.into_iter();
    conditions
        .filter(|condition| !condition.met)
        .map(|condition| condition.message)
        .collect()
}

const DEVICE: &str = r#"{
  "no_findings": ["version-cuda-gate"],
  "present": [{
    "title": "It asks for a GPU.", "message": "Nothing asks for a GPU.",
    "match": {"call": "torch.cuda.is_available"}
  }],
  "absent": [{
    "title": "It checks first.", "message": "`cuda` is returned without a check.",
    "match": {"pattern": "torch.device(\"cuda\")"},
    "unless_inside": {"pattern": "if torch.cuda.is_available():\n    $...BODY"}
  }]
}"#;

#[test]
fn conditions_are_evaluated_independently() {
    let ternary =
        "import torch\nd = torch.device(\"cuda\" if torch.cuda.is_available() else \"cpu\")\n";
    assert_eq!(missing(DEVICE, ternary), [""; 0]);
    assert!(judge(DEVICE, ternary).is_solved());
    let unchecked = "import torch\nok = torch.cuda.is_available()\nd = torch.device(\"cuda\")\n";
    assert_eq!(
        missing(DEVICE, unchecked),
        ["`cuda` is returned without a check."]
    );
    assert_eq!(missing(DEVICE, ""), ["Nothing asks for a GPU."]);
}

#[test]
fn code_within_unless_inside_is_allowed() {
    let inside = "import torch\nif torch.cuda.is_available():\n    d = torch.device(\"cuda\")\n";
    assert_eq!(missing(DEVICE, inside), [""; 0]);
    let beside = format!("{inside}e = torch.device(\"cuda\")\n");
    assert_eq!(
        missing(DEVICE, &beside),
        ["`cuda` is returned without a check."]
    );
}

#[test]
fn finding_shows_its_line_and_cannot_be_suppressed() {
    let gate =
        "import torch\nassert torch.version.cuda is not None\nok = torch.cuda.is_available()\n";
    let left = missing(DEVICE, gate);
    assert!(
        left.len() == 1 && left[0].starts_with("Line 2: "),
        "{left:?}"
    );
    let silenced = gate.replace(
        "not None\n",
        "not None  # hipward: ignore[version-cuda-gate]\n",
    );
    let left = missing(DEVICE, &silenced);
    assert!(left.len() == 1 && left[0].contains("ignore"), "{left:?}");
}

#[test]
fn text_that_is_not_python_meets_no_condition() {
    let half = "import torch\nok = torch.cuda.is_available()\ndef f(:\n";
    let left = missing(DEVICE, half);
    assert!(
        left.len() == 1 && left[0].contains("could not be parsed"),
        "{left:?}"
    );
}

#[test]
fn conditions_ignore_branches_for_other_gpus() {
    let exercise = r#"{
      "present": [{"title": "T", "message": "missing", "match": {"pattern": "\"nvidia-smi\""}}],
      "absent": [{"title": "T", "message": "left", "match": {"call": "torch.cuda.power_draw"}}]
    }"#;
    let guarded = "import torch\nif torch.version.hip is None:\n    tool, p = \"nvidia-smi\", torch.cuda.power_draw()\n";
    assert_eq!(missing(exercise, guarded), [""; 0]);
    assert_eq!(
        missing(exercise, "import torch\ntorch.cuda.power_draw()\n"),
        ["missing", "left"]
    );
}

#[test]
fn invalid_exercise_reports_the_key() {
    let condition = |match_: &str| {
        format!(r#"{{"present": [{{"title": "T", "message": "M", "match": {match_}}}]}}"#)
    };
    let cases = [
        (
            "[]".to_owned(),
            "``: expected a table with no_findings, absent, present",
        ),
        ("{}".to_owned(), "`present`: add at least one condition"),
        (
            r#"{"no_findings": ["no-rule"]}"#.to_owned(),
            "`no_findings`: there is no rule `no-rule`",
        ),
        (
            condition(r#"{"pattern": "f("}"#),
            "`present 1: match.pattern`: not valid Python",
        ),
        (
            condition(r#"{"package": "torch"}"#),
            "`present 1: match`: an exercise only supports Python",
        ),
        (
            condition(r#"{"patern": "f()"}"#),
            "`present 1: match.patern`: unknown key",
        ),
        (
            r#"{"present": [{"title": "T"}]}"#.to_owned(),
            "`present 1: message`: this key is required",
        ),
    ];
    for (exercise, says) in cases {
        let error = Exercise::parse(&exercise).expect_err(&exercise).to_string();
        assert!(error.starts_with(says), "{error}");
    }
}

#[test]
fn browser_api_returns_the_same_result_as_json() {
    let source = "import torch\n";
    let request = serde_json::json!({ "source": source, "exercise": DEVICE }).to_string();
    let answer = hipward_analyzer::api::judge(&request).expect("an answer");
    let read: Judgement = serde_json::from_str(&answer).expect("a judgement");
    assert_eq!(read, judge(DEVICE, source));
    let request = serde_json::json!({ "source": source, "exercise": "{}" }).to_string();
    let error = hipward_analyzer::api::judge(&request).expect_err("an exercise without conditions");
    assert!(error.contains("at least one condition"), "{error}");
}
