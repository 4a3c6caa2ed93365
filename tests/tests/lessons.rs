//! What a lesson asks of the learner can be done, and the analyzer is a fair judge of it.

use hipward_analyzer::{Options, analyze};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn lessons() -> Vec<PathBuf> {
    let content = hipward_tests::root().join("content");
    let mut found = Vec::new();
    for part in fs::read_dir(content).expect("content/").flatten() {
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

fn rules_that_fire(file: &Path) -> BTreeSet<String> {
    let source = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    analyze(&source, &Options::default())
        .findings
        .into_iter()
        .map(|found| found.rule)
        .collect()
}

#[test]
fn every_exercise_starts_unsolved_and_its_solution_solves_it() {
    let mut exercises = 0;
    for page in lessons() {
        let folder = page.parent().expect("a lesson has a folder");
        for block in blocks(&fs::read_to_string(&page).expect("a page"), "try") {
            exercises += 1;
            let file = block["file"].as_str().expect("file");
            let gone = block["gone"].as_array().expect("gone");
            let gone: BTreeSet<String> = gone
                .iter()
                .filter_map(|rule| rule.as_str())
                .map(str::to_owned)
                .collect();
            let before = rules_that_fire(&folder.join(file));
            assert!(
                gone.is_subset(&before),
                "{file}: {gone:?} must fire at the start: {before:?}"
            );
            if let Some(solution) = block.get("solution").and_then(|solution| solution.as_str()) {
                let left = rules_that_fire(&folder.join(solution));
                assert!(left.is_disjoint(&gone), "{solution} leaves {left:?}");
            }
        }
    }
    assert!(exercises >= 5, "a lesson without an exercise: {exercises}");
}
