//! The requirements files that a file of a project includes, by their paths in the project.

use std::borrow::Cow;

use hipward_analyzer_core::Language;
use hipward_analyzer_files::Included;

use super::{join, parent};

/// The requirements files with names of their own that files of a project include, directly or through each other: with
/// `-r` and `-c`, in a command, or in a `setup.py`. Paths have `/` between their parts. `text` reads a file, and `is_file`
/// tells whether a path is a file of the project.
pub fn included_requirements<'t>(
    paths: impl IntoIterator<Item = String>,
    text: &dyn Fn(&str) -> Option<Cow<'t, str>>,
    is_file: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    // Sorted.
    let mut found: Vec<String> = Vec::new();
    let mut waiting: Vec<String> = paths.into_iter().collect();
    while let Some(path) = waiting.pop() {
        let language = language(&path, found.binary_search(&path).is_ok());
        let source = language.and_then(|_| text(&path));
        let (Some(language), Some(source)) = (language, source) else {
            continue;
        };
        for place in places(&path, &source, language, is_file) {
            if Language::of_path(&place).is_none()
                && let Err(at) = found.binary_search(&place)
            {
                found.insert(at, place.clone());
                waiting.push(place);
            }
        }
    }
    found
}

/// The files that a source includes.
fn places(
    path: &str,
    source: &str,
    language: Language,
    is_file: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let folder = parent(path).unwrap_or_default();
    let included = hipward_analyzer_files::included_requirements(source, language);
    included
        .iter()
        .filter_map(|Included { path, in_command }| {
            if *in_command {
                return near(folder, path, is_file);
            }
            Some(normalized(&join(folder, path))).filter(|path| is_file(path))
        })
        .collect()
}

/// The language of a file that may include requirements. Of Python, only `setup.py` does.
fn language(path: &str, is_included: bool) -> Option<Language> {
    if is_included {
        return Some(Language::Requirements);
    }
    match Language::of_path(path)? {
        Language::Python if path.rsplit('/').next() != Some("setup.py") => None,
        Language::CudaCpp | Language::Cmake | Language::Notebook => None,
        language => Some(language),
    }
}

/// The file that a command names. Commands run in any folder of the project or of a container, so the path is looked up in
/// the folder of the command's file and in those above it, then without its first parts: `/src/deps/gpu`, `deps/gpu`.
fn near(folder: &str, path: &str, is_file: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut rest = path.trim_start_matches('/');
    loop {
        let mut folder = Some(folder);
        while let Some(here) = folder {
            let place = normalized(&join(here, rest));
            if is_file(&place) {
                return Some(place);
            }
            folder = parent(here);
        }
        rest = rest.split_once('/')?.1;
    }
}

/// Without `.` and `..`, as far as there is a folder to leave.
fn normalized(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match (part, parts.last()) {
            (".", _) => {}
            ("..", Some(last)) if !matches!(*last, ".." | "") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, source: &str) -> Vec<String> {
        let files = ["a/deps/gpu", "a/deps/pins", "b/c.txt", "deps/base"];
        let text = |known: &str| (known == path).then_some(Cow::Borrowed(source));
        included_requirements([path.to_owned()], &text, &|path| files.contains(&path))
    }

    #[test]
    fn file_of_any_name_is_found_from_the_file_that_includes_it() {
        for (path, source, wanted) in [
            (
                "a/requirements.txt",
                "-r deps/gpu\n-c ./deps/pins\n-r ../deps/base\n-r missing.txt",
                &["a/deps/gpu", "a/deps/pins", "deps/base"][..],
            ),
            (
                "Dockerfile",
                "FROM x\nRUN pip install -r deps/base",
                &["deps/base"],
            ),
            (
                "a/docker/Dockerfile",
                "FROM x\nRUN pip install -U -r /work/deps/gpu --constraint=deps/pins",
                &["a/deps/gpu", "a/deps/pins"],
            ),
            (
                ".github/workflows/ci.yml",
                "jobs:\n  t:\n    steps:\n      - run: |\n          pip install -rdeps/base\n",
                &["deps/base"],
            ),
            (
                "a/environment.yml",
                "dependencies:\n  - pip:\n    - -r deps/pins\n",
                &["a/deps/pins"],
            ),
            (
                "b/setup.py",
                "setup(install_requires=open('c.txt').read().split())",
                &["b/c.txt"],
            ),
            ("b/other.py", "setup(install_requires=open('c.txt'))", &[]),
            (
                "b/run.sh",
                "if command -v nvidia-smi; then pip install -r c.txt; fi",
                &[],
            ),
            ("b/Makefile", "x:\n\tpip install -r c.txt\n", &["b/c.txt"]),
        ] {
            assert_eq!(of(path, source), wanted, "{path}");
        }
    }

    #[test]
    fn included_files_include_others_once() {
        let text = |path: &str| match path {
            "requirements.txt" => Some(Cow::Borrowed("-r one\n-r requirements-dev.txt")),
            "one" => Some(Cow::Borrowed("-r two\n-r one")),
            "two" => Some(Cow::Borrowed("-r one")),
            _ => None,
        };
        let found = included_requirements(["requirements.txt".to_owned()], &text, &|_| true);
        assert_eq!(found, ["one", "two"]);
    }

    #[test]
    fn parts_of_a_path_are_resolved() {
        for (path, wanted) in [
            ("./a/../b", "b"),
            ("../../b", "../../b"),
            ("/a/./b/..", "/a"),
            ("/../b", "/../b"),
        ] {
            assert_eq!(normalized(path), wanted);
        }
    }
}
