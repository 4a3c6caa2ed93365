//! The rules on code: `# expect: HW101` on the line where a finding begins, and no other findings.
//!
//! A fixture's file name determines its language; in C++ the comment starts with `//`. A fixture `x.py` may have a file
//! `x.fixed.py`: the source after every fix with edits is applied. `# expect: HW302 info` also checks the severity, and
//! a first line `# target: python=3.10` sets the target. A notebook cannot contain such comments: `x.ipynb` has a file
//! `x.ipynb.expect`, with a line `4 HW101` for each finding.

mod common;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use common::{all_fixtures, fixtures, language, options};
use hipward_analyzer::{
    Applicability, Arch, Language, Options, Report, analyze, fix_all, unified_diff,
};

/// An expected finding: line, id, and severity if it is checked.
type Expected = (u32, String, Option<String>);

/// A fixture without its expectation comments, and the expectations.
struct Fixture {
    source: String,
    options: Options,
    expected: Vec<Expected>,
}

fn is_twin(path: &Path) -> bool {
    path.to_string_lossy().contains(".fixed.")
}

fn twin(path: &Path) -> Option<PathBuf> {
    let extension = path.extension()?.to_str()?;
    let twin = path.with_extension(format!("fixed.{extension}"));
    twin.exists().then_some(twin)
}

fn expectation(line: u32, item: &str) -> Expected {
    let mut words = item.split_whitespace().map(str::to_owned);
    (line, words.next().expect("an id"), words.next())
}

fn read(path: &Path) -> Fixture {
    let text = fs::read_to_string(path).expect("a fixture");
    let language = language(path);
    let (mut source, mut expected) = (String::new(), Vec::new());
    let target;
    if language == Language::Notebook {
        // A notebook without expected findings needs no sidecar.
        let remarks = fs::read_to_string(format!("{}.expect", path.display())).unwrap_or_default();
        target = target_of(&remarks, "#");
        for line in remarks.lines().filter(|line| !line.starts_with('#')) {
            let (number, item) = line.split_once(' ').expect("a line's number and an id");
            expected.push(expectation(number.parse().expect("a number"), item));
        }
        source = text;
    } else {
        let sign = if language == Language::CudaCpp {
            "//"
        } else {
            "#"
        };
        target = target_of(&text, sign);
        let mark = format!("  {sign} expect: ");
        for (line, number) in text.lines().zip(1..) {
            let (code, wanted) = line.split_once(&mark).unwrap_or((line, ""));
            let items = wanted.split(',').filter(|item| !item.trim().is_empty());
            expected.extend(items.map(|item| expectation(number, item)));
            source.push_str(code);
            source.push('\n');
        }
    }
    Fixture {
        source,
        options: options(language, &target),
        expected,
    }
}

fn target_of(text: &str, sign: &str) -> String {
    text.lines()
        .next()
        .and_then(|line| line.strip_prefix(sign)?.strip_prefix(" target: "))
        .unwrap_or_default()
        .to_owned()
}

fn severity(report: &Report, index: usize) -> String {
    let value = serde_json::to_value(report.findings[index].severity).expect("a severity");
    value.as_str().expect("a word").to_owned()
}

#[test]
fn findings_match_the_fixture_expectations() {
    let mut wrong = String::new();
    for path in all_fixtures().into_iter().filter(|path| !is_twin(path)) {
        let fixture = read(&path);
        let report = analyze(&fixture.source, &fixture.options);
        let mut missing = fixture.expected;
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
fn fixes_produce_the_fixed_file() {
    let mut twins: HashMap<Language, usize> = HashMap::new();
    let mut wrong = String::new();
    for path in all_fixtures() {
        let Some(twin) = twin(&path) else {
            continue;
        };
        let Fixture {
            source, options, ..
        } = read(&path);
        *twins.entry(language(&path)).or_default() += 1;
        let fixed = fix_all(&source, &options, Applicability::Unsafe).source;
        let wanted = fs::read_to_string(&twin).expect("the fixed twin");
        if fixed != wanted {
            wrong.push_str(&unified_diff(&twin.display().to_string(), &wanted, &fixed));
        }
        let again = fix_all(&fixed, &options, Applicability::Unsafe);
        assert_eq!(
            again.applied,
            0,
            "{}: one pass applies all fixes",
            path.display()
        );
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(
        twins
            .get(&Language::Python)
            .is_some_and(|twins| *twins >= 8),
        "too few fixtures have a fixed twin: {twins:?}"
    );
}

/// Code that a naive check would report, on every architecture.
#[test]
fn traps_have_no_findings() {
    for path in fixtures("traps") {
        let fixture = read(&path);
        assert_eq!(
            fixture.expected,
            [],
            "{}: a trap has no expectations",
            path.display()
        );
        for arch in Arch::ALL {
            let mut options = fixture.options.clone();
            options.target.arch = arch;
            let report = analyze(&fixture.source, &options);
            assert_eq!(report.findings, [], "{} on {}", path.display(), arch.name());
            assert_eq!(report.notes, [], "{}", path.display());
        }
    }
}

/// If a rule checks Python and other files, both need fixtures, because they are two checks. Files of other kinds share
/// their facts, and a notebook's cells are Python.
#[test]
fn every_rule_has_positive_and_negative_fixture_lines() {
    for rule in hipward_analyzer::RULES {
        let fired: Vec<Language> = fixtures(rule.name)
            .iter()
            .filter(|path| !is_twin(path))
            .filter(|path| {
                let expected = read(path).expected;
                expected.iter().any(|(_, id, _)| id == rule.id)
            })
            .map(|path| language(path))
            .collect();
        let sides: [&dyn Fn(&Language) -> bool; 3] = [
            &|language| *language == Language::Python,
            &|language| *language == Language::CudaCpp,
            &|language| {
                !matches!(
                    language,
                    Language::Python | Language::CudaCpp | Language::Notebook
                )
            },
        ];
        for side in sides {
            let Some(wanted) = rule.languages.iter().find(|language| side(language)) else {
                continue;
            };
            assert!(
                fired.iter().any(side),
                "{}: write {} under tests/fixtures/{}/ with `expect: {}` beside a line",
                rule.name,
                wanted.title(),
                rule.name,
                rule.id
            );
        }
    }
}
