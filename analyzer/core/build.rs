//! Generates `Arch`, the AMD GPU architectures, from `hipward-gpu-facts`.

use hipward_gpu_facts::{ARCHS, Arch, Fp8, Vendor};
use std::{env, error::Error, fmt::Write as _, fs, path::PathBuf};

/// Products that the text about an architecture names.
const NAMED: usize = 2;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let archs: Vec<&Arch> = ARCHS
        .iter()
        .filter(|arch| arch.vendor == Vendor::Amd)
        .collect();
    let mut code = String::new();
    writeln!(code, "/// Architectures of AMD GPUs, from `gpus.toml`.")?;
    writeln!(
        code,
        "#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]"
    )?;
    writeln!(
        code,
        "#[cfg_attr(feature = \"schema\", derive(schemars::JsonSchema))]"
    )?;
    writeln!(code, "#[serde(rename_all = \"lowercase\")]")?;
    writeln!(code, "#[non_exhaustive]")?;
    writeln!(code, "pub enum Arch {{")?;
    for arch in &archs {
        writeln!(code, "    /// {}: {}.", arch.generation, products(arch))?;
        writeln!(code, "    {},", variant(arch))?;
    }
    writeln!(code, "}}")?;
    writeln!(code, "impl Arch {{")?;
    writeln!(
        code,
        "    /// Every architecture: CDNA, then RDNA, oldest first in each."
    )?;
    writeln!(code, "    pub const ALL: [Arch; {}] = [", archs.len())?;
    for arch in by_generation(&archs) {
        writeln!(code, "        Arch::{},", variant(arch))?;
    }
    writeln!(code, "    ];")?;
    writeln!(code, "}}")?;

    writeln!(
        code,
        "/// Facts about each architecture, in the order of the variants."
    )?;
    writeln!(code, "static FACTS: [Facts; {}] = [", archs.len())?;
    for arch in &archs {
        let limits = arch
            .limits
            .as_ref()
            .ok_or_else(|| format!("gpus.toml has no limits for {}", arch.name))?;
        let fp8 = match arch.fp8 {
            None => "None",
            Some(Fp8::Fnuz) => "Some(Fp8Format::Fnuz)",
            Some(_) => "Some(Fp8Format::Ocp)",
        };
        writeln!(
            code,
            "    Facts {{ name: {:?}, products: {:?}, generation: {:?}, wavefront: {}, fp8: {fp8}, has_xf32: {}, \
             matrix: {:?}, lds_kib: {}, cache_mib: {:?} }},",
            arch.name,
            products(arch),
            arch.generation,
            arch.wavefront,
            arch.xf32,
            arch.matrix,
            limits.lds_per_workgroup_kib,
            cache_mib(arch),
        )?;
    }
    writeln!(code, "];")?;
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("arch.rs"), code)?;
    Ok(())
}

/// `Gfx942`
fn variant(arch: &Arch) -> String {
    format!("Gfx{}", arch.name.trim_start_matches("gfx"))
}

/// CDNA before RDNA, and then by number: `gfx90a`, `gfx950`, `gfx1250`, `gfx1100`.
fn by_generation<'a>(archs: &[&'a Arch]) -> Vec<&'a Arch> {
    let mut sorted = archs.to_vec();
    sorted.sort_by_key(|arch| (arch.generation, arch.name));
    sorted
}

/// The newest products of an architecture: `MI325X, MI300X`, `Radeon PRO W7900, PRO W7800 48GB`.
fn products(arch: &Arch) -> String {
    let names: Vec<&str> = arch
        .products()
        .take(NAMED)
        .enumerate()
        .map(|(index, product)| match index {
            0 => product.name,
            _ => product.name.trim_start_matches("Radeon "),
        })
        .collect();
    names.join(", ")
}

/// The largest last-level cache of the architecture's products, if the table has one.
fn cache_mib(arch: &Arch) -> Option<u32> {
    arch.products()
        .filter_map(|product| product.infinity_cache_mib.or(product.l2_mib))
        .max()
}
