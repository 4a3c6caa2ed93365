//! A lesson's exercise: conditions on a source that are judged one by one.

use hipward_analyzer_core::{Judgement, Language, Target};
use hipward_analyzer_team::ExerciseError;

use crate::analysis::{Options, analyze};
use crate::selection::Selection;

/// The conditions of an exercise.
#[derive(Debug)]
pub struct Exercise(hipward_analyzer_team::Exercise);

impl Exercise {
    /// Reads `{no_findings: […], absent: […], present: […]}`.
    ///
    /// # Errors
    /// At the first condition that cannot be read.
    pub fn parse(json: &str) -> Result<Exercise, ExerciseError> {
        hipward_analyzer_team::Exercise::parse(json).map(Exercise)
    }

    /// Judges a Python source for the target.
    pub fn judge(&self, source: &str, target: &Target) -> Judgement {
        let names: Vec<&str> = self.0.rules().iter().map(|rule| rule.name).collect();
        let options = Options {
            target: target.clone(),
            rules: Selection::new(&names, &[]).unwrap_or_default(),
            language: Some(Language::Python),
            ..Options::default()
        };
        self.0.judge(source, target, &analyze(source, &options))
    }
}
