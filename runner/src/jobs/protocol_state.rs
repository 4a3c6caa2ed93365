//! Checks the lines of a worker: which may follow which, how many, and with which values. The job's code runs in the process that writes
//! them, so no line is trusted: one that violates the protocol ends the job.

use hipward_protocol::{HarnessLine, Measurement, VariantId};
use std::{collections::HashMap, time::Duration};

/// Maximum number of samples of a variant: the harness's `StopRule.max_samples`.
const MAX_SAMPLES: usize = 1000;
/// Maximum number of warnings of a job. The harness writes about two for each variant.
const MAX_WARNINGS: usize = 64;
/// Maximum number of steps of a job. The harness starts about six for each variant.
const MAX_STEPS: usize = 256;
/// Factor by which the clocks of two processes may differ.
const CLOCK_DRIFT: f64 = 1.01;
/// Seconds by which a line may arrive too early, in addition.
const CLOCK_SLACK_S: f64 = 0.25;

/// Why a line is invalid.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Violation {
    /// It must not follow the lines before it, or a value is invalid.
    InvalidLine(String),
    /// Its times add up to more than the elapsed time.
    Clock {
        /// Total duration of the calls according to the lines, seconds.
        reported: f64,
        /// Elapsed time since the job was sent to the worker, seconds.
        passed: f64,
    },
}

/// How far one variant has come.
#[derive(Debug, PartialEq)]
enum Stage {
    Announced,
    Checked,
    Warm,
    Timed { samples: usize, round: u32 },
    Sampled { hot: bool },
    Out,
}

/// The state of one job's protocol.
#[derive(Debug)]
pub(super) struct ProtocolState {
    requested: Vec<VariantId>,
    accepted: bool,
    environment: bool,
    roofline: bool,
    warnings: usize,
    steps: usize,
    announced: Option<HashMap<VariantId, Stage>>,
    reported_ms: f64,
}

impl ProtocolState {
    /// The state before the first line. `requested` are the job's variants.
    pub(super) fn new(requested: &[VariantId]) -> ProtocolState {
        ProtocolState {
            requested: requested.to_vec(),
            accepted: false,
            environment: false,
            roofline: false,
            warnings: 0,
            steps: 0,
            announced: None,
            reported_ms: 0.0,
        }
    }

    /// Whether the worker has reported the end of a variant's sampling.
    pub(super) fn is_sampled(&self, variant: &VariantId) -> bool {
        let stage = self.announced.as_ref().and_then(|all| all.get(variant));
        matches!(stage, Some(Stage::Sampled { .. }))
    }

    /// Checks a line that arrived `passed` after the job was sent, and updates the state.
    pub(super) fn take(&mut self, line: &HarnessLine, passed: Duration) -> Result<(), Violation> {
        match line {
            HarnessLine::Ready => Err(order("it is ready twice")),
            HarnessLine::Accepted => first(&mut self.accepted, "the job was accepted"),
            HarnessLine::Error(_) | HarnessLine::Finished => Ok(()),
            HarnessLine::Sampled { variant, .. } => {
                let stage = self.stage(variant)?;
                match stage {
                    Stage::Timed { .. } => *stage = Stage::Sampled { hot: false },
                    _ => return Err(out_of_order("the end of the sampling", variant, stage)),
                }
                Ok(())
            }
            HarnessLine::Measured(measurement) => self.measured(measurement, passed),
        }
    }

