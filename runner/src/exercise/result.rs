//! The result of an answer, as the judge (`kernels/hipward_kernels/exercise/result.py`) writes it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The result of one answer.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, ToSchema)]
#[schema(as = ExerciseResult)]
pub(crate) struct Judged {
    /// The verdict.
    pub(crate) status: Status,
    /// All cases in the order of the judge.
    pub(crate) cases: Vec<Case>,
    /// Why the file did not load, could not be checked, or was stopped.
    pub(crate) message: Option<String>,
    /// Line of the answer, from 1, that `message` is about.
    pub(crate) line: Option<u32>,
    /// Messages of the exercise's wrong answers that fail in exactly these cases.
    pub(crate) hints: Vec<String>,
    /// Names of the holes that still have the content of the start.
    pub(crate) unfilled: Vec<String>,
    /// The beginning of what the answer printed, at most 8 KiB.
    pub(crate) output: String,
    /// Whether it printed more.
    pub(crate) output_truncated: bool,
    /// Wall time.
    pub(crate) seconds: f64,
    /// The seed that reproduces this run.
    pub(crate) seed: u64,
    /// Hash of the judge, which changes with it: 16 hexadecimal digits.
    pub(crate) judge: String,
}

/// The verdict on an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ExerciseStatus)]
pub(crate) enum Status {
    /// Every case passed.
    Solved,
    /// A case failed, or the judge was manipulated.
    NotYet,
    /// Importing the file raised.
    DidNotLoad,
    /// No case failed, and at least one cannot be checked on this machine.
    Unavailable,
    /// The time limit was reached.
    Timeout,
}

/// One case of a judge.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[schema(as = ExerciseCase)]
pub(crate) struct Case {
    /// Name of the judge's function.
    pub(crate) name: String,
    /// Title.
    pub(crate) title: String,
    /// What happened.
    pub(crate) status: CaseStatus,
    /// Why it failed, or why it cannot be checked.
    pub(crate) message: Option<String>,
    /// The line of the answer, from 1, that raised or stored a wrong value.
    pub(crate) line: Option<u32>,
    /// Kernels: findings of the emulator, such as a race.
    #[serde(default)]
    pub(crate) notes: Vec<Note>,
}

/// A finding of the emulator about a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[schema(as = ExerciseNote)]
pub(crate) struct Note {
    /// The line of the answer, from 1.
    pub(crate) line: Option<u32>,
    /// The kind of the finding, what happened, and in which lanes.
    pub(crate) message: String,
}

/// The result of one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ExerciseCaseStatus)]
pub(crate) enum CaseStatus {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// It cannot be checked on this machine.
    Unavailable,
    /// It did not run.
    NotRun,
}
