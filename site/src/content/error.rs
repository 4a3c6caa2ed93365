//! What can be wrong with a content folder, each with its place and what to do.

use thiserror::Error;

/// A mistake in a content folder: where it is, what it is, what to do about it.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{file}:{line}: {mistake}")]
pub struct ContentError {
    /// Path under the content folder.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub mistake: Mistake,
}

/// What is wrong.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Mistake {
    /// A lesson without front matter.
    #[error(
        "the lesson has no front matter; begin the file with a line `+++`, then TOML, then a line `+++`"
    )]
    NoFrontMatter,
    /// TOML that does not read, or has the wrong fields.
    #[error("{0}")]
    Toml(String),
    /// A folder of lessons without its `part.toml`.
    #[error("the part has no part.toml; add one with `title` and `summary`")]
    NoPart,
    /// A folder name that gives no place in the order.
    #[error("the folder `{0}` has no number; name it like `01-port`")]
    NoNumber(String),
    /// Two folders that would get the same address.
    #[error("`{0}` is taken by another folder; give one of them another name")]
    Twice(String),
    /// A heading that competes with the page's title.
    #[error("`# …` is the page's title, which comes from the front matter; use `## …`")]
    SecondTitle,
    /// HTML inside Markdown.
    #[error("HTML is not passed through; write it in Markdown, or in backticks to show it")]
    Html,
    /// A fence with a word it does not know.
    #[error("`{0}` is not an attribute of a code block; it takes file, anchor, before and after")]
    UnknownAttribute(String),
    /// A fence that names a file and has a body too.
    #[error(
        "the code block names a file and has lines of its own; keep the lines or the attribute"
    )]
    BodyAndFile,
    /// A `diff` fence with one side only.
    #[error("a diff of files needs both before=… and after=…")]
    HalfDiff,
    /// A file that is not there.
    #[error("there is no `{0}` beside the lesson; add it or correct the name")]
    NoFile(String),
    /// An anchor that is not in the file.
    #[error(
        "`{file}` has no anchor `{anchor}`; add the lines `# anchor: {anchor}` and `# end: {anchor}` around what to show"
    )]
    NoAnchor {
        /// The file.
        file: String,
        /// The anchor.
        anchor: String,
    },
    /// A quiz that nobody can pass.
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
    #[error("`{0}` has no hole; mark one with the lines `# hole: NAME` and `# end: NAME`")]
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
    /// A formula that cannot be converted.
    #[error("the formula cannot be converted ({0}); write a literal dollar sign as `\\$`")]
    Math(String),
    /// A term that is in the glossary twice.
    #[error("the glossary has `{0}` twice; remove one of them")]
    TermTwice(String),
    /// A reference table's row with a cell too many or too few.
    #[error("row {0} does not have as many cells as there are columns")]
    RowLength(usize),
    /// A rule that does not exist.
    #[error("there is no rule `{0}`; `hipward explain` lists the rules")]
    NoRule(String),
    /// A claim whose verdict has no source, or one that does not go with it.
    #[error("a claim needs a table `evidence`, unless its verdict is unmeasured")]
    ClaimEvidence,
    /// A paraphrase that looks like a quotation.
    #[error(
        "quotation marks are for the source's own words: take them away, or write those words and `quote = true`"
    )]
    ClaimQuotation,
    /// An exercise whose conditions do not read.
    #[error("the exercise's {0}")]
    Exercise(String),
    /// A lesson that does not exist.
    #[error("there is no lesson `{0}`; write part and lesson without their numbers")]
    NoLesson(String),
    /// A row that is not in the results file.
    #[error("results.csv has no row with the id `{0}`")]
    NoResult(String),
    /// A results file that does not read.
    #[error("{0}")]
    Results(String),
    /// A link to a page that does not exist.
    #[error("the link goes to `{0}`, which is no page of this site")]
    DeadLink(String),
}

impl Mistake {
    /// Puts the mistake at its place.
    pub(crate) fn at(self, file: &str, line: usize) -> ContentError {
        ContentError {
            file: file.to_owned(),
            line,
            mistake: self,
        }
    }
}
