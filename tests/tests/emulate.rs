//! `POST /api/v1/emulate` on a real server: kernels are converted, compiled and executed, and bad input is reported.

use hipward_tests::{Server, agent, hipward, root};
use serde_json::{Value, json};
use std::{fs, process::Command};

/// A file of the how-to page.
fn lesson(name: &str) -> String {
    let folder = root().join("content/07-how-to/17-emulator");
    fs::read_to_string(folder.join(name)).expect("a file of the page")
}

/// Status and body of an answer.
fn emulate(server: &Server, request: &Value) -> (u16, Value) {
    let mut answer = agent()
        .post(format!("{}/api/v1/emulate", server.url))
        .header("authorization", format!("Bearer {}", server.token))
        .send_json(request)
        .expect("the request is answered");
    let body = answer.body_mut().read_to_string().expect("a body");
    let body = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
    (answer.status().as_u16(), body)
}

const ADD: &str = "#include <hip/hip_runtime.h>\n\
    __global__ void add(const float* x, float* y, int n) {\n\
    \x20 int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
    \x20 if (i < n) y[i] = x[i] + 1.0f;\n\
    }\n";

const LAUNCH: &str = "grid = 2\nblock = 128\n\
    [[argument]]\nname = \"x\"\ndtype = \"float32\"\nshape = [200]\n\
    [[argument]]\nname = \"y\"\ndtype = \"float32\"\nshape = [200]\ndata = \"uninitialized\"\n\
    [[argument]]\nname = \"n\"\ndtype = \"int32\"\nvalue = 200\n";

#[test]
fn cuda_kernel_that_assumes_32_lanes_fails_with_its_lanes_and_passes_when_it_is_right() {
    let data = tempfile::tempdir().expect("a folder");
    let server = Server::start(data.path(), &[]);
    let source = lesson("rank.cu");
    let request = |source: &str, unsafe_fixes: bool| {
        json!({
            "language": "cuda",
            "source": source,
            "arch": "gfx942",
            "launch": lesson("rank.toml"),
            "reference": lesson("rank_reference.py") + "\nprint('loaded')\n",
            "unsafe_fixes": unsafe_fixes,
        })
    };
    // The mask of `__ballot_sync` needs an unsafe fix.
    let (status, problem) = emulate(&server, &request(&source, false));
    assert_eq!(status, 422, "{problem}");
    assert_eq!(problem["code"], "emulate-not-executed");
    let detail = problem["detail"].as_str().expect("text");
    assert!(
        detail.contains("kernel.cu:6:") && detail.contains("unsafe"),
        "{detail}"
    );

    let (status, report) = emulate(&server, &request(&source, true));
    assert_eq!(status, 200, "{report}");
    assert_eq!(report["failed"], true);
    assert_eq!(report["arch"], "gfx942");
    assert_eq!(report["output"], "loaded\n");
    assert_eq!(report["findings"], json!([]));
    assert!(
        report["counts"]["active_lanes"].as_u64() > Some(0),
        "{report}"
    );
    let hip = report["hip"].as_str().expect("the converted source");
    assert!(
        hip.contains("mask = __ballot_sync(0xffffffffffffffffull"),
        "{hip}"
    );
    let difference = &report["differences"][0];
    assert_eq!(difference["name"], "rank");
    assert_eq!(difference["first"][0]["source"], "kernel.cu:7");
    for row in difference["lanes"].as_array().expect("a list") {
        let lanes = row["lanes"].as_str().expect("a mask");
        assert!(lanes.ends_with("00000000"), "only lanes 32 to 63: {lanes}");
    }

    let fixed = source
        .replace("unsigned mask", "unsigned long long mask")
        .replace("(mask &", "((mask >> (threadIdx.x & 32)) &");
    let (status, report) = emulate(&server, &request(&fixed, true));
    assert_eq!(
        (status, &report["failed"]),
        (200, &json!(false)),
        "{report}"
    );
    assert_eq!(report["compared"], json!(["rank"]));

    // An access past the end is a finding with line, wavefront and lanes.
    let launch = LAUNCH.replace("value = 200", "value = 203");
    let wrong = json!({"language": "hip", "source": ADD, "arch": "gfx90a", "launch": launch});
    let (status, report) = emulate(&server, &wrong);
    assert_eq!(
        (status, &report["arch"]),
        (200, &json!("gfx90a")),
        "{report}"
    );
    assert_eq!(report["hip"], json!(null));
    let finding = &report["findings"][0];
    assert_eq!(finding["kind"], "out-of-bounds");
    assert_eq!(finding["source"], "kernel.hip:4");
    assert_eq!(
        (&finding["wavefront"], &finding["lanes"]),
        (&json!(1), &json!("0x700"))
    );
}

