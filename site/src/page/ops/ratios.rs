//! An op beside the fastest other implementation at each shape: one table, in which the ratio is drawn too.

use super::tables::{microseconds, times};
use crate::content::csv::Table;
use leptos::prelude::*;

/// The variant of the results files that is Hipward's.
const OURS: &str = "hipward";

/// One shape of a run.
#[derive(Debug, PartialEq)]
struct Ratio<'a> {
    /// What a routed part computes; empty for an op.
    part: &'a str,
    shape: String,
    ours_ms: &'a str,
    rival: &'a str,
    rival_ms: &'a str,
    /// The rival's time over ours, and its 95 % interval.
    ratio: f64,
    low: f64,
    high: f64,
    outcome: &'a str,
}

/// The last recorded run of each shape, in the file's order.
fn ratios(rows: &Table) -> Vec<Ratio<'_>> {
    let mut found: Vec<Ratio<'_>> = Vec::new();
    for row in 0..rows.len() {
        let field = |column| rows.field(row, column);
        if field("variant") != OURS || field("outcome").is_empty() {
            continue;
        }
        let number = |column| field(column).parse::<f64>().ok();
        let is_rival = |other: &usize| {
            let same = ["part", "shape", "dtype", "device", "date"];
            same.iter()
                .all(|column| rows.field(*other, column) == field(column))
                && rows.field(*other, "against_best").parse() == Ok(1.0)
                && !rows.field(*other, "variant").starts_with(OURS)
        };
        let Some(rival) = (0..rows.len()).find(is_rival) else {
            continue;
        };
        let Some(ratio) = number("against_best") else {
            continue;
        };
        let next = Ratio {
            part: field("part"),
            shape: field("shape").replace('x', " × "),
            ours_ms: field("median_ms"),
            rival: rows.field(rival, "variant"),
            rival_ms: rows.field(rival, "median_ms"),
            ratio,
            low: number("against_low").unwrap_or(ratio),
            high: number("against_high").unwrap_or(ratio),
            outcome: field("outcome"),
        };
        let earlier = found
            .iter()
            .position(|one| (one.part, &one.shape) == (next.part, &next.shape));
        match earlier {
            Some(at) => found[at] = next,
            None => found.push(next),
        }
    }
    found
}

/// The table of an op's shapes; nothing if no run is recorded.
pub(super) fn table(rows: &Table) -> Option<AnyView> {
    let ratios = ratios(rows);
    let end = ratios.iter().map(|ratio| ratio.high).fold(1.5, f64::max);
    let lines: Vec<AnyView> = ratios.iter().map(|ratio| line(ratio, end)).collect();
    (!lines.is_empty()).then(|| {
        view! {
            <table class="ratios">
                <caption>
                    "The fastest other implementation’s time over ours. The line is 1: as fast. The short line is the 95 % interval."
                </caption>
                <thead>
                    <tr>
                        <th scope="col">"Shape"</th>
                        <th scope="col">"Ratio"</th>
                        <th scope="col" class="number">"×"</th>
                        <th scope="col" class="number">"Ours"</th>
                        <th scope="col">"Fastest other"</th>
                        <th scope="col">"Outcome"</th>
                    </tr>
                </thead>
                <tbody>{lines}</tbody>
            </table>
        }
        .into_any()
    })
}

fn line(ratio: &Ratio<'_>, end: f64) -> AnyView {
    let interval = format!("95 % interval {:.3} to {:.3}", ratio.low, ratio.high);
    let name = match ratio.part {
        "" => ratio.shape.clone(),
        part => format!("{part}: {}", ratio.shape),
    };
    let class = match ratio.outcome {
        "FASTER" => "faster",
        "SLOWER" => "slower",
        _ => "same",
    };
    view! {
        <tr class=class>
            <th scope="row">{name}</th>
            <td class="bar">{bar(ratio, end)}</td>
            <td class="number" title=interval>{times(&ratio.ratio.to_string())}</td>
            <td class="number">{microseconds(ratio.ours_ms)}" µs"</td>
            <td>{microseconds(ratio.rival_ms)}" µs, "{ratio.rival.to_owned()}</td>
            <td>{ratio.outcome.to_lowercase()}</td>
        </tr>
    }
    .into_any()
}

