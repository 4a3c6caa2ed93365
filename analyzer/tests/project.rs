//! A project's summary: its counts, the excluded files, and the sum of the effort.

use hipward_analyzer::output::{summary_markdown, summary_text};
use hipward_analyzer::{Language, Options, Session, Summary, Survey, analyze, api};
use serde_json::{Value, json};

const FILES: &[(&str, &str)] = &[
    (
        "train.py",
        "import pynvml\nimport os\nos.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"a:1\"\n",
    ),
    (
        "requirements.txt",
        "--index-url https://download.pytorch.org/whl/cu124\nnvidia-nccl-cu12==2.20\nnvidia-cublas-cu12==12.4\ntorch\n",
    ),
    (
        "docker/Dockerfile",
        "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n",
    ),
    ("docker/Dockerfile.rocm", "FROM rocm/pytorch:latest\n"),
    ("scripts/clean.sh", "rm -rf build\n"),
];

fn summary() -> Summary {
    let mut survey = Survey::default();
    for (path, source) in FILES {
        let options = {
            let mut options = Options::default();
            options.language = Language::of_path(path);
            options
        };
        survey.add(path, &analyze(source, &options));
    }
    survey.finish()
}

#[test]
fn findings_are_counted_by_family_without_ported_files() {
    let summary = summary();
    assert_eq!((summary.files, summary.files_with_findings), (5, 3));
    let families: Vec<_> = summary
        .families
        .iter()
        .map(|family| {
            (
                family.family.as_str(),
                family.error,
                family.warning,
                family.info,
            )
        })
        .collect();
    assert_eq!(
        families,
        [
            ("Build files", 1, 2, 0),
            ("Vendor libraries", 1, 0, 0),
            ("Environment", 0, 0, 1)
        ]
    );
    assert_eq!(summary.by_you, 5);
    assert_eq!(summary.ported.len(), 1);
    assert_eq!(
        (
            summary.ported[0].path.as_str(),
            summary.ported[0].port.as_str()
        ),
        ("docker/Dockerfile", "docker/Dockerfile.rocm")
    );
}

#[test]
fn total_effort_is_the_sum_of_its_parts() {
    let effort = summary().effort;
    let sums = effort.items.iter().fold((0, 0), |sum, item| {
        (sum.0 + item.minutes.0, sum.1 + item.minutes.1)
    });
    assert_eq!(effort.minutes, sums);
    assert!(effort.minutes.0 < effort.minutes.1);
    let findings: u32 = effort.items.iter().map(|item| item.findings).sum();
    assert_eq!(findings, 5);
    // Two pinned packages of one rule in one file: the second counts as a quarter.
    let pins = effort
        .items
        .iter()
        .find(|item| item.kind.contains("wrong or slow"))
        .expect("the pins");
    assert_eq!(
        (pins.findings, pins.minutes_each, pins.minutes),
        (2, (10, 45), (13, 57))
    );
    assert!(effort.note.contains("not measured"));
    assert_eq!(Survey::default().finish().effort.minutes, (0, 0));
}