#[test]
fn bad_input_ends_with_a_sentence() {
    let data = tempfile::tempdir().expect("a folder");
    let server = Server::start(data.path(), &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let listing = folder.path().join("add.s");
    fs::write(folder.path().join("add.hip"), ADD).expect("a file");
    fs::write(folder.path().join("run.toml"), LAUNCH).expect("a file");
    let compiled = Command::new(hipward())
        .current_dir(folder.path())
        .args(["run", "add.hip", "--args", "run.toml", "--listing"])
        .arg(&listing)
        .arg("--python")
        .arg(hipward_tests::python())
        .output()
        .expect("hipward starts");
    assert!(compiled.status.success(), "{compiled:?}");
    let listing = fs::read_to_string(&listing).expect("a listing");
    let before = |end: &str| listing.split(end).next().expect("a part").to_owned();
    let few = LAUNCH
        .split("[[argument]]\nname = \"n\"")
        .next()
        .expect("a part");
    let endless = ADD.replace("if (i < n) y[i]", "while (i < n) *(volatile float*)&y[i]");
    let cases = [
        (
            "assembly",
            listing.replace("gfx942", "gfx1100"),
            LAUNCH.to_owned(),
            "gfx1100 cannot be executed",
        ),
        (
            "assembly",
            listing.replace("gfx942", "gfx950"),
            LAUNCH.to_owned(),
            "is for gfx950, not for gfx942",
        ),
        (
            "assembly",
            before("\t.end_amdhsa_kernel"),
            LAUNCH.to_owned(),
            "of the assembly text, `.amdhsa_kernel _Z3addPKfPfi`: the .amdhsa_kernel block has no end",
        ),
        (
            "assembly",
            before("\t.amdgpu_metadata"),
            LAUNCH.to_owned(),
            "no entry in .amdgpu_metadata",
        ),
        (
            "hip",
            ADD.to_owned(),
            few.to_owned(),
            "takes 3 arguments; the launch has 2",
        ),
        (
            "hip",
            ADD.to_owned(),
            LAUNCH.replace("int32", "int64"),
            "run.toml:12: argument n: argument 2 takes 4 bytes; the launch has 8",
        ),
        (
            "hip",
            ADD.to_owned(),
            LAUNCH.replace("grid = 2", "grid = 4294967296"),
            "from 1 to 2³²-1",
        ),
        (
            "hip",
            ADD.to_owned(),
            format!("lds = 1073741824\n{LAUNCH}"),
            "bytes of LDS; gfx942 has 65536",
        ),
        (
            "hip",
            ADD.to_owned(),
            LAUNCH.replace("shape = [200]", "file = \"/etc/shadow\"\nshape = [200]"),
            "/etc/shadow",
        ),
        (
            "hip",
            ADD.replace("x[i]", "x[j]"),
            LAUNCH.to_owned(),
            "kernel.hip:4:23: error: use of undeclared identifier 'j'",
        ),
    ];
    for (language, source, launch, expected) in cases {
        let request =
            json!({"language": language, "source": source, "arch": "gfx942", "launch": launch});
        let (status, problem) = emulate(&server, &request);
        assert_eq!(
            (status, &problem["code"]),
            (422, &json!("emulate-not-executed")),
            "{problem}"
        );
        let detail = problem["detail"].as_str().expect("text");
        assert!(detail.contains(expected), "{expected}: {detail}");
    }

    // A kernel that does not end stops at its budget, at that of the server if its own is larger, with its line.
    for budget in [10_000_u64, 1 << 40] {
        let launch = format!("budget = {budget}\n{LAUNCH}");
        let (status, report) = emulate(
            &server,
            &json!({"language": "hip", "source": endless, "launch": launch}),
        );
        assert_eq!(status, 200, "{report}");
        let most = budget.min(1 << 24);
        let message = report["error"]["message"].as_str().expect("an error");
        assert!(
            message.contains(&format!("did not end within {most} instructions")),
            "{message}"
        );
        assert_eq!(report["error"]["source"], "kernel.hip:4");
        assert_eq!(report["failed"], true);
    }
}

#[test]
fn request_needs_a_token_and_the_form_of_a_request() {
    let data = tempfile::tempdir().expect("a folder");
    let server = Server::start(data.path(), &[]);
    let request = json!({"language": "hip", "source": ADD, "launch": LAUNCH});
    let answer = agent()
        .post(format!("{}/api/v1/emulate", server.url))
        .send_json(&request);
    assert_eq!(answer.expect("an answer").status().as_u16(), 401);
    for (change, status, code) in [
        (json!({"source": " "}), 422, "emulate-bad-request"),
        (json!({"launch": ""}), 422, "emulate-bad-request"),
        (json!({"arch": "gfx1100"}), 422, "emulate-bad-request"),
        (json!({"language": "triton"}), 422, "emulate-bad-request"),
        (json!({"shell": "ls"}), 422, "emulate-bad-request"),
        (
            json!({"reference": "x".repeat(300_000)}),
            413,
            "code-too-large",
        ),
    ] {
        let mut request = request.clone();
        for (key, value) in change.as_object().expect("an object") {
            request[key] = value.clone();
        }
        let (got, problem) = emulate(&server, &request);
        assert_eq!((got, &problem["code"]), (status, &json!(code)), "{problem}");
        assert!(
            !problem["help"].as_str().unwrap_or_default().is_empty(),
            "{problem}"
        );
    }
}
