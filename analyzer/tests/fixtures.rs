//! The rules on code: `# expect: HW101` beside the line where a finding begins, and nothing anywhere else. In C++ the
//! comment begins with `//`.
//!
//! A fixture `x.py` may have a twin `x.fixed.py`: the source after every fix that has edits. `# expect: HW302 info`
//! asks for a severity, and a first line `# target: python=3.10` sets the target. The file's name gives the language.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::options;
use hipward_analyzer::{
    Applicability, Arch, Language, Options, Report, analyze, fix_all, unified_diff,
};

fn fixtures(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(folder);
    let mut files: Vec<_> = fs::read_dir(&root)
        .unwrap_or_else(|error| panic!("{}: {error}", root.display()))
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    files.sort();
    files
}

fn all_fixtures() -> Vec<PathBuf> {
    fixtures(".")
        .iter()
        .filter(|path| path.is_dir())
        .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
        .flat_map(|folder| fixtures(&folder))
        .filter(|path| !is_twin(path))
        .collect()
}

fn is_twin(path: &Path) -> bool {
    path.to_string_lossy().contains(".fixed.")
}

fn options_for(path: &Path, target: &str) -> Options {
    let language = Language::of_path(&path.to_string_lossy())
        .unwrap_or_else(|| panic!("{}: name it as its language's files are", path.display()));
    options(language, target)
}

/// Where a finding is expected: line, id, and severity if it matters.
type Expected = (u32, String, Option<String>);

/// The source without its expectations, its target, and the expectations.
fn read(path: &Path) -> (String, String, Vec<Expected>) {
    let text = fs::read_to_string(path).expect("a fixture");
    let mut source = String::new();
    let mut expected = Vec::new();
    let target = text
        .lines()
        .next()
        .and_then(|line| line.split_once(" target: "))
        .filter(|(comment, _)| matches!(*comment, "#" | "//"))
        .map(|(_, target)| target)
        .unwrap_or_default()
        .to_owned();
    for (index, line) in text.lines().enumerate() {
        let (code, wanted) = line
            .split_once("  # expect: ")
            .or_else(|| line.split_once("  // expect: "))
            .unwrap_or((line, ""));
        for item in wanted
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
        {
            let mut words = item.split_whitespace().map(str::to_owned);
            let id = words.next().expect("an id");
            expected.push((index as u32 + 1, id, words.next()));
        }
        source.push_str(code);
        source.push('\n');
    }
    (source, target, expected)
}

fn severity(report: &Report, index: usize) -> String {
    let value = serde_json::to_value(report.findings[index].severity).expect("a severity");
    value.as_str().expect("a word").to_owned()
}

#[test]
fn findings_are_where_the_fixtures_say() {
    let mut wrong = String::new();
    for path in all_fixtures() {
        let (source, target, expected) = read(&path);
        let report = analyze(&source, &options_for(&path, &target));
        let mut missing = expected.clone();
        for (index, finding) in report.findings.iter().enumerate() {
            let severity = severity(&report, index);
            let wanted = missing.iter().position(|(line, id, wanted)| {
                *line == finding.span.start.line
                    && *id == finding.id
                    && wanted.as_ref().is_none_or(|wanted| *wanted == severity)
            });
            match wanted {
                Some(position) => drop(missing.swap_remove(position)),
                None => wrong.push_str(&format!(
                    "{}:{}: unexpected {} {severity}: {}\n",
                    path.display(),
                    finding.span.start.line,
                    finding.id,
                    finding.message
                )),
            }
        }
        for (line, id, severity) in missing {
            wrong.push_str(&format!(
                "{}:{line}: no {id} {}\n",
                path.display(),
                severity.unwrap_or_default()
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn fixes_give_the_fixed_twin() {
    let mut twins = 0;
    let mut wrong = String::new();
    for path in all_fixtures() {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        let twin = path.with_extension(format!("fixed.{extension}"));
        if !twin.exists() {
            continue;
        }
        twins += 1;
        let (source, target, _) = read(&path);
        let options = options_for(&path, &target);
        let fixed = fix_all(&source, &options, Applicability::Unsafe).source;
        let wanted = fs::read_to_string(&twin).expect("the fixed twin");
        if fixed != wanted {
            wrong.push_str(&unified_diff(&twin.display().to_string(), &wanted, &fixed));
        }
        let again = fix_all(&fixed, &options, Applicability::Unsafe);
        assert_eq!(
            again.applied,
            0,
            "{}: fixing is done in one go",
            path.display()
        );
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(twins >= 8, "only {twins} fixtures have a fixed twin");
}

/// What a naive reading gets wrong, on every architecture.
#[test]
fn traps_stay_quiet() {
    for path in fixtures("traps") {
        let (source, target, expected) = read(&path);
        assert_eq!(expected, [], "{}: a trap expects nothing", path.display());
        for arch in Arch::ALL {
            let mut options = options_for(&path, &target);
            options.target.arch = arch;
            let report = analyze(&source, &options);
            assert_eq!(report.findings, [], "{} on {}", path.display(), arch.name());
            assert_eq!(report.notes, [], "{}", path.display());
        }
    }
}

#[test]
fn every_rule_has_fixtures_that_fire_and_lines_that_do_not() {
    for rule in hipward_analyzer::RULES {
        let expected: Vec<_> = fixtures(rule.name)
            .iter()
            .filter(|path| !is_twin(path))
            .flat_map(|path| read(path).2)
            .collect();
        assert!(
            expected.iter().any(|(_, id, _)| id == rule.id),
            "{}: write code under tests/fixtures/{}/ with `expect: {}` in a comment beside a line",
            rule.name,
            rule.name,
            rule.id
        );
    }
}
