//! `hipward run` with the real clang, on kernels in HIP, CUDA and assembly text; and `hipward try` on a kernel.

use hipward_tests::{hipward, python, root};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Exit code, standard output and standard error of `hipward run` with these files in its folder.
fn run(files: &[(&str, &str)], arguments: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    let output = Command::new(hipward())
        .current_dir(folder.path())
        .arg("run")
        .args(arguments)
        .arg("--python")
        .arg(python())
        .output()
        .expect("hipward starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// A file of the how-to page.
fn lesson(name: &str) -> String {
    let folder = Path::new("content/07-how-to/17-emulator");
    fs::read_to_string(root().join(folder).join(name)).expect("a file of the page")
}

const ADD: &str = "#include <hip/hip_runtime.h>\n\
    __global__ void add(const float* x, float* y, int n) {\n\
    \x20 int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
    \x20 if (i < n) y[i] = x[i] + 1.0f;\n\
    }\n";

const ADD_SPEC: &str = "kernel = \"add\"\ngrid = 2\nblock = 128\n\
    [[argument]]\nname = \"x\"\ndtype = \"float32\"\nshape = [200]\n\
    [[argument]]\nname = \"y\"\ndtype = \"float32\"\nshape = [200]\ndata = \"uninitialized\"\n\
    [[argument]]\nname = \"n\"\ndtype = \"int32\"\nvalue = 200\n";

#[test]
fn kernel_that_assumes_32_lanes_fails_with_the_lanes_that_differ() {
    let (source, spec, reference) = (
        lesson("rank.cu"),
        lesson("rank.toml"),
        lesson("rank_reference.py"),
    );
    let files = [
        ("rank.cu", source.as_str()),
        ("rank.toml", spec.as_str()),
        ("reference.py", reference.as_str()),
    ];
    let arguments = [
        "rank.cu",
        "--args",
        "rank.toml",
        "--arch",
        "gfx942",
        "--check",
        "reference.py",
    ];
    // The mask of `__ballot_sync` needs an unsafe fix.
    let (code, _, errors) = run(&files, &arguments);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("--unsafe-fixes"), "{errors}");
    assert!(errors.contains("rank.cu:"), "{errors}");

    let arguments = [&arguments[..], &["--unsafe-fixes", "--format", "json"]].concat();
    let (code, output, errors) = run(&files, &arguments);
    assert_eq!(code, Some(1), "{errors}");
    let report: Value = serde_json::from_str(&output).expect("JSON");
    let difference = &report["differences"][0];
    assert_eq!(difference["name"], "rank");
    for row in difference["lanes"].as_array().expect("a list") {
        let lanes = row["lanes"].as_str().expect("a mask");
        assert!(lanes.ends_with("00000000"), "only lanes 32 to 63: {lanes}");
    }

    let arguments: Vec<&str> = arguments
        .iter()
        .copied()
        .filter(|argument| !["--format", "json"].contains(argument))
        .collect();
    let (code, output, _) = run(&files, &arguments);
    assert_eq!(code, Some(1));
    assert!(
        output.contains("only lanes 32 to 63 differ"),
        "a hint: {output}"
    );
    assert!(output.contains("rank.cu:"), "a source line: {output}");

    // With 64 bits, and the half of them that belongs to the 32 lanes, the kernel is right.
    let fixed = source
        .replace("unsigned mask", "unsigned long long mask")
        .replace("(mask &", "((mask >> (threadIdx.x & 32)) &");
    assert_ne!(fixed, source);
    let files = [("rank.cu", fixed.as_str()), files[1], files[2]];
    let (code, output, errors) = run(&files, &arguments);
    assert_eq!(code, Some(0), "{output}{errors}");
    assert!(
        output.contains("rank agrees with the reference"),
        "{output}"
    );
}

#[test]
fn access_past_the_end_is_reported_with_its_source_line() {
    let spec = ADD_SPEC.replace("value = 200", "value = 203");
    let files = [("add.hip", ADD), ("spec.toml", spec.as_str())];
    let (code, output, errors) = run(&files, &["add.hip", "--args", "spec.toml"]);
    assert_eq!(code, Some(1), "{errors}");
    for expected in [
        "error[out-of-bounds]",
        "past the end of y, which has 800 bytes",
        "--> add.hip:4",
        "lanes 8 to 10",
    ] {
        assert!(output.contains(expected), "{expected}: {output}");
    }
}

