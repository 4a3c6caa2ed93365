//! What a worker may say, in which order and how much of it. The job's code runs in the process that says it, so nothing
//! is taken for granted: a line that cannot follow on those before it ends the job.

use hipward_protocol::{HarnessLine, Measurement, VariantId};
use std::{collections::HashMap, time::Duration};

/// Most samples of a variant: the harness's `StopRule.max_samples`.
const MOST_SAMPLES: usize = 1000;
/// Most cautions of a job: the harness has about two for a variant.
const MOST_CAUTIONS: usize = 64;
/// Clocks of two processes may run apart by this share, …
const CLOCKS_DIFFER: f64 = 1.01;
/// … and a line that says little may come early by this much.
const CLOCK_SLACK_S: f64 = 0.25;

/// A line that cannot be true.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Violation {
    /// It cannot follow on those before it.
    Order(String),
    /// Its times add up to more than has passed.
    Clock {
        /// Seconds that calls took, as the lines say.
        reported: f64,
        /// Seconds since the job was handed over.
        passed: f64,
    },
}

/// What has been said of one variant.
#[derive(Debug, PartialEq)]
enum Stage {
    Announced,
    Checked,
    Warm,
    Timed { samples: usize, round: u32 },
    Sampled { hot: bool },
    Out,
}

/// One job's lines so far.
#[derive(Debug)]
pub(super) struct Conversation {
    asked: Vec<VariantId>,
    accepted: bool,
    environment: bool,
    roofline: bool,
    cautions: usize,
    announced: Option<HashMap<VariantId, Stage>>,
    reported_ms: f64,
}

impl Conversation {
    /// Before the first line of a job that asked for these variants.
    pub(super) fn new(asked: &[VariantId]) -> Conversation {
        Conversation {
            asked: asked.to_vec(),
            accepted: false,
            environment: false,
            roofline: false,
            cautions: 0,
            announced: None,
            reported_ms: 0.0,
        }
    }

    /// Whether the sampling of a variant was said to have ended.
    pub(super) fn is_sampled(&self, variant: &VariantId) -> bool {
        let stage = self.announced.as_ref().and_then(|all| all.get(variant));
        matches!(stage, Some(Stage::Sampled { .. }))
    }

    /// Takes a line that came `passed` after the job was handed over, unless it cannot be true.
    pub(super) fn take(&mut self, line: &HarnessLine, passed: Duration) -> Result<(), Violation> {
        match line {
            HarnessLine::Ready => Err(order("it is ready twice")),
            HarnessLine::Accepted => first(&mut self.accepted, "the job was accepted"),
            HarnessLine::Error(_) | HarnessLine::Finished => Ok(()),
            HarnessLine::Sampled { variant, .. } => {
                let stage = self.stage(variant)?;
                match stage {
                    Stage::Timed { .. } => *stage = Stage::Sampled { hot: false },
                    _ => return Err(untimely("the end of the sampling", variant, stage)),
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
                    return Err(order("the conditions come after the variants"));
                }
                length_of_time(environment.clock_overhead_ms)?;
                first(&mut self.environment, "the conditions were given")
            }
            Measurement::Variants { variants } => {
                if !self.environment {
                    return Err(order("the variants come before the conditions"));
                }
                if self.announced.is_some() {
                    return Err(order("the variants were announced twice"));
                }
                let mut announced = HashMap::new();
                for variant in variants {
                    if !self.asked.contains(&variant.id) {
                        return Err(of("which the job did not ask for", &variant.id));
                    }
                    if announced
                        .insert(variant.id.clone(), Stage::Announced)
                        .is_some()
                    {
                        return Err(of("which is announced twice", &variant.id));
                    }
                }
                self.announced = Some(announced);
                Ok(())
            }
            Measurement::Roofline(roofline) => {
                if self.announced.is_none() {
                    return Err(order("the roofline comes before the variants"));
                }
                length_of_time(roofline.floor_ms)?;
                first(&mut self.roofline, "the roofline was given")
            }
            Measurement::Caution { .. } => {
                self.cautions += 1;
                match self.cautions <= MOST_CAUTIONS {
                    true => Ok(()),
                    false => Err(order("there are too many cautions")),
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
                    // Being out can come at any time: a variant may fail while it is timed.
                    (false, _) => Stage::Out,
                    (true, Stage::Announced) => Stage::Checked,
                    (true, _) => return Err(untimely("the precision", variant, stage)),
                };
                Ok(())
            }
            Measurement::Compile {
                variant, seconds, ..
            } => {
                length_of_time(*seconds)?;
                let stage = self.stage(variant)?;
                match stage {
                    Stage::Checked => *stage = Stage::Warm,
                    _ => return Err(untimely("the compilation", variant, stage)),
                }
                Ok(())
            }
            Measurement::Hot { variant, hot } => {
                hot.ms
                    .iter()
                    .chain([&hot.wall_ms])
                    .try_for_each(|ms| length_of_time(*ms))?;
                let stage = self.stage(variant)?;
                match stage {
                    Stage::Sampled { hot } if !*hot => *hot = true,
                    _ => return Err(untimely("the time with warm caches", variant, stage)),
                }
                Ok(())
            }
            Measurement::Samples { variant, round, ms } => {
                self.samples(variant, *round, ms)?;
                self.reported_ms += ms.iter().sum::<f64>();
                let (reported, passed) = (self.reported_ms * 1e-3, passed.as_secs_f64());
                if reported > passed * CLOCKS_DIFFER + CLOCK_SLACK_S {
                    return Err(Violation::Clock { reported, passed });
                }
                Ok(())
            }
        }
    }

