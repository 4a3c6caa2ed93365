//! The floor that no variant can be faster than, how it is computed, and the cautions of a result.

use crate::format::{bytes, fixed, number};
use hipward_protocol::{JobView, Outcome, Roofline, VariantId};

/// The floor in one sentence, as the page and the Markdown have it.
pub(crate) fn sentence(floor: &Roofline) -> String {
    let bound = match floor.bound.as_str() {
        "compute" => "the device can calculate",
        _ => "the device can move the bytes",
    };
    format!(
        "{} ms is the floor: no variant can be faster than {bound}.",
        number(floor.floor_ms)
    )
}

/// The figures that the floor is computed from, with their names.
pub(crate) fn parts(floor: &Roofline) -> Vec<(&'static str, String)> {
    let mut parts = vec![
        ("Read, each byte once", bytes(floor.bytes_read)),
        ("Written, each byte once", bytes(floor.bytes_written)),
        (
            "Bandwidth",
            format!(
                "{} GB/s, from {}",
                fixed(floor.bandwidth_gbs, 0),
                floor.bandwidth_source
            ),
        ),
        (
            "A copy reached",
            format!("{} GB/s read and written", fixed(floor.copy_gbs, 0)),
        ),
    ];
    if floor.flops > 0 {
        parts.push((
            "Calculated",
            format!(
                "{} GFLOP in matrix products, convolutions and attention",
                number(floor.flops as f64 / 1e9)
            ),
        ));
    }
    if let Some(peak) = floor.peak_tflops {
        parts.push((
            "Peak",
            format!("{} TFLOP/s, from {}", number(peak), floor.peak_source),
        ));
    }
    parts.push(("What bounds it", floor.bound.clone()));
    parts
}

/// Warnings about the result, which are shown before the table.
pub(crate) fn cautions(view: &JobView) -> Vec<String> {
    let mut cautions = Vec::new();
    let impossible = |row: &&hipward_protocol::VariantView| {
        let comparison = view.comparison(&row.variant);
        comparison.is_some_and(|c| c.outcome == Outcome::Impossible)
    };
    for row in view.variants.iter().filter(impossible) {
        cautions.push(format!(
            "{} is faster than the device can do this work. That is a mistake in the code or a trick, not a record.",
            view.label(&row.variant)
        ));
    }
    let eager = view
        .variants
        .iter()
        .find(|row| row.variant == VariantId::EAGER)
        .and_then(|row| row.stats.as_ref()?.floor_share);
    if eager.is_some_and(|share| share > 1.0) {
        cautions.push(
            "Eager itself is faster than the floor, so the floor was computed too high, for example on a busy device. No variant is judged by it."
                .to_owned(),
        );
    }
    let idle = view.environment.as_ref().and_then(|e| e.idle.as_ref());
    if let Some(others) = idle.and_then(|idle| idle.other_processes)
        && others > 0
    {
        cautions.push(format!(
            "The device was not ours alone: {others} other processes used it when this job started."
        ));
    }
    let dropped: usize = view
        .variants
        .iter()
        .filter_map(|row| Some(row.stats.as_ref()?.dropped))
        .sum();
    if dropped > 0 {
        cautions.push(format!(
            "The device slowed itself down while this ran; {dropped} samples from that time were dropped."
        ));
    }
    cautions.extend(view.warnings.iter().cloned());
    cautions
}