#[test]
fn assembly_text_runs_without_python() {
    let files = [("add.hip", ADD), ("spec.toml", ADD_SPEC)];
    let folder = tempfile::tempdir().expect("a folder");
    let listing = folder.path().join("add.s");
    let listing = listing.to_str().expect("a path");
    let (code, output, errors) = run(
        &files,
        &["add.hip", "--args", "spec.toml", "--listing", listing],
    );
    assert_eq!(code, Some(0), "{output}{errors}");

    let spec = folder.path().join("spec.toml");
    fs::write(&spec, ADD_SPEC).expect("a file");
    let command = |flags: &[&str]| {
        Command::new(hipward())
            .args(["run", listing, "--python", "/nonexistent/python", "--args"])
            .arg(&spec)
            .args(flags)
            .output()
            .expect("hipward starts")
    };
    assert_eq!(command(&[]).status.code(), Some(0));
    let other = command(&["--arch", "gfx950"]);
    assert_eq!(other.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(errors.contains("is for gfx942, not for gfx950"), "{errors}");

    // Half a listing, and a listing without metadata.
    let text = fs::read_to_string(listing).expect("a listing");
    for (end, expected) in [
        ("\ts_endpgm", "the listing ends here without a kernel"),
        ("\t.end_amdhsa_kernel", ".amdhsa_kernel block has no end"),
        ("\t.amdgpu_metadata", "no entry in .amdgpu_metadata"),
        (
            "amdhsa.target:",
            "`.amdgpu_metadata`: the .amdgpu_metadata block has no end",
        ),
    ] {
        let half = text.split(end).next().expect("a part");
        fs::write(listing, half).expect("a file");
        let output = command(&[]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(expected), "{errors}");
        assert!(
            errors.starts_with("hipward run: line ") && errors.contains("Pass the whole assembly"),
            "{errors}"
        );
    }

    // An unknown instruction and an unknown modifier, each with its line in both texts and with what to do.
    for (from, to, expected) in [
        (
            "v_add_f32_e32",
            "v_unknown_f32",
            "the instruction v_unknown_f32 is not supported on gfx942",
        ),
        (
            "v_add_f32_e32",
            "v_add_f32_e32 v0, v0, v0 unknown:1\n\tv_add_f32_e32",
            "the modifier unknown:1 is not supported here",
        ),
    ] {
        fs::write(listing, text.replace(from, to)).expect("a file");
        let output = command(&[]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        for part in ["line ", "(kernel.hip:4)", expected, "/reference/emulator/"] {
            assert!(errors.contains(part), "{part}: {errors}");
        }
    }
}

/// Process ids are used again: a process that was killed has left its folder, and a later one has its id.
#[test]
fn leftover_folder_of_the_same_process_id_is_no_obstacle() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("add.hip"), ADD).expect("a file");
    fs::write(folder.path().join("spec.toml"), ADD_SPEC).expect("a file");
    let output = Command::new("sh")
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .args(["-c", "mkdir hipward-$$; exec \"$0\" \"$@\""])
        .arg(hipward())
        .args(["run", "add.hip", "--args", "spec.toml", "--python"])
        .arg(python())
        .output()
        .expect("a shell starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
}

#[test]
fn bad_input_is_reported() {
    let reference = |body: &str| format!("def reference(x, y, n):\n    {body}\n");
    let missing = reference("return {'z': x}");
    let raising = reference("return {'y': x + undefined}");
    let shape = reference("return {'y': x[:7]}");
    let endless = ADD.replace("if (i < n) y[i]", "while (i < n) *(volatile float*)&y[i]");
    let budget = format!("budget = 10000\n{ADD_SPEC}");
    let few = ADD_SPEC
        .split("[[argument]]\nname = \"n\"")
        .next()
        .unwrap_or("");
    let grid = ADD_SPEC.replace("grid = 2", "grid = 4294967296");
    let lds = format!("lds = 1073741824\n{ADD_SPEC}");
    let large = ADD_SPEC.replace("block = 128", "block = 2048");
    let name = ADD_SPEC.replace("\"add\"", "\"sub\"");
    let text = ADD_SPEC.replace("value = 200", "value = \"200\"");
    let wide = ADD_SPEC.replace("int32", "int64");
    let number = ADD_SPEC.replacen("shape = [200]", "value = 1", 1);
    let groups = ADD_SPEC.replace("grid = 2", "budget = 100000\ngrid = [65536, 65536]");
    let key = ADD_SPEC.replace("grid", "grids");
    let broken = ADD.replace("x[i]", "x[j]");
    let mut cases = vec![
        (ADD, grid.as_str(), "", 2, "from 1 to 2³²-1"),
        (
            ADD,
            &groups,
            "",
            1,
            "did not end within 100000 instructions",
        ),
        (
            ADD,
            &text,
            "",
            2,
            "spec.toml:13: argument n: \"200\" is not an int32; write",
        ),
        (
            ADD,
            &wide,
            "",
            2,
            "spec.toml:13: argument n: argument 2 takes 4 bytes; the launch has 8: it is a value of int64. Give it",
        ),
        (
            ADD,
            &number,
            "",
            2,
            "spec.toml:4: argument x: argument 0 takes 8 bytes; the launch has 4: it is a value of float32. Give it",
        ),
        (ADD, key.as_str(), "", 2, "unknown field `grids`"),
        (
            ADD,
            few,
            "",
            2,
            "takes 3 arguments; the launch has 2. It takes, in this order: a buffer, a buffer, 4 bytes. Write",
        ),
        (ADD, &lds, "", 2, "bytes of LDS; gfx942 has 65536"),
        (
            ADD,
            &large,
            "",
            2,
            "a workgroup of 2048 work-items is not possible",
        ),
        (
            ADD,
            &name,
            "",
            2,
            "there is no kernel sub; the code has: _Z3add",
        ),
        (
            &broken,
            ADD_SPEC,
            "",
            2,
            "add.hip:4:23: error: use of undeclared identifier 'j'",
        ),
        (
            &endless,
            &budget,
            "",
            1,
            "did not end within 10000 instructions",
        ),
        (
            ADD,
            ADD_SPEC,
            &missing,
            2,
            "returned 'z', which is not a buffer; the buffers are x, y",
        ),
        (
            ADD,
            ADD_SPEC,
            &raising,
            2,
            "name 'undefined' is not defined",
        ),
        (
            ADD,
            ADD_SPEC,
            &shape,
            2,
            "shape (7,); the buffer has (200,)",
        ),
    ];
    cases.push((ADD, ADD_SPEC, "x = 1\n", 2, "no function `reference`"));
    for (source, spec, reference, status, expected) in cases {
        let files = [
            ("add.hip", source),
            ("spec.toml", spec),
            ("reference.py", reference),
        ];
        let mut arguments = vec!["add.hip", "--args", "spec.toml"];
        if !reference.is_empty() {
            arguments.extend(["--check", "reference.py"]);
        }
        let (code, output, errors) = run(&files, &arguments);
        let all = format!("{output}{errors}");
        assert_eq!(code, Some(status), "{expected}: {all}");
        assert!(all.contains(expected), "{expected}: {all}");
    }
}

#[test]
fn references_are_numpy_or_pytorch() {
    let numpy = "import numpy as np\n\
        def reference(x, y, n):\n    assert isinstance(x, np.ndarray)\n    print('noise')\n    return {'y': x + 1}\n";
    let pytorch = "import torch\n\
        def reference(x, y, n):\n    assert isinstance(x, torch.Tensor)\n    return {'y': x + 1}\n";
    let wrong = "def reference(x, y, n):\n    x[199] += 1\n    return {'y': x + 1}\n";
    for (reference, status, expected) in [
        (numpy, 0, "y agrees with the reference"),
        (pytorch, 0, "y agrees with the reference"),
        (wrong, 1, "y[199] is "),
    ] {
        let files = [
            ("add.hip", ADD),
            ("spec.toml", ADD_SPEC),
            ("reference.py", reference),
        ];
        let arguments = ["add.hip", "--args", "spec.toml", "--check", "reference.py"];
        let (code, output, errors) = run(&files, &arguments);
        assert_eq!(code, Some(status), "{output}{errors}");
        assert!(output.contains(expected), "{output}");
    }
}

#[test]
fn try_judges_a_kernel_in_the_emulator_of_the_binary() {
    let folder = root().join("content/03-optimize/18-hip-kernel/matrix");
    let judge = |file: &str| {
        let output = Command::new(hipward())
            .args(["try", "optimize/hip-kernel/matrix"])
            .arg(folder.join(file))
            .arg("--python")
            .arg(python())
            .env_remove("HIPWARD_EMULATE")
            .env("CARGO_TARGET_DIR", "/nowhere")
            .output()
            .expect("hipward starts");
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.code(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    };
    let (code, text) = judge("solution.hip");
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = judge("wrong/first_only.hip");
    assert_eq!(code, Some(1), "{text}");
    for part in [
        "pass  One instruction",
        "FAIL  Eight instructions",
        "c[0, 0] is ",
        "Stored by lane 0 of wavefront 0",
        "Each step takes the next four columns",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}