    fn measured(&mut self, measurement: &Measurement, passed: Duration) -> Result<(), Violation> {
        match measurement {
            Measurement::Environment(environment) => {
                if self.announced.is_some() {
                    return Err(order("the environment comes after the variants"));
                }
                check_duration(environment.clock_overhead_ms)?;
                first(&mut self.environment, "the environment was reported")
            }
            Measurement::Variants { variants } => {
                if !self.environment {
                    return Err(order("the variants come before the environment"));
                }
                if self.announced.is_some() {
                    return Err(order("the variants were announced twice"));
                }
                let mut announced = HashMap::new();
                for variant in variants {
                    if !self.requested.contains(&variant.id) {
                        return Err(about("which the job did not request", &variant.id));
                    }
                    if announced
                        .insert(variant.id.clone(), Stage::Announced)
                        .is_some()
                    {
                        return Err(about("which is announced twice", &variant.id));
                    }
                }
                self.announced = Some(announced);
                Ok(())
            }
            Measurement::Roofline(roofline) => {
                if self.announced.is_none() {
                    return Err(order("the roofline comes before the variants"));
                }
                check_duration(roofline.floor_ms)?;
                first(&mut self.roofline, "the roofline was reported")
            }
            Measurement::Warning { .. } => {
                self.warnings += 1;
                match self.warnings <= MAX_WARNINGS {
                    true => Ok(()),
                    false => Err(order("there are too many warnings")),
                }
            }
            Measurement::Step { variant, .. } => {
                if self.announced.is_none() {
                    return Err(order("a step comes before the variants"));
                }
                if let Some(variant) = variant {
                    self.stage(variant)?;
                }
                self.steps += 1;
                match self.steps <= MAX_STEPS {
                    true => Ok(()),
                    false => Err(order("there are too many steps")),
                }
            }
            Measurement::Unavailable { variant, .. } => {
                *self.stage(variant)? = Stage::Out;
                Ok(())
            }
            Measurement::Precision {
                variant, passed, ..
            } => {
                let stage = self.stage(variant)?;
                *stage = match (passed, &*stage) {
                    // A variant may fail at any time, also while it is timed.
                    (false, _) => Stage::Out,
                    (true, Stage::Announced) => Stage::Checked,
                    (true, _) => return Err(out_of_order("the precision", variant, stage)),
                };
                Ok(())
            }
            Measurement::Compile {
                variant, seconds, ..
            } => {
                check_duration(*seconds)?;
                let stage = self.stage(variant)?;
                match stage {
                    Stage::Checked => *stage = Stage::Warm,
                    _ => return Err(out_of_order("the compilation", variant, stage)),
                }
                Ok(())
            }
            Measurement::Hot { variant, hot } => {
                hot.ms
                    .iter()
                    .chain([&hot.wall_ms])
                    .try_for_each(|ms| check_duration(*ms))?;
                let stage = self.stage(variant)?;
                match stage {
                    Stage::Sampled { hot } if !*hot => *hot = true,
                    _ => return Err(out_of_order("the time with warm caches", variant, stage)),
                }
                Ok(())
            }
            Measurement::Samples { variant, round, ms } => {
                self.samples(variant, *round, ms)?;
                self.reported_ms += ms.iter().sum::<f64>();
                let (reported, passed) = (self.reported_ms * 1e-3, passed.as_secs_f64());
                if reported > passed * CLOCK_DRIFT + CLOCK_SLACK_S {
                    return Err(Violation::Clock { reported, passed });
                }
                Ok(())
            }
        }
    }

    fn samples(&mut self, variant: &VariantId, round: u32, ms: &[f64]) -> Result<(), Violation> {
        if !ms.iter().all(|ms| *ms > 0.0) {
            return Err(order("a sample is not a duration"));
        }
        ms.iter().try_for_each(|ms| check_duration(*ms))?;
        let stage = self.stage(variant)?;
        let samples = match stage {
            Stage::Warm => ms.len(),
            Stage::Timed {
                samples,
                round: last,
            } if round > *last => *samples + ms.len(),
            Stage::Timed { .. } => {
                return Err(about("whose rounds do not follow one another", variant));
            }
            _ => return Err(out_of_order("samples", variant, stage)),
        };
        if ms.is_empty() || samples > MAX_SAMPLES {
            return Err(about("which has no samples or too many", variant));
        }
        *stage = Stage::Timed { samples, round };
        Ok(())
    }

    fn stage(&mut self, variant: &VariantId) -> Result<&mut Stage, Violation> {
        let stage = self.announced.as_mut().and_then(|all| all.get_mut(variant));
        stage.ok_or_else(|| about("which was not announced", variant))
    }
}

