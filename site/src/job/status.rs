//! The state of a job as text.

use hipward_protocol::{JobState, JobView, Step};

/// One word for a badge.
pub(crate) fn state_word(state: JobState) -> &'static str {
    match state {
        JobState::AwaitingApproval => "Awaiting approval",
        JobState::Queued => "Waiting",
        JobState::Running => "Running",
        JobState::Done => "Done",
        JobState::Failed => "Failed",
        JobState::Cancelled => "Cancelled",
    }
}

/// One sentence. It changes with the stage, not with every sample, because a screen reader
/// speaks it.
pub(crate) fn sentence(view: &JobView) -> String {
    match view.state {
        JobState::AwaitingApproval => "An operator must approve the code first.".to_owned(),
        JobState::Queued => queued(view),
        JobState::Running => running(view),
        JobState::Done => match &view.verdict {
            Some(verdict) => verdict.summary.clone(),
            None => "The job is done; nothing was compared.".to_owned(),
        },
        JobState::Failed => match &view.failure {
            Some(failure) => match &view.verdict {
                Some(verdict) => format!("{} {}", failure.message, verdict.summary),
                None => failure.message.clone(),
            },
            None => "The job ended early.".to_owned(),
        },
        JobState::Cancelled => "The job was cancelled.".to_owned(),
    }
}

fn queued(view: &JobView) -> String {
    let place = match view.position {
        0 => "Next in line, waiting for the device.".to_owned(),
        1 => "Waiting; one job is ahead.".to_owned(),
        n => format!("Waiting; {n} jobs are ahead."),
    };
    match &view.requeue_reason {
        Some(reason) => format!("{place} Reason: {reason}"),
        None => place,
    }
}

fn running(view: &JobView) -> String {
    let device = match &view.device {
        Some(device) => format!("Running on {}", device.name),
        None => "Running".to_owned(),
    };
    let Some(current) = &view.step else {
        return format!("{device}: starting Python.");
    };
    let step = step_name(current.step);
    match &current.variant {
        Some(variant) => format!("{device}: {step}, {}.", view.label(variant)),
        None => format!("{device}: {step}."),
    }
}

/// Description of a step of a job.
fn step_name(step: Step) -> &'static str {
    match step {
        Step::Load => "importing the snippet",
        Step::Reference => "computing the reference results",
        Step::Roofline => "measuring the bandwidth of the device",
        Step::Compile => "building and compiling",
        Step::Precision => "checking precision",
        Step::WarmUp => "warming up",
        Step::StepCost => "measuring the cost of a step",
        Step::InputDependence => "checking that results depend on the inputs",
        Step::Timing => "timing the variants in turn",
        Step::WarmCaches => "timing with warm caches",
        Step::ModelAlone => "timing Model without ModelNew",
    }
}