/// The ratio as a bar from 0 to `end`, which fills its cell.
fn bar(ratio: &Ratio<'_>, end: f64) -> AnyView {
    let at = |value: f64| format!("{:.1}", 100.0 * value / end);
    let one = format!("M{} 0V10", at(1.0));
    let interval = format!("M{} 5H{}", at(ratio.low), at(ratio.high));
    view! {
        <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
            <rect width=at(ratio.ratio) y="1.5" height="7" />
            <path class="one" d=one />
            <path class="interval" d=interval />
        </svg>
    }
    .into_any()
}

/// At how many shapes ours is as fast as the fastest other implementation, counted by medians and by intervals.
pub(super) fn summary(rows: &Table) -> Option<String> {
    let ratios = ratios(rows);
    let count = |is_counted: &dyn Fn(&Ratio<'_>) -> bool| {
        ratios.iter().filter(|ratio| is_counted(ratio)).count()
    };
    let level = count(&|ratio| ratio.ratio >= 1.0);
    let outcomes: Vec<String> = ["FASTER", "SAME", "SLOWER", "AMBIGUOUS"]
        .iter()
        .map(|outcome| (outcome, count(&|ratio| ratio.outcome == *outcome)))
        .filter(|(_, found)| *found > 0)
        .map(|(outcome, found)| format!("{} at {found}", outcome.to_lowercase()))
        .collect();
    (!ratios.is_empty()).then(|| {
        format!(
            "Our median is at or below that of the fastest other implementation at {level} of {} shapes ({}, {}). Judged by the 95 % interval of the ratio, and by how far our op differs from itself in the same run, it is {}.",
            ratios.len(),
            rows.distinct("device").join(" and "),
            rows.distinct("dtype").join(" and "),
            outcomes.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = "variant,shape,dtype,device,date,median_ms,against_best,against_low,against_high,outcome\n\
        eager,1x8,bfloat16,H200,1,0.009,0.3,,,\n\
        Liger,1x8,bfloat16,H200,1,0.003,1,,,\n\
        hipward,1x8,bfloat16,H200,1,0.002,1.5,1.4,1.6,FASTER\n\
        \"hipward, again\",1x8,bfloat16,H200,1,0.002,1.5,,,\n\
        torch.compile,2x8,bfloat16,H200,1,0.003,1,,,\n\
        hipward,2x8,bfloat16,H200,1,0.0031,0.968,0.95,0.98,SLOWER\n\
        torch.compile,2x8,bfloat16,H200,2,0.003,1,,,\n\
        hipward,2x8,bfloat16,H200,2,0.003,1,0.99,1.01,SAME\n";

    #[test]
    fn each_shape_is_compared_with_the_fastest_other_of_its_last_run() {
        let table = Table::parse(ROWS);
        let found = ratios(&table);
        let shown: Vec<_> = found
            .iter()
            .map(|one| (one.shape.as_str(), one.rival, one.ratio, one.outcome))
            .collect();
        assert_eq!(
            shown,
            [
                ("1 × 8", "Liger", 1.5, "FASTER"),
                ("2 × 8", "torch.compile", 1.0, "SAME")
            ]
        );
        assert_eq!(
            summary(&table).as_deref(),
            Some(
                "Our median is at or below that of the fastest other implementation at 2 of 2 shapes (H200, bfloat16). Judged by the 95 % interval of the ratio, and by how far our op differs from itself in the same run, it is faster at 1, same at 1."
            )
        );
        assert_eq!(summary(&Table::parse("op\nrope\n")), None);
    }
}
