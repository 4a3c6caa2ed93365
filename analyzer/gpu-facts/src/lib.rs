//! Facts about GPUs as constants, generated from `gpus.toml`, which names the source of each figure.
//!
//! ```
//! let mi300x = hipward_gpu_facts::product("MI300X").expect("MI300X is in the table");
//! assert_eq!(mi300x.peak.bf16_matrix, Some(1307.4));
//! assert_eq!(hipward_gpu_facts::arch("gfx1201").map(|arch| arch.wavefront), Some(32));
//! ```

/// A document that states a fact.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Source {
    /// Key in `gpus.toml`.
    pub key: &'static str,
    /// Title of the document.
    pub name: &'static str,
    /// Address of the document.
    pub url: &'static str,
}

/// Manufacturer of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Vendor {
    /// AMD.
    Amd,
    /// NVIDIA.
    Nvidia,
}

/// 8-bit floating-point format of matrix units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fp8 {
    /// `torch.float8_e4m3fnuz`: largest value 240, no infinity, no negative zero.
    Fnuz,
    /// The Open Compute Project's format, `torch.float8_e4m3fn`: largest value 448.
    Ocp,
}

/// Limits of the wavefronts on a compute unit; on RDNA, on a workgroup processor, which is two compute units.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// LDS of the unit, in KiB.
    pub lds_kib: u32,
    /// Most LDS of one workgroup, in KiB.
    pub lds_per_workgroup_kib: u32,
    /// LDS is allocated in multiples of this, in bytes.
    pub lds_granule_bytes: u32,
    /// SIMDs of the unit.
    pub simds: u32,
    /// Most wavefronts on a SIMD.
    pub waves_per_simd: u32,
    /// Vector registers of a lane that the wavefronts of a SIMD share.
    pub vgprs: u32,
    /// Vector registers are allocated in multiples of this.
    pub vgpr_granule: u32,
    /// Most workgroups of more than one wavefront on the unit, if known.
    pub workgroups: Option<u32>,
}

/// An architecture.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arch {
    /// LLVM's name (`gfx942`) or NVIDIA's (`sm_90`).
    pub name: &'static str,
    /// Manufacturer.
    pub vendor: Vendor,
    /// `CDNA 3`.
    pub generation: &'static str,
    /// Lanes of a wavefront (NVIDIA: warp) as compilers build it by default.
    pub wavefront: u32,
    /// 8-bit format of the matrix units, if they have one.
    pub fp8: Option<Fp8>,
    /// Whether matrix units multiply float32 rounded to 19 bits: xf32 on AMD, TF32 on NVIDIA.
    pub xf32: bool,
    /// Name of the matrix instructions: `MFMA`, `WMMA`.
    pub matrix: &'static str,
    /// Limits of a compute unit; not in the table for NVIDIA.
    pub limits: Option<Limits>,
    /// Documents that state these facts.
    pub sources: &'static [&'static Source],
}

impl Arch {
    /// The products of this architecture, newest first.
    pub fn products(&self) -> impl Iterator<Item = &'static Product> + use<> {
        let name = self.name;
        PRODUCTS.iter().filter(move |product| product.arch == name)
    }
}

/// Dense peak rates in 10^12 operations per second; kernels reach less.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct Peak {
    /// float64, vector units.
    pub fp64_vector: Option<f64>,
    /// float64, matrix units.
    pub fp64_matrix: Option<f64>,
    /// float32, vector units.
    pub fp32_vector: Option<f64>,
    /// float32, matrix units.
    pub fp32_matrix: Option<f64>,
    /// float32 tensors rounded to xf32 or TF32, matrix units.
    pub tf32_matrix: Option<f64>,
    /// bfloat16, matrix units.
    pub bf16_matrix: Option<f64>,
    /// float16, matrix units.
    pub fp16_matrix: Option<f64>,
    /// 8-bit floats, matrix units.
    pub fp8_matrix: Option<f64>,
    /// 4-bit and 6-bit floats, matrix units.
    pub fp4_matrix: Option<f64>,
}

/// A GPU as PyTorch lists it: a card with two devices is described by one of them.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct Product {
    /// `MI300X`.
    pub name: &'static str,
    /// Regular expression, without lookaround, that the name from the driver contains: `A100.*80GB`. The first product
    /// in the table's order that fits is the device.
    pub pattern: &'static str,
    /// Name of the architecture.
    pub arch: &'static str,
    /// Devices of one card.
    pub devices: u32,
    /// Compute units (NVIDIA: streaming multiprocessors).
    pub compute_units: Option<u32>,
    /// Accelerator complex dies, each with its own L2.
    pub xcds: Option<u32>,
    /// Memory in GB.
    pub memory_gb: Option<u32>,
    /// A remark about the memory; may be empty.
    pub memory_note: &'static str,
    /// Bandwidth of the memory in 10^12 bytes per second.
    pub bandwidth_tbs: Option<f64>,
    /// L2 of the device in MiB.
    pub l2_mib: Option<u32>,
    /// Infinity Cache of the device in MiB.
    pub infinity_cache_mib: Option<u32>,
    /// Peak rates.
    pub peak: Peak,
    /// Documents that state these facts.
    pub sources: ProductSources,
}

/// Sources of a product's facts, by group.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProductSources {
    /// Of `compute_units` and `xcds`.
    pub units: &'static [&'static Source],
    /// Of `memory_gb` and `bandwidth_tbs`.
    pub memory: &'static [&'static Source],
    /// Of `l2_mib` and `infinity_cache_mib`.
    pub caches: &'static [&'static Source],
    /// Of `peak`.
    pub peak: &'static [&'static Source],
}

impl ProductSources {
    /// Every source of the product; a source of two groups is repeated.
    pub fn all(&self) -> impl Iterator<Item = &'static Source> + use<> {
        [self.units, self.memory, self.caches, self.peak]
            .into_iter()
            .flatten()
            .copied()
    }
}

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// The architecture with this name.
pub fn arch(name: &str) -> Option<&'static Arch> {
    ARCHS.iter().find(|arch| arch.name == name)
}

/// The product with this name.
pub fn product(name: &str) -> Option<&'static Product> {
    PRODUCTS.iter().find(|product| product.name == name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn architectures_have_their_wavefronts_and_formats() {
        for (name, wavefront, fp8, xf32) in [
            ("gfx90a", 64, None, false),
            ("gfx942", 64, Some(Fp8::Fnuz), true),
            ("gfx950", 64, Some(Fp8::Ocp), false),
            ("gfx1100", 32, None, false),
            ("gfx1201", 32, Some(Fp8::Ocp), false),
            ("gfx1250", 32, Some(Fp8::Ocp), false),
        ] {
            let arch = arch(name).unwrap();
            assert_eq!(
                (arch.wavefront, arch.fp8, arch.xf32),
                (wavefront, fp8, xf32),
                "{name}"
            );
            assert!(arch.limits.is_some(), "{name}");
        }
    }

    #[test]
    fn products_belong_to_their_architecture() {
        let names: Vec<_> = arch("gfx942")
            .unwrap()
            .products()
            .map(|product| product.name)
            .collect();
        assert_eq!(names, ["MI325X", "MI300X", "MI300A"]);
    }

    #[test]
    fn every_product_has_a_source() {
        for product in PRODUCTS {
            assert!(product.sources.all().next().is_some(), "{}", product.name);
        }
    }
}
