//! The floor of a model's time by the rates of the data sheet, if `gpus.toml` has the device. The worker reports a floor
//! too, but the code that it runs could change the rates that it reads or measures.

use hipward_gpu_facts::{PRODUCTS, Peak, Product};
use hipward_protocol::{Device, Roofline, Vendor};
use regex::RegexSet;
use std::sync::LazyLock;

const DATA_SHEET: &str = "the data sheet";

/// The patterns of the products, in the order of the table. None if one of them is no pattern, which a test excludes.
static PATTERNS: LazyLock<Option<RegexSet>> =
    LazyLock::new(|| RegexSet::new(PRODUCTS.iter().map(|product| product.pattern)).ok());

/// Computes the floor from the worker's bytes and operations and the data sheet's rates, and writes these into the
/// roofline. Nothing changes for a processor, or for a GPU whose bandwidth is not in the table.
///
/// The dtype of the products is the worker's statement: a rate up to the highest in the data sheet is accepted, and without a
/// rate it is the highest.
pub(super) fn apply(roofline: &mut Roofline, device: &Device) {
    let Some((product, bandwidth_tbs)) = product_of(device)
        .and_then(|product| product.bandwidth_tbs.map(|bandwidth| (product, bandwidth)))
    else {
        return;
    };
    roofline.bandwidth_gbs = bandwidth_tbs * 1e3;
    DATA_SHEET.clone_into(&mut roofline.bandwidth_source);
    if let Some(highest) = highest(&product.peak)
        && roofline.flops > 0
        && roofline.peak_tflops.is_none_or(|peak| peak > highest)
    {
        roofline.peak_tflops = Some(highest);
        DATA_SHEET.clone_into(&mut roofline.peak_source);
    }
    // Caches are cold when a call begins. What it writes may stay in them, if their size is known.
    let written = match cache_bytes(product) {
        Some(cache) => roofline.bytes_written.saturating_sub(cache),
        None => 0,
    };
    let moved = roofline.bytes_read.saturating_add(written);
    let memory_ms = moved as f64 / (roofline.bandwidth_gbs * 1e6);
    let compute_ms = match roofline.peak_tflops {
        Some(peak) if peak > 0.0 => roofline.flops as f64 / (peak * 1e9),
        _ => 0.0,
    };
    roofline.floor_ms = memory_ms.max(compute_ms);
    let bound = if compute_ms > memory_ms {
        "compute"
    } else {
        "memory"
    };
    bound.clone_into(&mut roofline.bound);
}

fn product_of(device: &Device) -> Option<&'static Product> {
    if device.vendor == Vendor::Cpu {
        return None;
    }
    let first = PATTERNS.as_ref()?.matches(&device.name).iter().next()?;
    PRODUCTS.get(first)
}

fn highest(peak: &Peak) -> Option<f64> {
    [
        peak.fp64_matrix,
        peak.fp32_matrix,
        peak.tf32_matrix,
        peak.bf16_matrix,
        peak.fp16_matrix,
        peak.fp8_matrix,
        peak.fp4_matrix,
    ]
    .into_iter()
    .flatten()
    .max_by(f64::total_cmp)
}

/// Size of L2 and Infinity Cache together.
fn cache_bytes(product: &Product) -> Option<u64> {
    let l2 = product.l2_mib?;
    Some(u64::from(l2 + product.infinity_cache_mib.unwrap_or(0)) << 20)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn device(name: &str, vendor: Vendor) -> Device {
        Device {
            id: "cuda:0".to_owned(),
            name: name.to_owned(),
            vendor,
            arch: "gfx942".to_owned(),
            memory_bytes: 1 << 37,
            current_job: None,
        }
    }

    /// A worker that claims rates at which nothing is impossible.
    fn claimed() -> Roofline {
        Roofline {
            bytes_read: 5_300_000_000,
            bytes_written: 1 << 20,
            flops: 1_000_000_000,
            copy_gbs: 4000.0,
            bandwidth_gbs: 1e9,
            bandwidth_source: "measured".to_owned(),
            peak_tflops: Some(1e6),
            peak_source: "measured".to_owned(),
            floor_ms: 1e-9,
            bound: "compute".to_owned(),
        }
    }

    #[test]
    fn claimed_rates_do_not_lower_the_floor_of_a_known_gpu() {
        let mut roofline = claimed();
        apply(&mut roofline, &device("AMD Instinct MI300X", Vendor::Amd));
        assert!((roofline.floor_ms - 1.0).abs() < 1e-9, "5.3 GB at 5.3 TB/s");
        assert_eq!(
            (roofline.bound.as_str(), roofline.bandwidth_source.as_str()),
            ("memory", DATA_SHEET)
        );
        assert_eq!(
            roofline.peak_tflops,
            Some(2614.9),
            "8-bit floats of an MI300X"
        );
    }

    #[test]
    fn products_without_a_rate_have_the_highest() {
        let mut roofline = claimed();
        roofline.bytes_read = 0;
        roofline.flops = 2_614_900_000_000;
        roofline.peak_tflops = None;
        apply(&mut roofline, &device("AMD Instinct MI300X", Vendor::Amd));
        assert!((roofline.floor_ms - 1.0).abs() < 1e-9);
        assert_eq!(roofline.bound, "compute");
    }

    #[test]
    fn rates_of_devices_without_a_data_sheet_stay() {
        for device in [
            device("AMD EPYC, as fast as an MI300X", Vendor::Cpu),
            device("NVIDIA GeForce RTX 4090", Vendor::Nvidia),
        ] {
            let mut roofline = claimed();
            apply(&mut roofline, &device);
            assert_eq!(roofline, claimed(), "{}", device.name);
        }
    }

    #[test]
    fn products_are_found_by_the_name_of_the_driver() {
        assert!(PATTERNS.is_some());
        for (name, product) in [
            ("AMD Instinct MI250X/MI250", Some("MI250X")),
            ("AMD Instinct MI250", Some("MI250")),
            ("AMD Radeon RX 7900 XTX", Some("Radeon RX 7900 XTX")),
            ("AMD Radeon RX 7900 XT", Some("Radeon RX 7900 XT")),
            ("AMD Radeon RX 9070 GRE", None),
            ("NVIDIA A100-SXM4-80GB", Some("A100 80GB")),
            ("NVIDIA GB200", None),
        ] {
            let found = product_of(&device(name, Vendor::Amd));
            assert_eq!(found.map(|product| product.name), product, "{name}");
        }
    }
}
