//! Converts `gpus.toml` into Rust constants, so that a program contains only the facts that it uses, and no parser.

use serde::Deserialize;
use std::{collections::BTreeMap, env, error::Error, fmt::Write as _, fs, path::PathBuf};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    source: BTreeMap<String, Source>,
    arch: BTreeMap<String, Arch>,
    product: Vec<Product>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    name: String,
    url: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arch {
    vendor: Vendor,
    generation: String,
    wavefront: u32,
    fp8: Option<Fp8>,
    xf32: bool,
    matrix: String,
    limits: Option<Limits>,
    sources: Vec<String>,
}

// The names of the variants are those in the generated code, which `Debug` writes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Vendor {
    Amd,
    Nvidia,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Fp8 {
    Fnuz,
    Ocp,
}

/// Written by `Debug` as a struct literal of the same name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read by Debug alone")]
struct Limits {
    lds_kib: u32,
    lds_per_workgroup_kib: u32,
    lds_granule_bytes: u32,
    simds: u32,
    waves_per_simd: u32,
    vgprs: u32,
    vgpr_granule: u32,
    workgroups: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Product {
    name: String,
    #[serde(rename = "match")]
    pattern: String,
    arch: String,
    #[serde(default = "one")]
    devices: u32,
    compute_units: Option<u32>,
    xcds: Option<u32>,
    memory_gb: Option<u32>,
    #[serde(default)]
    memory_note: String,
    bandwidth_tbs: Option<f64>,
    l2_mib: Option<u32>,
    infinity_cache_mib: Option<u32>,
    #[serde(default)]
    peak: Peak,
    sources: ProductSources,
}

fn one() -> u32 {
    1
}

/// Written by `Debug` as a struct literal of the same name.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read by Debug alone")]
struct Peak {
    fp64_vector: Option<f64>,
    fp64_matrix: Option<f64>,
    fp32_vector: Option<f64>,
    fp32_matrix: Option<f64>,
    tf32_matrix: Option<f64>,
    bf16_matrix: Option<f64>,
    fp16_matrix: Option<f64>,
    fp8_matrix: Option<f64>,
    fp4_matrix: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ProductSources {
    units: Vec<String>,
    memory: Vec<String>,
    caches: Vec<String>,
    peak: Vec<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=gpus.toml");
    println!("cargo:rerun-if-changed=build.rs");
    let table: Table = toml::from_str(&fs::read_to_string("gpus.toml")?)?;
    let keys: Vec<&String> = table.source.keys().collect();
    let mut code = String::new();

    writeln!(code, "/// Every source of the table, by key.")?;
    writeln!(code, "pub static SOURCES: &[Source] = &[")?;
    for (key, Source { name, url }) in &table.source {
        writeln!(
            code,
            "    Source {{ key: {key:?}, name: {name:?}, url: {url:?} }},"
        )?;
    }
    writeln!(code, "];")?;

    writeln!(code, "/// Every architecture of the table, by name.")?;
    writeln!(code, "pub static ARCHS: &[Arch] = &[")?;
    for (name, arch) in &table.arch {
        writeln!(
            code,
            "    Arch {{ name: {name:?}, vendor: Vendor::{:?}, generation: {:?}, wavefront: {}, fp8: {}, xf32: {}, \
             matrix: {:?}, limits: {:?}, sources: {} }},",
            arch.vendor,
            arch.generation,
            arch.wavefront,
            arch.fp8
                .as_ref()
                .map_or_else(|| "None".to_owned(), |fp8| format!("Some(Fp8::{fp8:?})")),
            arch.xf32,
            arch.matrix,
            arch.limits,
            indices(&arch.sources, &keys)?,
        )?;
    }
    writeln!(code, "];")?;

    writeln!(
        code,
        "/// Every product of the table, newest first within a vendor."
    )?;
    writeln!(code, "pub static PRODUCTS: &[Product] = &[")?;
    for product in &table.product {
        if !table.arch.contains_key(&product.arch) {
            return Err(format!(
                "{} has the unknown architecture {}",
                product.name, product.arch
            )
            .into());
        }
        writeln!(
            code,
            "    Product {{ name: {:?}, pattern: {:?}, arch: {:?}, devices: {}, compute_units: {:?}, xcds: {:?}, memory_gb: {:?}, \
             memory_note: {:?}, bandwidth_tbs: {:?}, l2_mib: {:?}, infinity_cache_mib: {:?}, peak: {:?}, \
             sources: ProductSources {{ units: {}, memory: {}, caches: {}, peak: {} }} }},",
            product.name,
            product.pattern,
            product.arch,
            product.devices,
            product.compute_units,
            product.xcds,
            product.memory_gb,
            product.memory_note,
            product.bandwidth_tbs,
            product.l2_mib,
            product.infinity_cache_mib,
            product.peak,
            indices(&product.sources.units, &keys)?,
            indices(&product.sources.memory, &keys)?,
            indices(&product.sources.caches, &keys)?,
            indices(&product.sources.peak, &keys)?,
        )?;
    }
    writeln!(code, "];")?;

    let out = PathBuf::from(env::var("OUT_DIR")?).join("table.rs");
    fs::write(out, code)?;
    Ok(())
}

/// A slice of references into `SOURCES`.
fn indices(sources: &[String], keys: &[&String]) -> Result<String, Box<dyn Error>> {
    let mut found = Vec::new();
    for source in sources {
        let index = keys
            .iter()
            .position(|key| *key == source)
            .ok_or_else(|| format!("gpus.toml has no source {source}"))?;
        found.push(format!("&SOURCES[{index}]"));
    }
    Ok(format!("&[{}]", found.join(", ")))
}
