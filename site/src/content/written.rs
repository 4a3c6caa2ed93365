//! `write` exercises: a program with holes that the learner fills, judged by running it.

use super::source::Folder;
use super::{Mistake, fingerprint};
use serde::Deserialize;

/// The number of hints: a question, the idea, and the line with one gap.
const HINTS: usize = 3;

/// The body of a `write` block.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenBody {
    dir: String,
    title: String,
    task: String,
    minutes: u32,
    #[serde(default)]
    hint: Vec<Hint>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hint {
    text: String,
}

/// An exercise whose answer is a program.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// Its folder beside the lesson, which is also its id.
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) task: String,
    /// Time that the exercise takes.
    pub(crate) minutes: u32,
    pub(crate) hints: Vec<String>,
    /// The language of the program, as in a code fence: `python`, or `cpp` for HIP.
    pub(crate) language: &'static str,
    /// Name of the file with holes: `start.py` or `start.hip`.
    pub(crate) start_name: &'static str,
    /// The program with holes.
    pub(crate) start: String,
    pub(crate) solution: String,
    /// Titles of the judge's cases.
    pub(crate) cases: Vec<String>,
    /// Identifies the text of the judge, to recognize results of an earlier one.
    pub(crate) judge: String,
}

impl WrittenBody {
    pub(crate) fn read(self, folder: &Folder<'_>) -> Result<Written, Mistake> {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.dir.is_empty() || !self.dir.chars().all(is_name) {
            return Err(Mistake::ExerciseFolder(self.dir));
        }
        let file = |name: &str| format!("{}/{name}", self.dir);
        let (language, comment, start_name, solution_name) =
            if folder.text(&file("start.hip")).is_ok() {
                ("cpp", "//", "start.hip", "solution.hip")
            } else {
                ("python", "#", "start.py", "solution.py")
            };
        let start = folder.program(&file(start_name))?;
        let solution = folder.program(&file(solution_name))?;
        let judge = folder.text(&file("judge.py"))?;
        if !start.contains(&format!("{comment} hole: ")) {
            return Err(Mistake::NoHole(file(start_name)));
        }
        let cases = case_titles(judge);
        if cases.is_empty() {
            return Err(Mistake::NoCase(file("judge.py")));
        }
        if self.hint.len() != HINTS {
            return Err(Mistake::Hints(self.hint.len()));
        }
        Ok(Written {
            judge: fingerprint(judge),
            id: self.dir,
            title: self.title,
            task: self.task,
            minutes: self.minutes,
            hints: self.hint.into_iter().map(|hint| hint.text).collect(),
            language,
            start_name,
            start,
            solution: without_markers(&solution, comment),
            cases,
        })
    }
}

/// The first line of the docstring of each `case_…` function.
fn case_titles(judge: &str) -> Vec<String> {
    let mut lines = judge.lines();
    let mut titles = Vec::new();
    while let Some(line) = lines.next() {
        if !line.starts_with("def case_") {
            continue;
        }
        let docstring = lines.clone().next().unwrap_or_default().trim();
        if let Some(text) = docstring.strip_prefix("\"\"\"") {
            let text = text.trim_end_matches("\"\"\"").trim();
            titles.push(text.to_owned());
        }
    }
    titles
}

/// The solution without the markers of its holes.
fn without_markers(solution: &str, comment: &str) -> String {
    let is_marker = |line: &&str| {
        let text = line.trim().strip_prefix(comment);
        text.is_some_and(|text| text.starts_with(" hole: ") || text.starts_with(" end: "))
    };
    solution
        .lines()
        .filter(|line| !is_marker(line))
        .flat_map(|line| [line, "\n"])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_titled_by_their_docstrings() {
        let judge = "\"\"\"Judge.\"\"\"\n\ndef case_tail(answer, random):\n    \"\"\"A short row.\"\"\"\n\n\ndef helper():\n    \"\"\"No case.\"\"\"\n";
        assert_eq!(case_titles(judge), ["A short row."]);
    }

    #[test]
    fn a_solution_is_shown_without_the_markers_of_its_holes() {
        let solution = "x = 1\n    # hole: y\n    y = 2\n    # end: y\n";
        assert_eq!(without_markers(solution, "#"), "x = 1\n    y = 2\n");
        let kernel = "#include <a.h>\n// hole: y\ny = 2;\n// end: y\n";
        assert_eq!(without_markers(kernel, "//"), "#include <a.h>\ny = 2;\n");
    }
}
