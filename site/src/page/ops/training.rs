//! A training step of an op, forward and backward, beside the fastest other implementation.

use super::tables::{conditions, times};
use crate::content::csv::Table;
use leptos::prelude::*;

/// The heading.
pub(super) const TITLE: &str = "In training";

/// The variant of the results file that is Hipward's.
const OURS: &str = "hipward";

/// The steps of one shape and dtype.
#[derive(Debug, PartialEq)]
struct Steps<'a> {
    shape: String,
    dtype: &'a str,
    ours: Step<'a>,
    rival: Step<'a>,
}

/// The step of a variant: median in microseconds, and its 95 % interval.
#[derive(Debug, PartialEq)]
struct Step<'a> {
    variant: &'a str,
    median: f64,
    low: f64,
    high: f64,
}

impl Steps<'_> {
    fn ratio(&self) -> f64 {
        self.rival.median / self.ours.median
    }
}

fn step(rows: &Table, row: usize) -> Option<Step<'_>> {
    let number = |column| rows.field(row, column).parse().ok();
    Some(Step {
        variant: rows.field(row, "variant"),
        median: number("step_us")?,
        low: number("low_us")?,
        high: number("high_us")?,
    })
}

/// Each shape and dtype, with the fastest rival.
fn steps(rows: &Table) -> Vec<Steps<'_>> {
    let field = |row, column| rows.field(row, column);
    let ours = (0..rows.len()).filter(|row| field(*row, "variant") == OURS);
    ours.filter_map(|row| {
        let is_rival = |other: &usize| {
            ["shape", "dtype"]
                .iter()
                .all(|column| field(*other, column) == field(row, column))
                && field(*other, "variant") != OURS
        };
        let rivals = (0..rows.len())
            .filter(is_rival)
            .filter_map(|other| step(rows, other));
        Some(Steps {
            shape: field(row, "shape").replace('x', " × "),
            dtype: field(row, "dtype"),
            ours: step(rows, row)?,
            rival: rivals.min_by(|one, other| one.median.total_cmp(&other.median))?,
        })
    })
    .collect()
}

/// In how many shapes the step is faster and slower.
fn summary(steps: &[Steps<'_>]) -> String {
    let faster = steps
        .iter()
        .filter(|step| step.ours.high < step.rival.low)
        .count();
    let slower = steps
        .iter()
        .filter(|step| step.ours.low > step.rival.high)
        .count();
    let ratios = || steps.iter().map(Steps::ratio);
    let (least, most) = (
        ratios().fold(f64::INFINITY, f64::min),
        ratios().fold(0.0, f64::max),
    );
    format!(
        "Forward and backward together, beside the fastest other implementation: faster in {faster} of {} shapes and types, slower in {slower}, and in {} the intervals of both medians overlap. The rival’s time over ours is {least:.2} to {most:.2}. Steps of few rows are limited by the time of the host.",
        steps.len(),
        steps.len() - faster - slower,
    )
}

/// The section of the page; nothing if no step is recorded.
pub(super) fn section(rows: &Table) -> Option<AnyView> {
    let steps = steps(rows);
    let lines: Vec<AnyView> = steps.iter().map(line).collect();
    (!steps.is_empty()).then(|| {
        view! {
            <h2 id="training">{TITLE}</h2>
            <p>{summary(&steps)}</p>
            <details>
                <summary>{format!("Every training step ({})", steps.len())}</summary>
                <div class="scroll" tabindex="0" role="group" aria-label="Training steps">
                    <table>
                        <thead>
                            <tr>
                                <th scope="col">"Shape"</th>
                                <th scope="col">"Type"</th>
                                <th scope="col">"Ours, µs"</th>
                                <th scope="col">"Fastest rival"</th>
                                <th scope="col">"Its time, µs"</th>
                                <th scope="col">"Rival ÷ ours"</th>
                            </tr>
                        </thead>
                        <tbody>{lines}</tbody>
                    </table>
                </div>
                {conditions(rows)}
            </details>
        }
        .into_any()
    })
}

fn line(steps: &Steps<'_>) -> AnyView {
    let time =
        |step: &Step<'_>| format!("{:.1} ({:.1} to {:.1})", step.median, step.low, step.high);
    view! {
        <tr>
            <th scope="row">{steps.shape.clone()}</th>
            <td>{steps.dtype.to_owned()}</td>
            <td class="number">{time(&steps.ours)}</td>
            <td>{steps.rival.variant.to_owned()}</td>
            <td class="number">{time(&steps.rival)}</td>
            <td class="number">{times(&steps.ratio().to_string())}</td>
        </tr>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_compared_with_the_fastest_rival_of_their_shape_and_dtype() {
        let rows = Table::parse(
            "shape,dtype,variant,step_us,low_us,high_us\n\
             2x8,bfloat16,hipward,10,9,11\n2x8,bfloat16,A,30,29,31\n2x8,bfloat16,B,20,19,21\n2x8,float32,A,5,5,5\n\
             4x8,bfloat16,hipward,10,9,11\n4x8,bfloat16,A,9,8,10\n8x8,bfloat16,hipward,10,9,11\n8x8,bfloat16,A,5,4,6\n",
        );
        let steps = steps(&rows);
        let rivals: Vec<&str> = steps.iter().map(|step| step.rival.variant).collect();
        assert_eq!(rivals, ["B", "A", "A"]);
        assert_eq!(steps[0].shape, "2 × 8");
        let text = summary(&steps);
        assert!(
            text.contains("faster in 1 of 3 shapes and types, slower in 1, and in 1 the"),
            "{text}"
        );
        assert!(text.contains("0.50 to 2.00"), "{text}");
    }
}