    fn samples(&mut self, variant: &VariantId, round: u32, ms: &[f64]) -> Result<(), Violation> {
        if !ms.iter().all(|ms| *ms > 0.0) {
            return Err(order("a sample is not a length of time"));
        }
        ms.iter().try_for_each(|ms| length_of_time(*ms))?;
        let stage = self.stage(variant)?;
        let samples = match stage {
            Stage::Warm => ms.len(),
            Stage::Timed {
                samples,
                round: last,
            } if round > *last => *samples + ms.len(),
            Stage::Timed { .. } => {
                return Err(of("whose rounds do not follow one another", variant));
            }
            _ => return Err(untimely("samples", variant, stage)),
        };
        if ms.is_empty() || samples > MOST_SAMPLES {
            return Err(of("which has no samples or too many", variant));
        }
        *stage = Stage::Timed { samples, round };
        Ok(())
    }

    fn stage(&mut self, variant: &VariantId) -> Result<&mut Stage, Violation> {
        let stage = self.announced.as_mut().and_then(|all| all.get_mut(variant));
        stage.ok_or_else(|| of("which was not announced", variant))
    }
}

fn order(problem: impl Into<String>) -> Violation {
    Violation::Order(problem.into())
}

/// Something about a variant, whose name may be anything.
fn of(problem: &str, variant: &VariantId) -> Violation {
    let name: String = variant.name().chars().take(40).collect();
    order(format!("it is about the variant {name:?}, {problem}"))
}

fn untimely(what: &str, variant: &VariantId, stage: &Stage) -> Violation {
    let when = match stage {
        Stage::Announced => "before its precision was checked",
        Stage::Checked => "before it was compiled",
        Stage::Warm => "before it was timed",
        Stage::Timed { .. } => "while it is timed",
        Stage::Sampled { .. } => "after its sampling ended",
        Stage::Out => "after it was out",
    };
    let name = variant.name();
    order(format!("{what} of the variant {name:?} came {when}"))
}

fn first(said: &mut bool, what: &str) -> Result<(), Violation> {
    match std::mem::replace(said, true) {
        false => Ok(()),
        true => Err(order(format!("{what} twice"))),
    }
}