fn order(problem: impl Into<String>) -> Violation {
    Violation::InvalidLine(problem.into())
}

/// A violation about a variant. The name may be anything and is cut.
fn about(problem: &str, variant: &VariantId) -> Violation {
    let name: String = variant.name().chars().take(40).collect();
    order(format!("it is about the variant {name:?}, {problem}"))
}

fn out_of_order(what: &str, variant: &VariantId, stage: &Stage) -> Violation {
    let when = match stage {
        Stage::Announced => "before its precision was checked",
        Stage::Checked => "before it was compiled",
        Stage::Warm => "before it was timed",
        Stage::Timed { .. } => "while it is timed",
        Stage::Sampled { .. } => "after its sampling ended",
        Stage::Out => "after it was excluded",
    };
    let name = variant.name();
    order(format!("{what} of the variant {name:?} came {when}"))
}

fn first(reported: &mut bool, what: &str) -> Result<(), Violation> {
    match std::mem::replace(reported, true) {
        false => Ok(()),
        true => Err(order(format!("{what} twice"))),
    }
}

fn check_duration(value: f64) -> Result<(), Violation> {
    match value.is_finite() && value >= 0.0 {
        true => Ok(()),
        false => Err(order("a value is not a duration")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const LONG: Duration = Duration::from_secs(60);

    fn environment() -> Value {
        json!({"type": "environment", "device_name": "a", "arch": "b", "torch": "2", "python": "3", "threads": 1,
               "clock": "c", "clock_overhead_ms": 0.1, "cache": "warm", "stop_rule": "d"})
    }

    fn variants(names: &[&str]) -> Value {
        let variant = |name: &&str| json!({"id": name, "label": name, "about": name});
        json!({"type": "variants", "variants": names.iter().map(variant).collect::<Vec<_>>()})
    }

    fn precision(passed: bool) -> Value {
        json!({"type": "precision", "variant": "eager", "passed": passed, "outputs": [], "seeds": 5,
               "reference": "float64"})
    }

    fn step(name: &str) -> Value {
        json!({"type": "step", "step": name})
    }

    fn compile() -> Value {
        json!({"type": "compile", "variant": "eager", "seconds": 0.5})
    }

    fn samples(round: u32, ms: &[f64]) -> Value {
        json!({"type": "samples", "variant": "eager", "round": round, "ms": ms})
    }

    fn sampled() -> Value {
        json!({"type": "sampled", "variant": "eager", "stop": "converged"})
    }

    fn hot() -> Value {
        json!({"type": "hot", "variant": "eager", "hot": {"ms": [0.5], "calls": 2, "wall_ms": 0.6}})
    }

    fn roofline() -> Value {
        json!({"type": "roofline", "bytes_read": 1, "bytes_written": 1, "flops": 0, "copy_gbs": 1.0,
               "bandwidth_gbs": 1.0, "bandwidth_source": "a", "peak_source": "b", "floor_ms": 0.1, "bound": "memory"})
    }

    /// Checks the last of these lines. Those before it must be valid.
    fn check_lines(lines: &[Value]) -> Result<(), Violation> {
        let requested = [VariantId::EAGER, VariantId::CONTROL];
        let mut state = ProtocolState::new(&requested);
        let read = |line: &Value| serde_json::from_value(line.clone()).expect("is a line");
        let (last, before) = lines.split_last().expect("some lines");
        for line in before {
            assert_eq!(state.take(&read(line), LONG), Ok(()), "{line}");
        }
        state.take(&read(last), LONG)
    }

    fn up_to_samples() -> Vec<Value> {
        let mut lines = vec![
            json!({"type": "accepted"}),
            environment(),
            variants(&["eager"]),
            step("load"),
        ];
        lines.extend([roofline(), precision(true), compile(), samples(0, &[1.0])]);
        lines
    }

    #[test]
    fn complete_job_is_accepted() {
        let mut lines = up_to_samples();
        lines.extend([samples(2, &[1.0; 999]), sampled(), hot()]);
        lines.extend([
            json!({"type": "warning", "text": "a"}),
            json!({"type": "finished"}),
        ]);
        assert_eq!(check_lines(&lines), Ok(()));
    }

    #[test]
    fn lines_out_of_order_are_rejected_with_a_reason() {
        let after = |next: &[Value]| {
            let lines = [up_to_samples(), next.to_vec()].concat();
            match check_lines(&lines) {
                Err(Violation::InvalidLine(problem)) => problem,
                other => panic!("{other:?} for {next:?}"),
            }
        };
        for (next, problem) in [
            (vec![json!({"type": "ready"})], "ready twice"),
            (vec![json!({"type": "accepted"})], "accepted twice"),
            (vec![environment()], "after the variants"),
            (vec![variants(&["eager"])], "announced twice"),
            (vec![roofline()], "reported twice"),
            (vec![precision(true)], "while it is timed"),
            (vec![compile()], "while it is timed"),
            (vec![hot()], "while it is timed"),
            (vec![samples(0, &[1.0])], "rounds do not follow"),
            (vec![samples(1, &[1.0; 1000])], "too many"),
            (vec![samples(1, &[])], "no samples"),
            (vec![samples(1, &[-1.0])], "not a duration"),
            (vec![sampled(), sampled()], "after its sampling ended"),
            (
                vec![sampled(), samples(1, &[1.0])],
                "after its sampling ended",
            ),
            (vec![sampled(), hot(), hot()], "after its sampling ended"),
            // No line may follow a failure, also after samples.
            (
                vec![precision(false), samples(1, &[1.0])],
                "after it was excluded",
            ),
            (vec![precision(false), sampled()], "after it was excluded"),
            (
                vec![sampled(), precision(false), hot()],
                "after it was excluded",
            ),
        ] {
            let problem_text = after(&next);
            assert!(
                problem_text.contains(problem),
                "{problem_text:?} does not contain {problem:?}"
            );
        }
    }

    #[test]
    fn variants_must_be_announced_first_and_requested() {
        for lines in [
            vec![precision(true)],
            vec![step("load")],
            vec![
                environment(),
                variants(&["eager"]),
                json!({"type": "step", "step": "compile", "variant": "record"}),
            ],
            vec![variants(&["eager"])],
            vec![environment(), variants(&["eager", "record"])],
            vec![environment(), variants(&["eager", "eager"])],
            vec![environment(), variants(&["eager-control"]), precision(true)],
            vec![environment(), variants(&["eager"]), samples(0, &[1.0])],
            vec![
                environment(),
                variants(&["eager"]),
                precision(true),
                samples(0, &[1.0]),
            ],
            vec![environment(), roofline()],
        ] {
            assert!(
                matches!(check_lines(&lines), Err(Violation::InvalidLine(_))),
                "{lines:?}"
            );
        }
        let warning = json!({"type": "warning", "text": "again"});
        assert!(check_lines(&vec![warning; MAX_WARNINGS + 1]).is_err());
    }

    #[test]
    fn reported_times_must_not_exceed_the_elapsed_time() {
        let requested = [VariantId::EAGER];
        let mut state = ProtocolState::new(&requested);
        let read = |line: &Value| serde_json::from_value(line.clone()).expect("is a line");
        let mut lines = up_to_samples();
        lines.pop();
        for line in &lines {
            state.take(&read(line), LONG).expect("is right");
        }
        let one_second = |round| read(&samples(round, &[100.0; 10]));
        let passed = Duration::from_secs;
        assert_eq!(state.take(&one_second(0), passed(1)), Ok(()));
        assert_eq!(state.take(&one_second(1), passed(2)), Ok(()));
        let violation = state.take(&one_second(2), passed(2));
        let Err(Violation::Clock { reported, passed }) = violation else {
            panic!("{violation:?}")
        };
        assert!((2.9..3.1).contains(&reported) && passed == 2.0);
    }
}
