//! The module's answers for the launches that the site records.

use hipward_emulator_wasm::answer;
use serde_json::{Value, json};

fn launch(name: &str) -> Value {
    let recorded = include_str!("../../../results/launches.json");
    let recorded: Value = serde_json::from_str(recorded).expect("JSON");
    let launches = recorded["launches"].as_array().expect("a list");
    let found = launches.iter().find(|launch| launch["name"] == name);
    let mut launch = found.expect("a recorded launch").clone();
    launch["budget"] = json!(1_000_000);
    launch
}

fn call(method: &str, request: &Value) -> Result<Value, String> {
    let answer = answer(method, &request.to_string())?;
    Ok(serde_json::from_str(&answer).expect("JSON"))
}

fn run(launch: &Value) -> Value {
    call("start", launch).expect("a launch");
    call("go", &json!({ "to": "end" })).expect("an answer")
}

/// The first number of a line of the listing with a text.
fn line(launch: &Value, text: &str) -> usize {
    let listing = launch["listing"].as_str().expect("a text");
    1 + listing
        .lines()
        .position(|line| line.contains(text))
        .expect("an instruction")
}

#[test]
fn every_recorded_launch_runs_without_an_error() {
    for (name, findings) in [
        ("branch", 0),
        ("transpose", 0),
        ("past-the-end", 1),
        ("softmax", 0),
        ("rmsnorm", 0),
    ] {
        let end = run(&launch(name));
        assert_eq!(end["error"], Value::Null, "{name}");
        assert_eq!(end["ended"], true, "{name}");
        assert_eq!(
            end["findings"].as_array().map(Vec::len),
            Some(findings),
            "{name}"
        );
    }
}

#[test]
fn finding_has_wavefront_lanes_and_source_line() {
    let end = run(&launch("past-the-end"));
    assert_eq!(
        end["findings"][0]["place"],
        "workgroup 0, 0, 0, wavefront 0, lane 63, kernel.hip:6"
    );
}

#[test]
fn masked_lanes_of_a_divergent_loop_are_shown() {
    let launch = launch("branch");
    let end = run(&launch);
    let y = end["buffers"][1]["values"].as_array().expect("values");
    assert_eq!(
        y[..9],
        ["0", "0", "1", "0", "2", "3", "3", "0", "3"].map(|text| json!(text))
    );
    call("go", &json!({ "to": { "position": 0 } })).expect("an answer");
    let request = json!({ "to": { "line": line(&launch, "v_mul_f32") }, "registers_as": "f32" });
    let view = call("go", &request).expect("an answer");
    assert_eq!(view["masks"][0], "7777777777777774");
    assert_eq!(view["vectors"][0][0], "v1");
    assert_eq!(view["vectors"][0][1][10], "5", "lane 10 has 10 / 2");
}

#[test]
fn segments_banks_and_conflicts_of_an_access_are_shown() {
    let launch = launch("transpose");
    assert_eq!(run(&launch)["counts"]["conflicts"], 992);
    call("go", &json!({ "to": { "position": 0 } })).expect("an answer");
    let to = |text| json!({ "to": { "line": line(&launch, text) } });
    let view = call("go", &to("global_load")).expect("an answer");
    let access = &view["access"];
    assert_eq!(
        (&access["segment_count"], &access["bytes"]),
        (&json!(4), &json!(256))
    );
    assert_eq!(access["segments"][1][0], "x[16]");
    assert_eq!(access["segments"][1][1][2], json!([18]));
    let view = call("go", &to("ds_read")).expect("an answer");
    let access = &view["access"];
    assert_eq!(access["conflicts"], 62);
    let lanes: Vec<usize> = access["banks"]
        .as_array()
        .expect("banks")
        .iter()
        .map(|lanes| lanes.as_array().map_or(0, Vec::len))
        .collect();
    assert_eq!(lanes[..3], [32, 32, 0]);
}

#[test]
fn request_that_cannot_run_has_a_sentence() {
    let with = |change: fn(&mut Value)| {
        let mut launch = launch("past-the-end");
        change(&mut launch);
        call("start", &launch).expect_err("no launch")
    };
    assert!(
        with(|launch| launch["listing"] = json!("half a"))
            .starts_with("The emulator cannot run this: ")
    );
    let with_listing = |change: &dyn Fn(&str) -> String| {
        let mut launch = launch("past-the-end");
        launch["listing"] = json!(change(launch["listing"].as_str().expect("a text")));
        call("start", &launch).expect_err("no launch")
    };
    let before = |listing: &str, end: &str| listing.split(end).next().unwrap_or("").to_owned();
    for (error, expected) in [
        (
            with_listing(&|listing| listing.replace("v_add_f32_e32", "v_unknown_e32")),
            "the instruction v_unknown_e32 is not supported on gfx942",
        ),
        (
            with_listing(&|listing| listing.replace("-gfx942", "-gfx1100")),
            "line 1: gfx1100 cannot be executed; gfx90a, gfx942 and gfx950 can",
        ),
        (
            with_listing(&|listing| before(listing, "\t.end_amdhsa_kernel")),
            ".amdhsa_kernel block has no end",
        ),
        (
            with_listing(&|listing| before(listing, "\t.amdgpu_metadata")),
            "no entry in .amdgpu_metadata",
        ),
        (
            with_listing(&|listing| before(listing, "amdhsa.target:")),
            "the .amdgpu_metadata block has no end",
        ),
    ] {
        assert!(error.contains(expected), "{expected}: {error}");
        assert!(
            error.starts_with("The emulator cannot run this: line "),
            "{error}"
        );
    }
    assert!(
        with(|launch| launch["arguments"][2]["type"] = json!("i64"))
            .contains("argument 2 takes 4 bytes; the launch has 8")
    );
    assert_eq!(
        with(|launch| launch["grid"][0] = json!(1u64 << 32)),
        "A grid of 4294967296, 1, 1 is not possible: each size is at most 4294967295."
    );
    assert!(
        with(|launch| launch["workgroup"][0] = json!(4096))
            .contains("4096 work-items is not possible")
    );
    assert!(with(|launch| launch["grid"][0] = json!(0)).contains("the grid is empty"));
    assert!(with(|launch| launch["lds"] = json!(1 << 30)).contains("bytes of LDS"));
    assert!(with(|launch| launch["arguments"] = json!([])).contains("takes 3 arguments"));
    assert!(
        with(|launch| launch["arguments"][0]["count"] = json!(1u64 << 40))
            .contains("a buffer can have up to 64 MiB here")
    );
    assert_eq!(
        with(|launch| launch["arguments"][2]["value"] = json!("many")),
        "Argument n: “many” is not an integer."
    );
    // A launch that exceeds its budget has an error at its end.
    let mut launch = launch("softmax");
    launch["budget"] = json!(100);
    let end = run(&launch);
    assert!(
        end["error"]
            .as_str()
            .is_some_and(|error| error.starts_with("line ")
                && error.contains("did not end within 100 instructions")
                && error.contains(".py:"))
    );
    // A grid of 2^32 work-items ends within its budget too.
    launch["grid"] = json!([65536, 65536, 1]);
    assert_eq!(run(&launch)["position"], 100);
}