fn length_of_time(value: f64) -> Result<(), Violation> {
    match value.is_finite() && value >= 0.0 {
        true => Ok(()),
        false => Err(order("a figure is not a length of time")),
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
               "bandwidth_gbs": 1.0, "bandwidth_from": "a", "peak_from": "b", "floor_ms": 0.1, "bound": "memory"})
    }

    /// What is wrong with the last of these lines; those before it are right.
    fn told(lines: &[Value]) -> Result<(), Violation> {
        let asked = [VariantId::EAGER, VariantId::CONTROL];
        let mut conversation = Conversation::new(&asked);
        let read = |line: &Value| serde_json::from_value(line.clone()).expect("is a line");
        let (last, before) = lines.split_last().expect("some lines");
        for line in before {
            assert_eq!(conversation.take(&read(line), LONG), Ok(()), "{line}");
        }
        conversation.take(&read(last), LONG)
    }

    fn up_to_samples() -> Vec<Value> {
        let mut lines = vec![
            json!({"type": "accepted"}),
            environment(),
            variants(&["eager"]),
        ];
        lines.extend([roofline(), precision(true), compile(), samples(0, &[1.0])]);
        lines
    }

    #[test]
    fn a_whole_job_is_taken() {
        let mut lines = up_to_samples();
        lines.extend([samples(2, &[1.0; 999]), sampled(), hot()]);
        lines.extend([
            json!({"type": "caution", "text": "a"}),
            json!({"type": "finished"}),
        ]);
        assert_eq!(told(&lines), Ok(()));
    }

    #[test]
    fn what_cannot_follow_is_refused_with_the_reason() {
        let after = |next: &[Value]| {
            let lines = [up_to_samples(), next.to_vec()].concat();
            match told(&lines) {
                Err(Violation::Order(problem)) => problem,
                other => panic!("{other:?} for {next:?}"),
            }
        };
        for (next, problem) in [
            (vec![json!({"type": "ready"})], "ready twice"),
            (vec![json!({"type": "accepted"})], "accepted twice"),
            (vec![environment()], "after the variants"),
            (vec![variants(&["eager"])], "announced twice"),
            (vec![roofline()], "given twice"),
            (vec![precision(true)], "while it is timed"),
            (vec![compile()], "while it is timed"),
            (vec![hot()], "while it is timed"),
            (vec![samples(0, &[1.0])], "rounds do not follow"),
            (vec![samples(1, &[1.0; 1000])], "too many"),
            (vec![samples(1, &[])], "no samples"),
            (vec![samples(1, &[-1.0])], "not a length of time"),
            (vec![sampled(), sampled()], "after its sampling ended"),
            (
                vec![sampled(), samples(1, &[1.0])],
                "after its sampling ended",
            ),
            (vec![sampled(), hot(), hot()], "after its sampling ended"),
            // Out is out, also after samples.
            (
                vec![precision(false), samples(1, &[1.0])],
                "after it was out",
            ),
            (vec![precision(false), sampled()], "after it was out"),
            (vec![sampled(), precision(false), hot()], "after it was out"),
        ] {
            let told = after(&next);
            assert!(told.contains(problem), "{told:?} does not hold {problem:?}");
        }
    }

    #[test]
    fn a_variant_is_announced_before_anything_is_said_of_it_and_only_if_it_was_asked_for() {
        for lines in [
            vec![precision(true)],
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
                matches!(told(&lines), Err(Violation::Order(_))),
                "{lines:?}"
            );
        }
        let caution = json!({"type": "caution", "text": "again"});
        assert!(told(&vec![caution; MOST_CAUTIONS + 1]).is_err());
    }

    #[test]
    fn calls_cannot_have_taken_longer_than_the_job() {
        let asked = [VariantId::EAGER];
        let mut conversation = Conversation::new(&asked);
        let read = |line: &Value| serde_json::from_value(line.clone()).expect("is a line");
        let mut lines = up_to_samples();
        lines.pop();
        for line in &lines {
            conversation.take(&read(line), LONG).expect("is right");
        }
        let one_second = |round| read(&samples(round, &[100.0; 10]));
        let passed = Duration::from_secs;
        assert_eq!(conversation.take(&one_second(0), passed(1)), Ok(()));
        assert_eq!(conversation.take(&one_second(1), passed(2)), Ok(()));
        let violation = conversation.take(&one_second(2), passed(2));
        let Err(Violation::Clock { reported, passed }) = violation else {
            panic!("{violation:?}")
        };
        assert!((2.9..3.1).contains(&reported) && passed == 2.0);
    }
}
