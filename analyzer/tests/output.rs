//! Output formats, and patches in git format.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use hipward_analyzer::output::{
    Colour, FileReport, Format, GitHub, Markdown, Sarif, Statistics, json, sarif, text,
};
use hipward_analyzer::{
    Applicability, DiffKind, Options, RULES, Report, SCHEMA_VERSION, Selection, TeamRules, analyze,
    apply_fixes, diff, fix_all, scaffold, unified_diff,
};
use serde_json::Value;

fn report(source: &str) -> Report {
    analyze(source, &Options::default())
}

const SOURCE: &str =
    "import os\n\nos.environ[\n    \"PYTORCH_CUDA_ALLOC_CONF\"\n] = \"backend:native\"\n";

#[test]
fn text_output_shows_the_lines_and_the_fix() {
    let report = report(SOURCE);
    let file = FileReport {
        path: "train.py",
        source: SOURCE,
        report: &report,
    };
    let plain = text(&[file], Colour::Plain);
    let wanted = "\
info[HW201 cuda-alloc-conf]: PYTORCH_CUDA_ALLOC_CONF still works on ROCm; since PyTorch 2.9 PYTORCH_ALLOC_CONF is the name on every backend.
 --> train.py:4:5
  |
4 |     \"PYTORCH_CUDA_ALLOC_CONF\"
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^
  = help: Rename it to PYTORCH_ALLOC_CONF (safe)

";
    assert_eq!(plain, wanted);
    let coloured = text(&[file], Colour::Ansi);
    assert!(coloured.contains("\x1b[1;36minfo[HW201 cuda-alloc-conf]\x1b[0m"));
}

#[test]
fn json_output_maps_path_to_report() {
    let report = report(SOURCE);
    let file = FileReport {
        path: "train.py",
        source: SOURCE,
        report: &report,
    };
    let value: Value = serde_json::from_str(&json(&[file])).expect("JSON");
    assert_eq!(value[0]["path"], "train.py");
    assert_eq!(value[0]["schema"], SCHEMA_VERSION);
    assert_eq!(value[0]["findings"][0]["fix"]["applicability"], "safe");
    let again: Report = serde_json::from_value(value[0].clone()).expect("a report");
    assert_eq!(again, report);
}

#[test]
fn sarif_output_has_rules_regions_and_fixes() {
    let report = report(SOURCE);
    let file = FileReport {
        path: "a folder/träin.py",
        source: SOURCE,
        report: &report,
    };
    let value: Value = serde_json::from_str(&sarif(&[file])).expect("JSON");
    assert_eq!(value["version"], "2.1.0");
    let run = &value["runs"][0];
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    assert_eq!(
        run["tool"]["driver"]["rules"].as_array().map(Vec::len),
        Some(RULES.len())
    );
    let result = &run["results"][0];
    let index = result["ruleIndex"].as_u64().expect("an index") as usize;
    assert_eq!(
        run["tool"]["driver"]["rules"][index]["id"],
        result["ruleId"]
    );
    let location = &result["locations"][0]["physicalLocation"];
    assert_eq!(
        location["artifactLocation"]["uri"],
        "a%20folder/tr%C3%A4in.py"
    );
    assert_eq!(location["region"]["startLine"], 4);
    assert_eq!(location["region"]["startColumn"], 5);
    let change = &result["fixes"][0]["artifactChanges"][0];
    assert_eq!(
        change["replacements"][0]["insertedContent"]["text"],
        "\"PYTORCH_ALLOC_CONF\""
    );
}

#[test]
fn diff_omits_unchanged_lines() {
    let before: String = (1..=20).map(|line| format!("{line}\n")).collect();
    let after = before.replace("10\n", "ten\n");
    let lines = diff(&before, &after);
    let shown: Vec<_> = lines
        .iter()
        .map(|line| (line.kind, line.text.as_str()))
        .collect();
    assert_eq!(shown[0], (DiffKind::Gap, "6 equal lines"));
    assert_eq!(shown[4], (DiffKind::Removed, "10"));
    assert_eq!(shown[5], (DiffKind::Added, "ten"));
    assert_eq!(shown[9], (DiffKind::Gap, "7 equal lines"));
    assert_eq!(
        (lines[4].old, lines[4].new, lines[5].new),
        (Some(10), None, Some(10))
    );
    assert_eq!(diff(&before, &before), []);
}

