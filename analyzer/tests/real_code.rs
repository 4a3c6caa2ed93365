//! Fixes in real code: the files of the installed Python, each followed by the examples of every rule.

mod common;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::first_blocks;
use hipward_analyzer::{Applicability, Language, Options, RULES, analyze, fix_all, rule_page};

/// The number of files, sampled evenly from the library.
const FILES: usize = 120;

fn python_files() -> Vec<PathBuf> {
    let python = env::var("HIPWARD_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let code = "import sysconfig; print(sysconfig.get_path('stdlib'))\nprint(sysconfig.get_path('purelib'))";
    let output = Command::new(&python)
        .args(["-c", code])
        .output()
        .unwrap_or_else(|error| panic!("{python}: {error}; set HIPWARD_PYTHON"));
    let mut files = Vec::new();
    for folder in String::from_utf8_lossy(&output.stdout).lines() {
        collect(Path::new(folder), &mut files);
    }
    files.sort();
    files.dedup();
    assert!(files.len() >= FILES, "{python} has no library to read");
    let step = files.len() / FILES;
    files.into_iter().step_by(step).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    // A missing folder has no files.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "py") {
            files.push(path);
        }
    }
}

#[test]
fn fixing_removes_findings_and_keeps_the_code_valid() {
    let options = {
        let mut options = Options::default();
        options.target = serde_json::from_str("{\"python\": \"3.10\"}").expect("a target");
        options
    };
    let examples: String = RULES
        .iter()
        .flat_map(|rule| first_blocks(&rule_page(rule), "Example"))
        .filter(|example| example.language == Language::Python)
        .map(|example| format!("\n\n{}", example.code))
        .collect();
    let mut fixes = 0;
    for path in python_files() {
        let Ok(code) = fs::read_to_string(&path) else {
            continue;
        };
        let source = format!("{}{examples}", code.trim_end());
        if source.len() > 200_000 {
            continue;
        }
        let before = analyze(&source, &options);
        let fixed = fix_all(&source, &options, Applicability::Unsafe);
        let after = analyze(&fixed.source, &options);
        fixes += fixed.applied;
        let codes = |notes: &[hipward_analyzer::Note]| {
            notes
                .iter()
                .map(|note| note.code.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            codes(&after.notes),
            codes(&before.notes),
            "{}:\n{}",
            path.display(),
            fixed.source
        );
        let left: Vec<_> = after
            .findings
            .iter()
            .filter(|finding| {
                finding
                    .fix
                    .as_ref()
                    .is_some_and(|fix| !fix.edits.is_empty())
            })
            .collect();
        assert!(left.is_empty(), "{}: {left:?}", path.display());
        assert_eq!(
            fix_all(&fixed.source, &options, Applicability::Unsafe).applied,
            0,
            "{}",
            path.display()
        );
    }
    assert!(fixes > FILES, "{fixes} fixes are too few for this test");
}
