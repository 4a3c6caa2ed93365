//! The exercises of lessons can be solved, their conditions distinguish correct from wrong answers, and code that a lesson
//! calls portable has no findings.

#[path = "lessons/answers.rs"]
mod answers;

use answers::{ANSWERS, Answer, From};
use hipward_analyzer::{Exercise, Language, Options, RULES, Target, analyze};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// An exercise of a lesson.
struct Task {
    /// The name of its file, unique among exercises.
    file: String,
    start: String,
    solution: String,
    no_findings: Vec<String>,
    exercise: Exercise,
}

fn content() -> PathBuf {
    hipward_tests::root().join("content")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn lessons() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for part in fs::read_dir(content()).expect("content/").flatten() {
        for lesson in fs::read_dir(part.path()).into_iter().flatten().flatten() {
            let page = lesson.path().join("lesson.md");
            if page.is_file() {
                found.push(page);
            }
        }
    }
    found.sort();
    found
}

/// The bodies of a page's fenced blocks of one kind.
fn blocks(page: &str, kind: &str) -> Vec<toml::Table> {
    let fence = format!("```{kind}\n");
    page.split(&fence)
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next())
        .map(|body| body.parse().unwrap_or_else(|e| panic!("{e}:\n{body}")))
        .collect()
}

fn tasks() -> Vec<Task> {
    let mut tasks = Vec::new();
    for page in lessons() {
        let folder = page.parent().expect("a lesson has a folder");
        for block in blocks(&read(&page), "try") {
            let text = |key: &str| block[key].as_str().expect("a string").to_owned();
            let block = json!(block);
            let of = |key: &str| block.get(key).cloned().unwrap_or_else(|| json!([]));
            let no_findings = of("no_findings");
            let exercise = json!({ "no_findings": no_findings, "present": of("present"), "absent": of("absent") });
            tasks.push(Task {
                file: text("file"),
                start: read(&folder.join(text("file"))),
                solution: read(&folder.join(text("solution"))),
                no_findings: serde_json::from_value(no_findings).expect("names of rules"),
                exercise: Exercise::parse(&exercise.to_string())
                    .unwrap_or_else(|error| panic!("{}: {error}", page.display())),
            });
        }
    }
    tasks
}

/// The messages of the conditions that are not met.
fn missing(task: &Task, source: &str) -> Vec<String> {
    let judgement = task.exercise.judge(source, &Target::default());
    let conditions = judgement.conditions.into_iter();
    conditions
        .filter(|condition| !condition.met)
        .map(|condition| format!("{} {}", condition.title, condition.message))
        .collect()
}

/// Lines in which the exercise's rules have a finding, from 0.
fn found_lines(task: &Task) -> BTreeSet<usize> {
    analyze(&task.start, &Options::default())
        .findings
        .into_iter()
        .filter(|finding| task.no_findings.contains(&finding.rule))
        .map(|finding| finding.span.start.line as usize - 1)
        .collect()
}

#[test]
fn exercises_start_unsolved_and_their_solutions_solve_them() {
    let tasks = tasks();
    assert!(tasks.len() >= 8, "{} exercises", tasks.len());
    for task in &tasks {
        let left = missing(task, &task.start);
        for rule in &task.no_findings {
            let title = format!("No finding of `{rule}`.");
            assert!(
                left.iter().any(|line| line.starts_with(&title)),
                "{}: {rule} must fire at the start: {left:#?}",
                task.file
            );
        }
        let left = missing(task, &task.solution);
        assert!(
            left.is_empty(),
            "{}: the solution lacks {left:#?}",
            task.file
        );
    }
}