#[test]
fn git_applies_the_patch() {
    let folder = std::env::temp_dir().join(format!("hipward-patch-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    // Windows does not allow such names.
    let odd = if cfg!(unix) {
        "tab\t \"é\\\u{1}\n"
    } else {
        ""
    };
    for (index, (before, after)) in [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\nb", "a\nB"),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "a\nb"),
        ("", "a\n"),
        ("a\r\nb\r\n", "a\r\nB\r\n"),
        ("one\n", "zero\none\ntwo\n"),
        ("é\n名\n🚀\n", "é\n🚀\n"),
        (SOURCE, "import os\n"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("file{odd}{index}.py");
        let path = folder.join(&name);
        fs::write(&path, before).expect("a file");
        let patch = folder.join("patch");
        fs::write(&patch, unified_diff(&name, before, after)).expect("a patch");
        let status = Command::new("git")
            .args(["apply", "--whitespace=nowarn"])
            .arg(&patch)
            .current_dir(&folder)
            // The folder is not a repository; git must not search its parents.
            .env("GIT_CEILING_DIRECTORIES", &folder)
            .stderr(Stdio::inherit())
            .status()
            .expect("git");
        assert!(
            status.success(),
            "{before:?} → {after:?}:\n{}",
            unified_diff(&name, before, after)
        );
        assert_eq!(fs::read_to_string(&path).expect("the patched file"), after);
    }
    fs::remove_dir_all(&folder).expect("the folder is ours");
    assert_eq!(unified_diff("x", "same", "same"), "");
}

#[test]
fn overlapping_fixes_are_not_applied_together() {
    let source = "import os\nos.environ[\"CUDA_LAUNCH_BLOCKING\"] = \"1\"\n";
    let mut report = report(source);
    report.findings.push(report.findings[0].clone());
    let applied = apply_fixes(source, &report, &[1, 0, 0, 9]);
    assert_eq!(applied.applied, [1]);
    assert_eq!(
        applied.source,
        "import os\nos.environ[\"AMD_SERIALIZE_KERNEL\"] = \"3\"\n"
    );
}

#[test]
fn identical_insertions_are_applied_once() {
    let source = "import time\nimport torch\nx = torch.ones(1).cuda()\nstart = time.perf_counter()\ny = x + x.sin()\nfirst = time.perf_counter() - start\nz = y.cos()\nsecond = time.perf_counter() - start\n";
    let report = report(source);
    assert_eq!(report.findings.len(), 2);
    let applied = apply_fixes(source, &report, &[0, 1]);
    assert_eq!(applied.applied, [0, 1]);
    assert_eq!(
        applied.source.matches("torch.cuda.synchronize()").count(),
        3
    );
    assert!(
        analyze(&applied.source, &Options::default())
            .findings
            .is_empty()
    );
}

#[test]
fn first_import_has_the_fix_for_all_uses() {
    let source = "def f():\n    import pynvml\n    pynvml.nvmlInit()\n\ndef g():\n    import pynvml\n    pynvml.nvmlShutdown()\n";
    let applied = apply_fixes(source, &report(source), &[0, 1]);
    assert_eq!(applied.applied, [0]);
    assert_eq!(
        applied.source,
        source
            .replace("nvmlInit", "amdsmi_init")
            .replace("nvmlShutdown", "amdsmi_shut_down")
            .replace("pynvml", "amdsmi")
    );
}

#[test]
fn comment_in_the_edited_range_makes_a_safe_fix_unsafe() {
    let options = {
        let mut options = Options::default();
        options.target = serde_json::from_str("{\"python\": \"3.10\"}").expect("a target");
        options
    };
    let source = "from datetime import (\n    timezone,\n    UTC,  # since 3.11\n    datetime,\n)\nprint(UTC, timezone, datetime)\n";
    let report = analyze(source, &options);
    let fix = report.findings[0].fix.as_ref().expect("a fix");
    assert_eq!(fix.applicability, Applicability::Unsafe);
    assert_eq!(fix_all(source, &options, Applicability::Safe).applied, 0);
}

#[test]
fn selection_accepts_names_ids_and_families() {
    let source =
        "import pynvml\nimport flash_attn\nimport os\nos.environ['CUDA_LAUNCH_BLOCKING'] = '1'\n";
    let fired = |select: &[&str], ignore: &[&str]| {
        let options = {
            let mut options = Options::default();
            options.rules = Selection::new(select, ignore).expect("rules");
            options
        };
        let report = analyze(source, &options);
        report
            .findings
            .into_iter()
            .map(|finding| finding.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(fired(&[], &[]), ["HW101", "HW103", "HW202"]);
    assert_eq!(fired(&["HW1"], &["pynvml"]), ["HW103"]);
    assert_eq!(fired(&["hw202"], &[]), ["HW202"]);
    let error = Selection::new(&["flash-atn"], &[]).expect_err("no such rule");
    assert_eq!(error.to_string(), "there is no rule `flash-atn`");
    let none = TeamRules::default();
    assert_eq!(error.nearest(&none), Some(("flash-attn", "HW103")));
    let error = Selection::new(&["é"], &["x"]).expect_err("no such rule");
    assert!(error.nearest(&none).is_none());
}

#[test]
fn scaffold_wraps_the_pasted_code() {
    let paste = "import torch\nfrom torch import nn\n\n\nclass RMSNorm(nn.Module):\n    def __init__(self, hidden_size, eps=1e-6):\n        super().__init__()\n        self.weight = nn.Parameter(torch.ones(hidden_size))\n\n    def forward(self, x, residual=None):\n        return x * self.weight\n";
    let before = report(paste);
    assert_eq!(before.contract.modules, ["RMSNorm"]);
    assert!(!before.contract.is_complete());
    let whole = scaffold(paste, &before);
    let after = report(&whole);
    assert!(
        after.contract.is_complete() && after.notes.is_empty(),
        "{whole}"
    );
    assert!(whole.starts_with(paste.trim_end()));
    assert!(whole.contains("self.module = RMSNorm(*args)"));
    assert!(whole.contains("    x = torch.randn(8, 128, 1024)\n    return [x]"));
    assert!(whole.contains("    hidden_size = 1024\n    return [hidden_size]"));
    assert_eq!(scaffold(&whole, &after), whole);
}

/// A file with the report of [`SOURCE`], under a path with special characters.
fn with_file<T>(path: &str, then: impl FnOnce(&FileReport<'_>) -> T) -> T {
    let report = report(SOURCE);
    then(&FileReport {
        path,
        source: SOURCE,
        report: &report,
    })
}

#[test]
fn github_output_has_one_command_per_finding() {
    let line = with_file("a,b:c/100%.py", |file| GitHub.file(file));
    assert_eq!(
        line,
        "::notice file=a%2Cb%3Ac/100%25.py,line=4,endLine=4,col=5,endColumn=30,\
         title=cuda-alloc-conf (HW201)::PYTORCH_CUDA_ALLOC_CONF still works on ROCm; since PyTorch 2.9 \
         PYTORCH_ALLOC_CONF is the name on every backend.\n"
    );
}

#[test]
fn text_output_quotes_a_part_of_a_long_line() {
    let rest = "y = f(x); ".repeat(20_000);
    let source = format!("x = 1; é = 2; {rest}import pynvml; {rest}\nimport pynvml\n");
    let report = analyze(&source, &Options::default());
    assert_eq!(report.findings.len(), 2);
    let file = FileReport {
        path: "a.py",
        source: &source,
        report: &report,
    };
    let text = text(&[file], Colour::Plain);
    assert!(text.len() < 2_000, "{} bytes", text.len());
    let lines: Vec<&str> = text.lines().collect();
    let quoted = lines[3];
    assert!(
        quoted.starts_with("1 | …") && quoted.ends_with('…'),
        "{quoted}"
    );
    assert_eq!(quoted.chars().count(), 4 + 240 + 2);
    let marks = lines[4]
        .chars()
        .position(|mark| mark == '^')
        .expect("marks");
    let marked: String = quoted.chars().skip(marks).take(6).collect();
    assert_eq!(
        (marked.as_str(), lines[4].trim_end().matches('^').count()),
        ("pynvml", 6)
    );
    assert!(
        text.contains("2 | import pynvml\n  |        ^^^^^^\n"),
        "{text}"
    );
}

#[test]
fn markdown_table_escapes_any_text() {
    let mut report = report(SOURCE);
    report.findings[0].message = "a | b\nc_d `e_f`".to_owned();
    report.findings[0].link = Some("https://wiki.example/x".to_owned());
    let mut statistics = Statistics::default();
    statistics.add(&report);
    let file = FileReport {
        path: "my_file.py",
        source: SOURCE,
        report: &report,
    };
    assert_eq!(
        Markdown.file(&file),
        "\n## my\\_file.py\n\n| Line | Severity | Rule | Finding | Fix |\n|---:|---|---|---|---|\n\
         | 4 | info | [cuda-alloc-conf (HW201)](<https://wiki.example/x>) | a \\| b c\\_d `e_f` \
         | Rename it to PYTORCH\\_ALLOC\\_CONF (safe) |\n"
    );
    let end = Markdown.end(&statistics);
    assert!(
        end.contains("| 1 | cuda-alloc-conf (HW201) | Environment |"),
        "{end}"
    );
    assert!(
        end.ends_with("1 safe fix can be made with --fix.\n"),
        "{end}"
    );
}

#[test]
fn statistics_count_by_rule_and_by_family() {
    let source =
        "import pynvml\nimport pynvml as p\nimport apex\nimport pynvml  # hipward: ignore\n";
    let mut statistics = Statistics::default();
    statistics.add(&report(source));
    statistics.add(&report("x = 1\n"));
    let counts: Vec<_> = statistics
        .by_rule()
        .iter()
        .map(|count| (count.id.as_str(), count.findings))
        .collect();
    assert_eq!(counts, [("HW101", 2), ("HW104", 1)]);
    let table = statistics.table();
    assert!(table.contains("     3  Vendor libraries\n"), "{table}");
    assert!(
        table.contains("3 findings in 2 files, 1 suppressed.\n"),
        "{table}"
    );
    let value: Value = serde_json::from_str(&statistics.json()).expect("JSON");
    assert_eq!(value["families"]["Vendor libraries"], 3);
    assert_eq!(
        (&value["files"], &value["suppressed"]),
        (&2.into(), &1.into())
    );
    assert!(statistics.is_failure());
}

#[test]
fn sarif_output_includes_team_rules() {
    let team = TeamRules::parse(
        r#"[{"id": "ACME001", "name": "acme", "message": "Not here.", "link": "https://wiki.example/acme",
             "match": {"import": "acme"}}]"#,
    )
    .expect("a good rule");
    let options = {
        let mut options = Options::default();
        options.team = team.clone();
        options
    };
    let report = analyze("import acme\n", &options);
    let sarif = Sarif::new([&team, &team]);
    let file = FileReport {
        path: "x.py",
        source: "import acme\n",
        report: &report,
    };
    let parts = [
        sarif.begin(),
        sarif.file(&file),
        sarif.end(&Statistics::default()),
    ];
    let log: Value = serde_json::from_str(&parts.concat()).expect("JSON");
    let run = &log["runs"][0];
    let index = run["results"][0]["ruleIndex"].as_u64().expect("an index") as usize;
    let rule = &run["tool"]["driver"]["rules"][index];
    assert_eq!(rule["id"], "ACME001");
    assert_eq!(rule["helpUri"], "https://wiki.example/acme");
}

/// In the browser's modules formatting with `Debug` is a trap (site/bundle/src/traps.rs).
#[test]
fn no_message_is_formatted_with_debug() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()];
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                // Build scripts and tools run on the host.
                let is_other = matches!(&*name, "tests" | "fuzz" | "examples" | "target");
                folders.extend((!is_other).then(|| path.clone()));
            } else if name.ends_with(".rs") && !matches!(&*name, "tests.rs" | "build.rs") {
                let source = fs::read_to_string(&path).expect("a source");
                let code = source.split("#[cfg(test)]").next().unwrap_or_default();
                let line = code.lines().find(|line| line.contains(":?}"));
                assert_eq!(line, None, "{}", path.display());
                read += 1;
            }
        }
    }
    assert!(read > 200, "{read} sources");
}
