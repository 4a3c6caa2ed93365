//! The code fences of a lesson: code, a diff, or a block whose body is TOML (try, write, bench, quiz, predict, claim,
//! figure, run). This module parses them; `page/blocks.rs` renders them.

use super::claims::Verdict;
use super::document::Fence;
use super::figure::{Figure, FigureBody};
use super::highlight::highlight;
use super::question::{Prediction, PredictionBody, Quiz};
use super::results::Results;
use super::source::Folder;
use super::transcript::{Transcript, TranscriptBody};
use super::written::{Written, WrittenBody};
use super::{ContentError, Mistake};
use hipward_analyzer::{DiffLine, Exercise, RULES, diff};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// A fence, read.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    /// Code to read and copy.
    Code(Code),
    /// Two files side by side in one column.
    Diff {
        /// Names of the files.
        caption: String,
        /// What to show of them.
        lines: Vec<DiffLine>,
    },
    /// A task for the playground.
    Try(Try),
    /// A benchmark that a runner can repeat.
    Bench(Bench),
    /// A question.
    Quiz(Quiz),
    /// A question that the reader answers before the answer shows.
    Predict(Prediction),
    /// A claim, and what is known of it.
    Claim(Claim),
    /// A figure.
    Figure(Figure),
    /// A command with its recorded output.
    Run(Transcript),
    /// An exercise whose answer is a program.
    Write(Written),
}

/// Code to read and copy.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    /// File name, where the code is a file's.
    pub(crate) caption: Option<String>,
    /// `python`.
    pub(crate) language: String,
    /// The text.
    pub(crate) source: String,
    /// The text, highlighted.
    pub(crate) html: String,
}

/// A task for the playground.
#[derive(Clone, Debug)]
pub(crate) struct Try {
    /// One sentence.
    pub(crate) task: String,
    /// Its conditions, as the JSON that the analyzer judges by.
    pub(crate) exercise: String,
    /// The text to start from.
    pub(crate) code: String,
    /// One way to do it.
    pub(crate) solution: Option<String>,
}

/// A benchmark that a runner can repeat.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    /// Subject of the measurement.
    pub(crate) title: String,
    /// What to look at in the result.
    pub(crate) note: String,
    /// File name.
    pub(crate) file: String,
    /// The snippet.
    pub(crate) code: String,
    /// Ids of rows in results.csv.
    pub(crate) results: Vec<String>,
}

/// A claim, and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    /// The claim and its source.
    pub(crate) statement: Statement,
    /// The result of checking it.
    pub(crate) verdict: ClaimVerdict,
    /// The part that was measured here. The page shows it after "We measured".
    pub(crate) measured: Option<String>,
}

/// A statement with its source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Statement {
    /// In the source's words if `quote`, else in ours.
    pub(crate) text: String,
    /// Whether `text` is the source's, word for word.
    #[serde(default)]
    pub(crate) quote: bool,
    /// Source of the claim.
    pub(crate) source: String,
    /// Where.
    pub(crate) url: Option<String>,
}