#[test]
fn removing_the_code_does_not_solve_an_exercise() {
    for task in tasks() {
        let lines: Vec<&str> = task.start.lines().collect();
        let found = found_lines(&task);
        let without = |change: &dyn Fn(&str) -> Option<String>| {
            let remaining = lines.iter().enumerate().filter_map(|(at, line)| {
                if found.contains(&at) {
                    change(line)
                } else {
                    Some((*line).to_owned())
                }
            });
            remaining.map(|line| line + "\n").collect::<String>()
        };
        let commented: String = lines.iter().map(|line| format!("# {line}\n")).collect();
        let silenced = without(&|line| Some(format!("{line}  # hipward: ignore")));
        for (what, source) in [
            ("an empty file", String::new()),
            ("an import alone", "import torch\n".to_owned()),
            ("the start as a comment", commented),
            ("the start, its findings' lines deleted", without(&|_| None)),
            (
                "the start, its findings' lines commented out",
                without(&|line| Some(format!("# {line}"))),
            ),
            ("the start, its findings silenced", silenced),
        ] {
            assert!(
                !missing(&task, &source).is_empty(),
                "{}: {what} solves it:\n{source}",
                task.file
            );
        }
    }
}

#[test]
fn wrong_answers_are_rejected_and_right_ones_accepted() {
    let tasks = tasks();
    for task in &tasks {
        let answers = ANSWERS.iter().filter(|answer| answer.file == task.file);
        assert!(
            answers.filter(|answer| !answer.messages.is_empty()).count() > 0,
            "{}: there is no wrong answer for it",
            task.file
        );
    }
    for Answer {
        file,
        what,
        from,
        edits,
        messages,
    } in ANSWERS
    {
        let task = tasks.iter().find(|task| task.file == *file).expect(file);
        let mut source = match from {
            From::Start => task.start.clone(),
            From::Solution => task.solution.clone(),
        };
        for (old, new) in *edits {
            assert!(
                source.contains(old),
                "{file}, {what}: there is no {old:?} in\n{source}"
            );
            source = source.replacen(old, new, 1);
        }
        let left = missing(task, &source);
        for message in *messages {
            assert!(
                left.iter().any(|line| line.contains(message)),
                "{file}, {what}: {message:?} is missing; found {left:#?} of\n{source}"
            );
        }
        if messages.is_empty() {
            assert!(left.is_empty(), "{file}, {what} lacks {left:#?}:\n{source}");
        }
    }
}

/// The rows of the Markdown table that follows a line of a page.
fn table(page: &str, after: &str) -> Vec<Vec<String>> {
    let (_, rest) = page.split_once(after).expect(after);
    rest.lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| {
            line.trim_matches('|')
                .split(" | ")
                .map(|cell| cell.trim().to_owned())
                .collect()
        })
        .collect()
}

#[test]
fn portable_code_of_the_first_lesson_has_no_findings() {
    let folder = content().join("01-port/01-device-abstraction");
    let sample = read(&folder.join("portable.py"));
    let report = analyze(&sample, &Options::default());
    assert!(
        report.findings.is_empty() && report.notes.is_empty(),
        "{report:#?}"
    );
    let rows = table(&read(&folder.join("lesson.md")), "Leave it alone:");
    assert!(rows.len() >= 7, "{rows:?}");
    for code in rows
        .iter()
        .flat_map(|row| row[0].split('`').skip(1).step_by(2))
    {
        assert!(sample.contains(code), "portable.py does not have `{code}`");
    }
    let team = read(&content().join("06-team/01-keep-it-ported/lesson.md"));
    let mention = sample
        .lines()
        .filter(|line| line.to_lowercase().contains("cuda"))
        .count();
    let sentence = format!("has {mention} lines with `cuda`");
    assert!(team.contains(&sentence), "{sentence}");
}

