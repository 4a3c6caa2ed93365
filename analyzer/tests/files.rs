//! Fixes in notebooks and in files other than Python: the result has the same format and only the intended changes.

mod common;

use common::work::seconds_of;
use common::{all_fixtures, language};
use hipward_analyzer::{Applicability, Language, Options, Selection, analyze, fix_all};
use serde_json::{Value, json};

fn options(language: Language) -> Options {
    let mut options = Options::default();
    options.language = Some(language);
    options
}

/// The report of a notebook for one rule.
fn timing() -> Options {
    let mut options = options(Language::Notebook);
    options.rules = Selection::new(&["unsynchronized-timing"], &[]).expect("a rule");
    options
}

fn notebook(cells: &[&[&str]]) -> String {
    let cells: Vec<_> = cells
        .iter()
        .map(|lines| json!({ "cell_type": "code", "metadata": {}, "outputs": [], "source": lines }))
        .collect();
    let notebook = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    serde_json::to_string_pretty(&notebook).expect("JSON")
}

fn sources(notebook: &str) -> Vec<Vec<String>> {
    let value: Value = serde_json::from_str(notebook).expect("a notebook is JSON");
    let cells = value["cells"].as_array().expect("cells");
    let lines = |cell: &Value| serde_json::from_value(cell["source"].clone()).expect("lines");
    cells.iter().map(lines).collect()
}

const TIMING: &[&str] = &[
    "start = time.time()\n",
    "model(x)\n",
    "print(time.time() - start)",
];

#[test]
fn imports_apply_to_later_cells() {
    let source = notebook(&[
        &[
            "import time\n",
            "import torch\n",
            "model = torch.nn.Linear(1, 1).cuda()\n",
        ],
        &["x = torch.ones(1).cuda()"],
        TIMING,
    ]);
    let report = analyze(&source, &timing());
    let rules: Vec<_> = report
        .findings
        .iter()
        .map(|finding| finding.rule.as_str())
        .collect();
    assert_eq!(rules, ["unsynchronized-timing"]);
    assert!(
        report.findings[0].message.starts_with("Cell 3: "),
        "{}",
        report.findings[0].message
    );
}

#[test]
fn line_added_by_a_fix_is_a_separate_string() {
    let source = notebook(&[
        &[
            "import time\n",
            "import torch\n",
            "model = torch.nn.Linear(1, 1).cuda()\n",
            "x = torch.ones(1).cuda()",
        ],
        TIMING,
    ]);
    let fixed = fix_all(&source, &timing(), Applicability::Unsafe);
    let cells = sources(&fixed.source);
    assert_eq!(cells[0], sources(&source)[0]);
    for line in &cells[1] {
        assert!(
            !line.trim_end_matches('\n').contains('\n'),
            "one line in a string: {:?}",
            cells[1]
        );
    }
    let code: String = cells[1].concat();
    assert!(
        code.matches("torch.cuda.synchronize()\n").count() == 2,
        "{code}"
    );
    let without: Vec<_> = fixed
        .source
        .lines()
        .filter(|line| !line.contains("synchronize"))
        .collect();
    assert_eq!(without, source.lines().collect::<Vec<_>>());
}

#[test]
fn comment_suppresses_its_line_in_a_single_line_json_cell() {
    let code = "import pynvml  # hipward: ignore[pynvml]\nimport flash_attn\n";
    let source = format!(
        "{{\"cells\":[{{\"cell_type\":\"code\",\"source\":{}}}]}}",
        json!(code)
    );
    let report = analyze(&source, &options(Language::Notebook));
    let rules: Vec<_> = report
        .findings
        .iter()
        .map(|finding| finding.rule.as_str())
        .collect();
    assert_eq!((rules, report.suppressed), (vec!["flash-attn"], 1));
}

#[test]
fn non_python_notebook_gets_a_note() {
    let julia = r#"{"cells": [], "metadata": {"kernelspec": {"language": "julia"}}}"#;
    for (source, code) in [
        ("", "not-a-notebook"),
        ("{\"cells\": [", "not-a-notebook"),
        ("{\"a\": [[[[", "not-a-notebook"),
        (julia, "not-python"),
    ] {
        let report = analyze(source, &options(Language::Notebook));
        assert_eq!(report.notes.len(), 1, "{source}");
        assert_eq!(report.notes[0].code, code, "{source}");
    }
    let nested = format!("{{\"metadata\": {}", "[".repeat(1_000_000));
    assert_eq!(
        analyze(&nested, &options(Language::Notebook)).notes[0].code,
        "not-a-notebook"
    );
}

/// With either line ending, each file is fixed in one pass, and no fix adds or removes a line.
#[test]
fn fixed_files_keep_their_format() {
    let mut fixes = 0;
    for path in all_fixtures() {
        let language = language(&path);
        if matches!(language, Language::Python | Language::CudaCpp) {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a fixture");
        // The line endings in a notebook's code are escapes.
        for source in [text.clone(), text.replace('\n', "\r\n")] {
            let fixed = fix_all(&source, &options(language), Applicability::Unsafe);
            fixes += fixed.applied;
            let lines = |text: &str| (text.matches('\n').count(), text.matches('\r').count());
            assert_eq!(lines(&fixed.source), lines(&source), "{}", path.display());
            if language == Language::Notebook {
                serde_json::from_str::<Value>(&fixed.source)
                    .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            }
            let again = fix_all(&fixed.source, &options(language), Applicability::Unsafe);
            assert_eq!(again.applied, 0, "{}", path.display());
        }
    }
    assert!(fixes >= 50, "{fixes} fixes are too few for this test");
}

/// No parser reads a text again for each of its lines, brackets or quotes.
#[test]
fn pathological_files_are_parsed_in_linear_time() {
    let pieces = [
        "FROM a\n",
        "RUN <<E\n",
        "RUN \\\n",
        "ENV a=\"",
        "- ",
        "a: |\n",
        "image: nvidia/cuda:1\n",
        "run: nvcc\n",
        "{\"",
        "\\u00",
        "[[",
        "a = [\"",
        "'",
        "\"",
        "$(",
        "`",
        "if nvcc; then ",
        "case cuda in ",
        "find_package(",
        "#[[",
        "torch==1+cu1\n",
        "-i x/whl/cu124\n",
        "pip install ",
        "nvcc;",
        "&&",
        "é",
        "\t",
        "git+https://",
        "🚀@",
    ];
    let files = Language::ALL.into_iter().filter(|language| {
        !matches!(
            language,
            Language::Python | Language::CudaCpp | Language::Notebook
        )
    });
    let head = "{\"cells\": [{\"cell_type\": \"code\", \"source\": [\"";
    for language in files {
        for piece in pieces {
            let text = piece.repeat(400_000 / piece.len());
            let (_, seconds) = seconds_of(|| analyze(&text, &options(language)));
            assert!(
                seconds < 5.0,
                "{seconds} s for {piece:?} as {}",
                language.title()
            );
        }
    }
    for piece in [
        "\",\"",
        "\"},{\"",
        "\\n",
        "\\\"",
        "\\ud83d",
        "[[",
        "{\"a\":",
        "%%bash\\n",
        "!a \\\\\\n",
    ] {
        let text = format!("{head}{}", piece.repeat(100_000 / piece.len()));
        let (_, seconds) = seconds_of(|| analyze(&text, &options(Language::Notebook)));
        assert!(seconds < 5.0, "{seconds} s for {piece:?}");
    }
}