/// The result of checking a claim, with its evidence.
#[derive(Clone, Debug)]
pub(crate) enum ClaimVerdict {
    Holds(Statement),
    Depends(Statement),
    Wrong(Statement),
    Unmeasured,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimBody {
    verdict: Verdict,
    measured: Option<String>,
    claim: Statement,
    evidence: Option<Statement>,
}

impl ClaimBody {
    fn claim(self) -> Result<Claim, Mistake> {
        let verdict = match (self.verdict, self.evidence) {
            (Verdict::Holds, Some(evidence)) => ClaimVerdict::Holds(evidence),
            (Verdict::Depends, Some(evidence)) => ClaimVerdict::Depends(evidence),
            (Verdict::Wrong, Some(evidence)) => ClaimVerdict::Wrong(evidence),
            (Verdict::Unmeasured, None) => ClaimVerdict::Unmeasured,
            _ => return Err(Mistake::ClaimEvidence),
        };
        if !self.claim.quote && self.claim.text.starts_with(['“', '"']) {
            return Err(Mistake::ClaimQuotation);
        }
        Ok(Claim {
            statement: self.claim,
            verdict,
            measured: self.measured,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TryBody {
    file: String,
    task: String,
    #[serde(default)]
    no_findings: Vec<String>,
    #[serde(default)]
    present: Vec<serde_json::Value>,
    #[serde(default)]
    absent: Vec<serde_json::Value>,
    solution: Option<String>,
}

impl TryBody {
    /// The conditions, for the analyzer; it has to be able to read them.
    fn exercise(&self) -> Result<String, Mistake> {
        known_rules(&self.no_findings)?;
        let json = json!({ "no_findings": self.no_findings, "present": self.present, "absent": self.absent });
        let json = json.to_string();
        match Exercise::parse(&json) {
            Ok(_) => Ok(json),
            Err(error) => Err(Mistake::Exercise(error.to_string())),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BenchBody {
    file: String,
    title: String,
    note: String,
    #[serde(default)]
    results: Vec<String>,
}

/// Context of a fenced block: the files that it may refer to, and its position.
pub(crate) struct Around<'a> {
    /// The files beside the lesson.
    pub(crate) folder: Folder<'a>,
    /// Recorded measurements.
    pub(crate) results: &'a Results,
    /// The lesson's file, for error messages.
    pub(crate) path: &'a str,
    /// Lines of that file before its Markdown.
    pub(crate) offset: usize,
}

/// Reads one fence.
pub(crate) fn read(fence: &Fence<'_>, around: &Around<'_>) -> Result<Block, Vec<ContentError>> {
    let line = fence.line + around.offset;
    let at = |mistake: Mistake| vec![mistake.at(around.path, line)];
    let folder = &around.folder;
    let word = fence.info.split_whitespace().next().unwrap_or_default();
    match word {
        "try" => {
            let body: TryBody = toml_body(fence, around.path, line)?;
            Ok(Block::Try(Try {
                exercise: body.exercise().map_err(at)?,
                code: folder.whole(&body.file).map_err(at)?,
                solution: body
                    .solution
                    .map(|file| folder.whole(&file))
                    .transpose()
                    .map_err(at)?,
                task: body.task,
            }))
        }
        "bench" => {
            let body: BenchBody = toml_body(fence, around.path, line)?;
            if let Some(id) = body
                .results
                .iter()
                .find(|id| around.results.row(id).is_none())
            {
                return Err(at(Mistake::NoResult(id.clone())));
            }
            Ok(Block::Bench(Bench {
                code: folder.whole(&body.file).map_err(at)?,
                title: body.title,
                note: body.note,
                file: body.file,
                results: body.results,
            }))
        }
        "quiz" => {
            let quiz: Quiz = toml_body(fence, around.path, line)?;
            quiz.checked().map(Block::Quiz).map_err(at)
        }
        "predict" => {
            let body: PredictionBody = toml_body(fence, around.path, line)?;
            body.read().map(Block::Predict).map_err(at)
        }
        "figure" => {
            let body: FigureBody = toml_body(fence, around.path, line)?;
            body.read(folder).map(Block::Figure).map_err(at)
        }
        "run" => {
            let body: TranscriptBody = toml_body(fence, around.path, line)?;
            body.read(folder).map(Block::Run).map_err(at)
        }
        "write" => {
            let body: WrittenBody = toml_body(fence, around.path, line)?;
            body.read(folder).map(Block::Write).map_err(at)
        }
        "claim" => {
            let body: ClaimBody = toml_body(fence, around.path, line)?;
            body.claim().map(Block::Claim).map_err(at)
        }
        language => code(fence, language, folder).map_err(at),
    }
}

/// A block of code without files, as rule pages have them.
pub(crate) fn plain(fence: &Fence<'_>) -> Code {
    let language = fence.info.split_whitespace().next().unwrap_or("text");
    Code {
        caption: None,
        language: language.to_owned(),
        source: fence.body.to_owned(),
        html: highlight(fence.body, language),
    }
}

fn code(fence: &Fence<'_>, language: &str, folder: &Folder<'_>) -> Result<Block, Mistake> {
    let attributes = Attributes::read(fence.info)?;
    let names_files = attributes.file.or(attributes.before).or(attributes.after);
    if names_files.is_some() && !fence.body.trim().is_empty() {
        return Err(Mistake::BodyAndFile);
    }
    match attributes {
        Attributes {
            before: Some(before),
            after: Some(after),
            ..
        } => Ok(Block::Diff {
            caption: format!("{before} → {after}"),
            lines: diff(&folder.whole(before)?, &folder.whole(after)?),
        }),
        Attributes {
            file: Some(file),
            anchor,
            before: None,
            after: None,
        } => {
            let source = match anchor {
                Some(anchor) => folder.region(file, anchor)?,
                None => folder.whole(file)?,
            };
            Ok(Block::Code(Code {
                caption: Some(file.to_owned()),
                language: language.to_owned(),
                html: highlight(&source, language),
                source,
            }))
        }
        Attributes {
            file: None,
            before: None,
            after: None,
            ..
        } => Ok(Block::Code(plain(fence))),
        _ => Err(Mistake::HalfDiff),
    }
}

/// Attributes after the language.
#[derive(Default)]
struct Attributes<'a> {
    file: Option<&'a str>,
    anchor: Option<&'a str>,
    before: Option<&'a str>,
    after: Option<&'a str>,
}

impl<'a> Attributes<'a> {
    fn read(info: &'a str) -> Result<Self, Mistake> {
        let mut attributes = Attributes::default();
        for word in info.split_whitespace().skip(1) {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let place = match key {
                "file" => &mut attributes.file,
                "anchor" => &mut attributes.anchor,
                "before" => &mut attributes.before,
                "after" => &mut attributes.after,
                _ => return Err(Mistake::UnknownAttribute(key.to_owned())),
            };
            *place = Some(value);
        }
        Ok(attributes)
    }
}

fn known_rules(names: &[String]) -> Result<(), Mistake> {
    match names
        .iter()
        .find(|name| !RULES.iter().any(|rule| rule.name == name.as_str()))
    {
        Some(unknown) => Err(Mistake::NoRule(unknown.clone())),
        None => Ok(()),
    }
}

fn toml_body<T: DeserializeOwned>(
    fence: &Fence<'_>,
    lesson: &str,
    line: usize,
) -> Result<T, Vec<ContentError>> {
    super::read_toml(fence.body, lesson, line + 1)
}
