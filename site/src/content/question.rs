//! Questions to the reader: `quiz`, and `predict`, whose answer shows after the reader has committed to one.

use super::{Mistake, fingerprint};
use serde::Deserialize;

/// A question with its answers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quiz {
    /// The question.
    pub(crate) question: String,
    /// Answers to choose from.
    pub(crate) option: Vec<QuizOption>,
}

/// One answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuizOption {
    /// The answer.
    pub(crate) text: String,
    /// Whether it is right.
    #[serde(default)]
    pub(crate) correct: bool,
    /// The reason why it is right or wrong.
    pub(crate) why: String,
}

impl Quiz {
    pub(crate) fn checked(self) -> Result<Self, Mistake> {
        check_options(&self.option)?;
        Ok(self)
    }

    /// Identifies the question in the reader's browser.
    pub(crate) fn key(&self) -> String {
        key(&self.question, &self.option)
    }
}

/// Hash of a question and its options, whose positions the browser stores as the answer.
fn key(question: &str, options: &[QuizOption]) -> String {
    let options = options.iter().map(|option| option.text.as_str());
    let texts: Vec<&str> = std::iter::once(question).chain(options).collect();
    fingerprint(&texts.join("\n"))
}

fn check_options(options: &[QuizOption]) -> Result<(), Mistake> {
    match options.iter().any(|option| option.correct) {
        true => Ok(()),
        false => Err(Mistake::NoCorrectOption),
    }
}

/// The body of a `predict` block.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PredictionBody {
    question: String,
    option: Option<Vec<QuizOption>>,
    answer: Option<f64>,
    tolerance: Option<f64>,
    unit: Option<String>,
    why: Option<String>,
}

/// A question that the reader answers before the answer shows.
#[derive(Clone, Debug)]
pub(crate) struct Prediction {
    pub(crate) question: String,
    pub(crate) answer: PredictedAnswer,
}

impl Prediction {
    /// Identifies the question in the reader's browser.
    pub(crate) fn key(&self) -> String {
        let options = match &self.answer {
            PredictedAnswer::Choice(options) => options.as_slice(),
            PredictedAnswer::Number { .. } => &[],
        };
        key(&self.question, options)
    }
}

/// The answer of a prediction.
#[derive(Clone, Debug)]
pub(crate) enum PredictedAnswer {
    /// One of several options.
    Choice(Vec<QuizOption>),
    /// A number.
    Number {
        value: f64,
        /// Largest accepted error, relative to `value`.
        tolerance: f64,
        /// Unit; may be empty.
        unit: String,
        why: String,
    },
}

/// Relative error of an accepted number, unless the block sets another.
const TOLERANCE: f64 = 0.05;

impl PredictionBody {
    pub(crate) fn read(self) -> Result<Prediction, Mistake> {
        let answer = match self {
            PredictionBody {
                option: Some(options),
                answer: None,
                tolerance: None,
                unit: None,
                why: None,
                ..
            } => {
                check_options(&options)?;
                PredictedAnswer::Choice(options)
            }
            PredictionBody {
                option: None,
                answer: Some(value),
                tolerance,
                unit,
                why: Some(why),
                ..
            } => {
                let tolerance = tolerance.unwrap_or(TOLERANCE);
                if !(value.is_finite() && (0.0..1.0).contains(&tolerance)) {
                    return Err(Mistake::Prediction);
                }
                PredictedAnswer::Number {
                    value,
                    tolerance,
                    unit: unit.unwrap_or_default(),
                    why,
                }
            }
            _ => return Err(Mistake::Prediction),
        };
        Ok(Prediction {
            question: self.question,
            answer,
        })
    }
}