#[test]
fn summary_is_printed_as_text_and_as_markdown() {
    let summary = summary();
    let text = summary_text(&summary);
    for line in [
        "Build files       1 error, 2 warnings",
        "Breaks: 2 errors, 2 warnings. Performance advice: 0. Information: 1.",
        "For a person: 5. Done by PyTorch's hipify: 0. Done by the ROCm wheel: 0.",
        "  docker/Dockerfile: 1 finding, not counted; docker/Dockerfile.rocm is its port",
        "  By hand: wrong or slow on the target: 2 × 10–45 min = 13–57 min",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let markdown = summary_markdown(&summary);
    assert!(
        markdown.contains("| Build files | 1 | 2 | 0 | 0 |"),
        "{markdown}"
    );
    assert!(
        markdown.contains("| `docker/Dockerfile` | `docker/Dockerfile.rocm` | 1 |"),
        "{markdown}"
    );
    let nothing = Survey::default().finish();
    assert_eq!(
        (summary_text(&nothing), summary_markdown(&nothing)),
        <_>::default()
    );
}

#[test]
fn advice_is_counted_apart_from_what_breaks() {
    let source = "import pynvml\nimport torch\nfrom torch.utils.data import DataLoader\n\nloader = DataLoader(data, batch_size=8)\nfor batch in loader:\n    loss = model(batch.cuda())\n    loss.backward()\n    optimizer.step()\n    print(loss.item())\n";
    let mut survey = Survey::default();
    survey.add("train.py", &analyze(source, &Options::default()));
    let summary = survey.finish();
    let line = "Breaks: 1 error, 0 warnings. Performance advice: 2. Information: 0.";
    for text in [summary_text(&summary), summary_markdown(&summary)] {
        assert!(text.lines().any(|found| found == line), "{text}");
    }
}

#[test]
fn browser_survey_reads_a_folder_file_by_file() {
    let mut survey = Survey::default();
    let summarized = |survey: &mut Survey| {
        let answer = api::survey_finish("{}", survey).expect("a good request");
        serde_json::from_str::<Summary>(&answer).expect("a summary")
    };
    let named = api::languages(r#"{"paths": ["a/train.py", "k.cu", "weights.bin"]}"#);
    assert_eq!(named.as_deref(), Ok(r#"["python","cuda-cpp",null]"#));
    for (path, source) in FILES {
        let language = Language::of_path(path);
        let request = json!({ "path": path, "source": source, "language": language });
        api::survey_add(&request.to_string(), &mut survey).expect("a good request");
    }
    assert_eq!(summarized(&mut survey), summary());
    assert_eq!(
        summarized(&mut survey).files,
        0,
        "the next one begins empty"
    );

    // The header does not show that PyTorch's hipify renames it; the folder's setup.py does.
    let header = "#include <cuda_runtime.h>\ninline void wait() { cudaDeviceSynchronize(); }\n";
    for (pytorch_extension, by_hipify) in [(true, true), (false, false)] {
        let request = json!({
            "path": "csrc/wait.cuh", "source": header, "language": "cuda-cpp",
            "pytorch_extension": pytorch_extension,
        });
        api::survey_add(&request.to_string(), &mut survey).expect("a good request");
        assert_eq!(summarized(&mut survey).by_hipify > 0, by_hipify);
    }
}

/// A header that is part of an extension only because of its project, and a test of a package that is the project
/// itself.
const AROUND: &[(&str, &str)] = &[
    ("repo/.git/HEAD", ""),
    (
        "repo/setup.py",
        "from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension(name=\"apex_C\", sources=[])\n",
    ),
    ("repo/apex/__init__.py", ""),
    (
        "repo/csrc/wait.cuh",
        "#include <cuda_runtime.h>\ninline void wait() { cudaDeviceSynchronize(); }\n",
    ),
    ("repo/tests/test_it.py", "import apex\nimport apex_C\n"),
    (
        "repo/demo/CMakeLists.txt",
        "project(demo LANGUAGES CXX CUDA)\nadd_executable(demo main.cu)\n",
    ),
    (
        "repo/demo/main.cu",
        "#include <torch/torch.h>\nint main() { cudaDeviceSynchronize(); }\n",
    ),
    (
        "repo/bazel/BUILD.bazel",
        "cuda_library(\n    name = \"kernel\",\n    srcs = [\":kernel.cu\"],\n)\n",
    ),
    (
        "repo/bazel/kernel.cu",
        "#include <torch/torch.h>\nint wait() { return cudaDeviceSynchronize(); }\n",
    ),
    (
        "other/wait.cuh",
        "#include <cuda_runtime.h>\ninline void wait() { cudaDeviceSynchronize(); }\n",
    ),
    ("other/use.py", "import apex\n"),
    (
        "named/gpu.h",
        "#define gpu_h\nusing cudaError_t = hipError_t;\ninline auto cudaDeviceSynchronize = hipDeviceSynchronize;\n",
    ),
    (
        "named/wait.cu",
        "#include \"gpu.h\"\ncudaError_t wait() { return cudaDeviceSynchronize(); }\n",
    ),
    (
        "macros/compat.cuh",
        "#if defined(USE_ROCM)\n#define __shfl_sync(mask, x, lane) \\\n    __shfl(x, lane)\n#endif\n",
    ),
    (
        "macros/wait.cu",
        "#include \"compat.cuh\"\n__device__ int f(int x) { return __shfl_sync(0xffffffff, x, 0); }\n",
    ),
    (
        "repo/docker/cuda/Dockerfile",
        "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n",
    ),
    (
        "repo/docker/train-2.8/Dockerfile",
        "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n",
    ),
    ("repo/.github/install.sh", "nvidia-smi\n"),
    (
        "repo/docker/rocm/Dockerfile",
        "FROM rocm/dev-ubuntu-22.04:7.2\n",
    ),
];

#[test]
fn project_context_is_applied_and_reported_by_folder() {
    let files: Vec<Value> = AROUND
        .iter()
        .map(|(path, source)| json!({ "path": path, "source": source }))
        .collect();
    let answer = api::project(&json!({ "files": files }).to_string()).expect("a good request");
    let value: Value = serde_json::from_str(&answer).expect("JSON");
    assert!(value["summary"]["by_hipify"].as_u64() > Some(0));
    let reports = value["files"].as_array().expect("a list");
    let rules = |path: &str| -> Vec<&str> {
        let file = reports.iter().find(|file| file["path"] == path);
        let findings = file.and_then(|file| file["report"]["findings"].as_array());
        let findings = findings.expect("a report").iter();
        findings
            .filter_map(|finding| finding["rule"].as_str())
            .collect()
    };
    assert_eq!(rules("repo/tests/test_it.py"), [""; 0]);
    // This file is for NVIDIA hosts; AMD's version is in the same folder.
    let images = reports
        .iter()
        .filter(|file| {
            [
                "repo/docker/cuda/Dockerfile",
                "repo/docker/train-2.8/Dockerfile",
                "repo/.github/install.sh",
            ]
            .iter()
            .any(|path| file["path"] == *path)
        })
        .map(|file| &file["report"]);
    let images: Vec<_> = images.collect();
    assert_eq!(images.len(), 3);
    for image in images {
        assert_eq!(image["findings"][0]["severity"], "info");
        assert_ne!(image["findings"][0]["fix"]["applicability"], "safe");
        assert_eq!(image["notes"][0]["code"], "unused-on-amd");
    }
    assert_eq!(rules("other/use.py"), ["apex"]);
    // CMake does not rename anything, regardless of the includes of the source and a setup.py in a parent folder.
    // Neither does Bazel.
    for path in ["repo/demo/main.cu", "repo/bazel/kernel.cu"] {
        let file = reports.iter().find(|file| file["path"] == path);
        let findings = &file.expect("a report")["report"]["findings"];
        assert_eq!(findings[0]["handled_by"], "you", "{findings}");
        assert_eq!(findings[0]["severity"], "error");
    }
    assert_eq!(rules("named/wait.cu"), [""; 0]);
    assert_eq!(rules("macros/wait.cu"), [""; 0]);

    // The same for a client that checks file by file. Texts without information can be omitted.
    let named: Vec<Value> = AROUND
        .iter()
        .map(|(path, source)| {
            let telling = |line: &&str| line.starts_with('#') || line.contains("hipError_t");
            match path.rsplit_once('.') {
                _ if ["setup.py", ".txt", ".bazel"]
                    .iter()
                    .any(|end| path.ends_with(end)) =>
                {
                    json!({ "path": path, "source": source })
                }
                Some((_, "cu" | "cuh" | "h")) => {
                    let head = |line: &str| line.trim_end_matches('\\').to_owned();
                    let lines: Vec<_> = source.lines().filter(telling).map(head).collect();
                    json!({ "path": path, "source": lines.join("\n") })
                }
                _ => json!({ "path": path }),
            }
        })
        .collect();
    let answer =
        api::project_context(&json!({ "files": named }).to_string()).expect("a good request");
    let folders: Value = serde_json::from_str(&answer).expect("JSON");
    let of = |path: &str| {
        let folders = folders.as_array().expect("a list");
        folders
            .iter()
            .find(|folder| folder["path"] == path)
            .expect("a folder")
    };
    assert_eq!(of("repo/csrc")["hipified"], json!(["repo/csrc/wait.cuh"]));
    assert_eq!(of("other")["hipified"], json!([]));
    assert_eq!(
        of("repo/demo")["not_hipified"],
        json!(["repo/demo/main.cu"])
    );
    assert_eq!(of("repo/docker/rocm")["unused_on_amd"], json!([]));
    assert_eq!(
        of("repo/tests")["first_party_modules"],
        json!(["apex", "setup", "apex_C"])
    );
    for (path, source) in AROUND.iter().filter(|(path, _)| {
        ["wait", "main", "test_it", "cuda/"]
            .iter()
            .any(|part| path.contains(part))
    }) {
        let folder = of(path.rsplit_once('/').expect("a folder").0);
        let mut request = json!({ "source": source, "language": Language::of_path(path), "first_party_modules": folder["first_party_modules"], "is_unused_on_amd": folder["unused_on_amd"] == json!([path]), "has_hip_names": folder["with_hip_names"].as_array().is_some_and(|named| named.contains(&json!(path))) });
        let macros = folder["amd_macros"].as_array().expect("a list");
        if let Some(list) = macros.iter().find(|list| list[0] == *path) {
            request["amd_macros"] = list[1].clone();
        }
        let switches = folder["unset_switches"].as_array().expect("a list");
        if let Some(list) = switches.iter().find(|list| list[0] == *path) {
            request["unset_switches"] = list[1].clone();
        }
        for (list, answer) in [("hipified", true), ("not_hipified", false)] {
            if folder[list]
                .as_array()
                .is_some_and(|named| named.contains(&json!(path)))
            {
                request["pytorch_extension"] = json!(answer);
            }
        }
        let alone =
            api::analyze(&request.to_string(), &mut Session::default()).expect("a good request");
        let alone: Value = serde_json::from_str(&alone).expect("JSON");
        let found = reports
            .iter()
            .find(|file| file["path"] == *path)
            .expect("a report");
        assert_eq!(alone, found["report"], "{path}");
    }
}

#[test]
fn patch_has_git_format() {
    let request = json!({ "path": "a/b.py", "before": "x = 1\n", "after": "x = 2\n" });
    let patch = api::patch(&request.to_string()).expect("a good request");
    let patch: String = serde_json::from_str(&patch).expect("JSON");
    assert_eq!(
        patch,
        "--- a/a/b.py\n+++ b/a/b.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    );
}

#[test]
fn browser_api_returns_the_same_patch() {
    let mut files: Vec<Value> = FILES
        .iter()
        .map(|(path, source)| json!({ "path": path, "source": source }))
        .collect();
    files.push(json!({ "path": "weights.bin", "source": "" }));
    let answer = api::project(&json!({ "files": files }).to_string()).expect("a good request");
    let value: Value = serde_json::from_str(&answer).expect("JSON");
    let found: Summary = serde_json::from_value(value["summary"].clone()).expect("a summary");
    assert_eq!(found, summary());
    assert_eq!(value["files"].as_array().map(Vec::len), Some(FILES.len()));
    assert_eq!(value["files"][1]["report"]["language"], "requirements");
    for (request, part) in [
        ("{\"files\": 1}", "is a list"),
        ("{\"files\": [1]}", "a list of objects"),
        (
            "{\"files\": [{\"path\": \"a.py\"}]}",
            "needs the field `source`",
        ),
        ("{\"files\": [{\"name\": \"a.py\"}]}", "no field `name`"),
    ] {
        let sentence = api::project(request).expect_err("a bad request");
        assert!(sentence.contains(part), "{request}: {sentence}");
    }
}

/// A requirements file of any name is analyzed if another file includes it.
#[test]
fn included_requirements_are_part_of_a_project() {
    let files = [
        (
            "docker/Dockerfile",
            "FROM python\nRUN pip install -r deps/gpu\n",
        ),
        ("deps/gpu", "-r pins.lst\npynvml\n"),
        ("deps/pins.lst", "onnxruntime-gpu\n"),
        ("deps/notes", "pynvml\n"),
    ];
    let files: Vec<_> = files
        .iter()
        .map(|(path, source)| json!({ "path": path, "source": source }))
        .collect();
    let request = json!({ "files": files }).to_string();
    let answer = api::project(&request).expect("a valid request");
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    let found: Vec<_> = answer["files"]
        .as_array()
        .expect("files")
        .iter()
        .map(|file| {
            let rules: Vec<_> = file["report"]["findings"]
                .as_array()
                .expect("findings")
                .iter()
                .map(|finding| finding["rule"].as_str().expect("a name"))
                .collect();
            (file["path"].as_str().expect("a path"), rules)
        })
        .collect();
    assert_eq!(
        found,
        [
            ("docker/Dockerfile", vec![]),
            ("deps/gpu", vec!["pynvml"]),
            ("deps/pins.lst", vec!["nvidia-package"])
        ]
    );
    let included = api::included_requirements(&request).expect("a valid request");
    assert_eq!(included, r#"["deps/gpu","deps/pins.lst"]"#);
}