/// A typical use of each library of the reference table that a rule could find.
const LIBRARIES: &[(&str, Language, &str)] = &[
    ("pynvml", Language::Python, "import pynvml\n"),
    (
        "nvidia-smi",
        Language::Python,
        "import subprocess\nsubprocess.run([\"nvidia-smi\"])\n",
    ),
    (
        "flash-attn",
        Language::Python,
        "from flash_attn import flash_attn_func\n",
    ),
    ("apex", Language::Python, "import apex\n"),
    (
        "Triton",
        Language::Requirements,
        "torch==2.12.0\ntriton==3.4.0\n",
    ),
    (
        "NCCL",
        Language::Python,
        "import torch.distributed as dist\ndist.init_process_group(backend=\"nccl\")\n",
    ),
    (
        "cuBLAS",
        Language::Python,
        "from torch.utils.cpp_extension import CUDAExtension\next = CUDAExtension(\"ops\", [\"ops.cu\"], libraries=[\"cublas\"])\n",
    ),
    (
        "cuFFT",
        Language::Python,
        "from torch.utils.cpp_extension import CUDAExtension\next = CUDAExtension(\"ops\", [\"ops.cu\"], libraries=[\"cufft\"])\n",
    ),
    (
        "cuDNN",
        Language::CudaCpp,
        "#include <cudnn.h>\nvoid f() { cudnnHandle_t h; cudnnCreate(&h); }\n",
    ),
    (
        "CUTLASS",
        Language::CudaCpp,
        "#include <cutlass/gemm/device/gemm.h>\ncutlass::gemm::device::Gemm<float> g;\n",
    ),
    ("TensorRT", Language::Python, "import tensorrt\n"),
    ("CuPy", Language::Python, "import cupy\n"),
    (
        "Thrust",
        Language::CudaCpp,
        "#include <thrust/sort.h>\nvoid f(int *a, int *b) { thrust::sort(a, b); }\n",
    ),
    (
        "CUB",
        Language::CudaCpp,
        "#include <cub/cub.cuh>\nvoid f(int *a, int *b, int n) { size_t s; cub::DeviceReduce::Sum(nullptr, s, a, b, n); }\n",
    ),
    (
        "NVTX",
        Language::Python,
        "import torch\nwith torch.cuda.nvtx.range(\"x\"):\n    pass\n",
    ),
];

#[test]
fn library_tables_name_the_rules() {
    let reference: toml::Table = read(&content().join("reference/libraries.toml"))
        .parse()
        .expect("a table");
    let rows: Vec<Vec<String>> =
        serde_json::from_value(json!(reference["rows"])).expect("rows of strings");
    assert_eq!(rows.len(), LIBRARIES.len(), "each row has its sample");
    let page = read(&content().join("01-port/06-vendor-libraries/lesson.md"));
    let taught = table(&page, "## The table");
    let first = |cell: &str| {
        cell.replace('`', "")
            .split(", ")
            .next()
            .expect("a name")
            .to_lowercase()
    };
    for (name, language, sample) in LIBRARIES {
        let options = {
            let mut options = Options::default();
            options.language = Some(*language);
            options
        };
        let report = analyze(sample, &options);
        let rules: BTreeSet<&str> = report.findings.iter().map(|found| &*found.rule).collect();
        let row = rows
            .iter()
            .find(|row| first(&row[0]) == name.to_lowercase())
            .expect(name);
        if rules.is_empty() {
            assert_eq!(row[3], "", "{name}: no rule sees {sample:?}");
        } else {
            assert!(
                rules.contains(&*row[3]),
                "{name}: the row has {:?} of {rules:?}",
                row[3]
            );
        }
        let row = taught
            .iter()
            .find(|row| first(&row[0]) == name.to_lowercase());
        assert!(
            row.is_none_or(|row| row[2] != "nothing") || rules.is_empty(),
            "{name}: the lesson states that nothing has to change, and {rules:?} have findings"
        );
    }
}

#[test]
fn rules_name_lessons_that_exist() {
    let addresses: BTreeSet<String> = lessons()
        .iter()
        .map(|page| {
            let folders = page.strip_prefix(content()).expect("below content/");
            let slugs = folders.iter().take(2).map(|folder| {
                let folder = folder.to_str().expect("UTF-8");
                folder.split_once('-').expect("a number").1
            });
            slugs.collect::<Vec<_>>().join("/")
        })
        .collect();
    for rule in RULES {
        if let Some(lesson) = rule.lesson {
            assert!(
                addresses.contains(lesson),
                "{}: no lesson {lesson}",
                rule.name
            );
        }
    }
    let without: Vec<&str> = RULES
        .iter()
        .filter(|rule| rule.lesson.is_none())
        .map(|rule| rule.name)
        .collect();
    assert!(without.is_empty(), "rules without a lesson: {without:?}");
}
