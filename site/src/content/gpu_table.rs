//! The reference table of AMD GPUs, generated from `hipward_gpu_facts`.

use super::reference::Source;
use hipward_gpu_facts::{ARCHS, Arch, Fp8, PRODUCTS, Product, SOURCES, Vendor};

const NONE: &str = "–";

/// Column headings.
pub(super) fn columns() -> Vec<String> {
    [
        "GPU",
        "Architecture",
        "Wavefront",
        "Compute units",
        "LDS of a workgroup",
        "Memory",
        "Bandwidth",
        "L2 and Infinity Cache",
        "fp32 as xf32",
        "bf16",
        "fp16",
        "fp8",
        "fp4 and fp6",
        "fp8 format",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// One row per product of AMD.
pub(super) fn rows() -> Vec<Vec<String>> {
    amd_products()
        .map(|(product, arch)| row(product, arch))
        .collect()
}

/// The documents that state the facts of the rows, in the order of the table of facts.
pub(super) fn sources() -> Vec<Source> {
    let mut keys: Vec<&str> = Vec::new();
    for (product, arch) in amd_products() {
        keys.extend(arch.sources.iter().map(|source| source.key));
        keys.extend(product.sources.all().map(|source| source.key));
    }
    SOURCES
        .iter()
        .filter(|source| keys.contains(&source.key))
        .map(|source| Source {
            name: source.name.to_owned(),
            url: source.url.to_owned(),
        })
        .collect()
}

fn amd_products() -> impl Iterator<Item = (&'static Product, &'static Arch)> {
    PRODUCTS.iter().filter_map(|product| {
        let arch = ARCHS.iter().find(|arch| arch.name == product.arch)?;
        (arch.vendor == Vendor::Amd).then_some((product, arch))
    })
}

fn row(product: &Product, arch: &Arch) -> Vec<String> {
    let peak = &product.peak;
    vec![
        product.name.to_owned(),
        arch.name.to_owned(),
        arch.wavefront.to_string(),
        match (product.compute_units, product.devices) {
            (None, _) => NONE.to_owned(),
            (Some(units), 1) => units.to_string(),
            (Some(units), devices) => format!("{units} (each of {devices} devices)"),
        },
        arch.limits.as_ref().map_or_else(
            || NONE.to_owned(),
            |limits| format!("{} KiB", limits.lds_per_workgroup_kib),
        ),
        match product.memory_gb {
            None => NONE.to_owned(),
            Some(gb) if product.memory_note.is_empty() => format!("{gb} GB"),
            Some(gb) => format!("{gb} GB, {}", product.memory_note),
        },
        product
            .bandwidth_tbs
            .map_or_else(|| NONE.to_owned(), |rate| format!("{rate} TB/s")),
        match (product.l2_mib, product.infinity_cache_mib) {
            (None, _) => NONE.to_owned(),
            (Some(l2), None) => format!("{l2} MiB"),
            (Some(l2), Some(infinity)) => format!("{l2} + {infinity} MiB"),
        },
        teraflops(peak.tf32_matrix),
        teraflops(peak.bf16_matrix),
        teraflops(peak.fp16_matrix),
        teraflops(peak.fp8_matrix),
        teraflops(peak.fp4_matrix),
        match arch.fp8 {
            Some(Fp8::Fnuz) => "e4m3fnuz",
            Some(_) if peak.fp4_matrix.is_some() => "e4m3fn and MX",
            Some(_) => "e4m3fn",
            None => "none",
        }
        .to_owned(),
    ]
}

fn teraflops(rate: Option<f64>) -> String {
    rate.map_or_else(|| NONE.to_owned(), |rate| format!("{rate} TFLOPS"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_a_cell_for_each_column() {
        for row in rows() {
            assert_eq!(row.len(), columns().len(), "{row:?}");
        }
    }

    #[test]
    fn mi300x_row_states_the_data_sheet() {
        let found = rows().into_iter().find(|row| row[0] == "MI300X").unwrap();
        assert_eq!(
            found,
            [
                "MI300X",
                "gfx942",
                "64",
                "304",
                "64 KiB",
                "192 GB",
                "5.3 TB/s",
                "32 + 256 MiB",
                "653.7 TFLOPS",
                "1307.4 TFLOPS",
                "1307.4 TFLOPS",
                "2614.9 TFLOPS",
                "–",
                "e4m3fnuz"
            ]
        );
    }

    #[test]
    fn sources_are_those_of_amd_alone() {
        assert!(
            sources()
                .iter()
                .all(|source| !source.name.contains("NVIDIA"))
        );
    }
}
