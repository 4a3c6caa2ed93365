//! Errors in a content folder: file, line, what is wrong, and what to do about it.

use std::fmt;
use thiserror::Error;

/// All errors of a content folder, in the order of files and lines.
#[derive(Debug, PartialEq, Eq)]
pub struct ContentErrors(pub Vec<ContentError>);

impl fmt::Display for ContentErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ContentErrors {}

/// An error in a content folder.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{file}:{line}: {mistake}")]
pub struct ContentError {
    /// Path under the content folder.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong, and what to do about it.
    pub mistake: Mistake,
}

impl From<ContentError> for Vec<ContentError> {
    fn from(error: ContentError) -> Self {
        vec![error]
    }
}

/// A kind of error. Its message states what to do.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Mistake {
    /// A lesson without front matter.
    #[error(
        "the lesson has no front matter; begin the file with a line `+++`, then TOML, then a line `+++`"
    )]
    NoFrontMatter,
    /// Invalid TOML, or wrong fields.
    #[error("{0}")]
    Toml(String),
    /// A folder of lessons without its `part.toml`.
    #[error("the part has no part.toml; add one with `title` and `summary`")]
    NoPart,
    /// A folder name without a number, which determines the order.
    #[error("the folder `{0}` has no number; name it like `01-port`")]
    NoNumber(String),
    /// Two folders with the same address.
    #[error("`{0}` is taken by another folder; give one of them another name")]
    Twice(String),
    /// A second heading of the first level.
    #[error("`# …` is the page's title, which comes from the front matter; use `## …`")]
    SecondTitle,
    /// HTML inside Markdown.
    #[error("HTML is not passed through; write it in Markdown, or in backticks to show it")]
    Html,
    /// A code block with an unknown attribute.
    #[error("`{0}` is not an attribute of a code block; it takes file, anchor, before and after")]
    UnknownAttribute(String),
    /// A code block with both a file and a body.
    #[error(
        "the code block names a file and has lines of its own; keep the lines or the attribute"
    )]
    BodyAndFile,
    /// A `diff` block with one side only.
    #[error("a diff of files needs both before=… and after=…")]
    HalfDiff,
    /// A missing file.
    #[error("there is no `{0}` beside the lesson; add it or correct the name")]
    NoFile(String),
    /// An anchor that the file does not have.
    #[error(
        "`{file}` has no anchor `{anchor}`; add the lines `# anchor: {anchor}` and `# end: {anchor}` around what to show"
    )]
    NoAnchor {
        /// The file.
        file: String,
        /// The anchor.
        anchor: String,
    },
    /// A question without a correct option.
    #[error("the question has no option with `correct = true`")]
    NoCorrectOption,
    /// A `predict` block with fields that do not belong together.
    #[error(
        "a prediction needs either [[option]] tables, or `answer`, a number, with `why`, and optionally `unit` and a relative `tolerance` from 0 to below 1"
    )]
    Prediction,
    /// A figure that cannot be shown.
    #[error("`{file}`: {reason}")]
    Figure {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A `run` block without an output or without its conditions.
    #[error("record the output of the command in `{0}`, and state in `recorded` when and where")]
    Transcript(String),
    /// A `write` block whose folder has no usable name.
    #[error("`{0}` is not a name for the folder of an exercise; use a-z, 0-9 and -")]
    ExerciseFolder(String),
    /// The start of an exercise that leaves nothing to write.
    #[error(
        "`{0}` has no hole; mark one with the lines `# hole: NAME` and `# end: NAME`, in HIP with `//`"
    )]
    NoHole(String),
    /// A judge without cases.
    #[error(
        "`{0}` has no case; define `def case_NAME(answer, random)` with its title as docstring"
    )]
    NoCase(String),
    /// An exercise with too few or too many hints.
    #[error(
        "the exercise has {0} hints; write 3 [[hint]] tables: a question, the idea, and the line with one gap"
    )]
    Hints(usize),
    /// A link that is not to a page.
    #[error(
        "the link `{0}` is not to a page; use https, http, mailto, or a path such as `/learn/`"
    )]
    LinkScheme(String),
    /// A formula that cannot be converted.
    #[error("the formula cannot be converted ({0}); write a literal dollar sign as `\\$`")]
    Math(String),
    /// A term that is in the glossary twice.
    #[error("the glossary has `{0}` twice; remove one of them")]
    TermTwice(String),
    /// A row of a reference table with too many or too few cells.
    #[error("row {0} does not have as many cells as there are columns")]
    RowLength(usize),
    /// A rule that does not exist.
    #[error("there is no rule `{0}`; `hipward rules` lists the rules")]
    NoRule(String),
    /// A claim whose evidence is missing or does not fit its verdict.
    #[error("a claim needs a table `evidence`, unless its verdict is unmeasured")]
    ClaimEvidence,
    /// A paraphrase in quotation marks.
    #[error(
        "quotation marks are for the source's own words: take them away, or write those words and `quote = true`"
    )]
    ClaimQuotation,
    /// An exercise with invalid conditions.
    #[error("the exercise's {0}")]
    Exercise(String),
    /// A lesson that does not exist.
    #[error("there is no lesson `{0}`; write part and lesson without their numbers")]
    NoLesson(String),
    /// A row that the results file does not have.
    #[error("results.csv has no row with the id `{0}`")]
    NoResult(String),
    /// An invalid results file.
    #[error("{0}")]
    Results(String),
    /// A link to a page that does not exist.
    #[error("the link goes to `{0}`, which is no page of this site; correct it or remove the link")]
    DeadLink(String),
}

impl ContentError {
    /// The path of the page that shows this error: that of its lesson or reference table, or else `/learn/`.
    pub fn page(&self) -> String {
        let slug = |folder: &str| super::numbered(folder).map(|(_, slug)| slug.to_owned());
        let segments: Vec<&str> = self.file.split('/').collect();
        match segments.as_slice() {
            ["reference", table] => {
                let slug = table.trim_end_matches(".toml");
                return format!("/reference/{slug}/");
            }
            [part, lesson, "lesson.md"] => {
                if let (Some(part), Some(lesson)) = (slug(part), slug(lesson)) {
                    return format!("/learn/{part}/{lesson}/");
                }
            }
            _ => {}
        }
        "/learn/".to_owned()
    }
}

impl Mistake {
    /// The error with its file and line.
    pub(crate) fn at(self, file: &str, line: usize) -> ContentError {
        ContentError {
            file: file.to_owned(),
            line,
            mistake: self,
        }
    }
}
