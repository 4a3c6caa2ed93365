//! GPU architectures as targets of an analysis, with the facts that rules depend on.
//!
//! `build.rs` generates the enum and the facts from `gpus.toml`, so a new GPU is one entry in that file.

use serde::{Deserialize, Serialize};

/// 8-bit floating-point format of matrix units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fp8Format {
    /// `torch.float8_e4m3fnuz`: largest value 240.
    Fnuz,
    /// The Open Compute Project's format, `torch.float8_e4m3fn`: largest value 448.
    Ocp,
}

/// A row of the table.
struct Facts {
    name: &'static str,
    products: &'static str,
    generation: &'static str,
    wavefront: u32,
    fp8: Option<Fp8Format>,
    has_xf32: bool,
    matrix: &'static str,
    lds_kib: u32,
    cache_mib: Option<u32>,
}

include!(concat!(env!("OUT_DIR"), "/arch.rs"));

impl Arch {
    fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// LLVM's name: `gfx942`.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The architecture with this name.
    pub fn of_name(name: &str) -> Option<Arch> {
        Arch::ALL.into_iter().find(|arch| arch.name() == name)
    }

    /// Newest products of the architecture: `MI325X, MI300X`.
    pub fn products(self) -> &'static str {
        self.facts().products
    }

    /// `CDNA 3`, `RDNA 4`.
    pub fn generation(self) -> &'static str {
        self.facts().generation
    }

    /// Whether it is a data-center GPU (CDNA), without texture units; the others are Radeon GPUs (RDNA).
    pub fn is_cdna(self) -> bool {
        self.generation().starts_with("CDNA")
    }

    /// Lanes of a wavefront.
    pub fn wavefront(self) -> u32 {
        self.facts().wavefront
    }

    /// 8-bit floating-point format of the matrix units, if they have one.
    pub fn fp8(self) -> Option<Fp8Format> {
        self.facts().fp8
    }

    /// Whether the matrix units multiply float32 as xf32, which PyTorch calls TF32.
    pub fn has_xf32(self) -> bool {
        self.facts().has_xf32
    }

    /// Name of the matrix instructions: `MFMA` or `WMMA`.
    pub fn matrix_instructions(self) -> &'static str {
        self.facts().matrix
    }

    /// Most LDS (shared memory) of one workgroup, in KiB.
    pub fn lds_kib(self) -> u32 {
        self.facts().lds_kib
    }

    /// Last-level cache of the product with the largest one, in MiB; `None` if unknown.
    pub fn cache_mib(self) -> Option<u32> {
        self.facts().cache_mib
    }

    /// The value of `torch.cuda.get_device_capability()` on ROCm: the numbers in the name. It is (9, 4) for `gfx942`
    /// and (12, 0) for `gfx1201`.
    pub fn capability(self) -> (u8, u8) {
        let mut digits = self.name().bytes().skip("gfx".len()).rev().skip(1);
        let minor = digits.next().map_or(0, |digit| digit - b'0');
        let tens = digits
            .rev()
            .fold(0, |major, digit| 10 * major + digit - b'0');
        (tens, minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_amd_architecture_of_the_table_is_a_target() {
        let table: Vec<&str> = hipward_gpu_facts::ARCHS
            .iter()
            .filter(|arch| arch.vendor == hipward_gpu_facts::Vendor::Amd)
            .map(|arch| arch.name)
            .collect();
        for name in &table {
            assert!(Arch::of_name(name).is_some(), "{name}");
        }
        assert_eq!(Arch::ALL.len(), table.len());
    }

    #[test]
    fn facts_of_an_architecture_are_those_of_the_table() {
        for arch in Arch::ALL {
            let table = hipward_gpu_facts::arch(arch.name()).expect("an architecture");
            assert_eq!(arch.wavefront(), table.wavefront, "{arch:?}");
            assert_eq!(arch.generation(), table.generation, "{arch:?}");
            assert_eq!(arch.has_xf32(), table.xf32, "{arch:?}");
            assert_eq!(arch.matrix_instructions(), table.matrix, "{arch:?}");
            let limits = table.limits.as_ref().expect("limits");
            assert_eq!(arch.lds_kib(), limits.lds_per_workgroup_kib, "{arch:?}");
        }
        assert_eq!(Arch::Gfx942.fp8(), Some(Fp8Format::Fnuz));
        assert_eq!(Arch::Gfx1201.fp8(), Some(Fp8Format::Ocp));
        assert_eq!(Arch::Gfx1100.fp8(), None);
        assert_eq!(Arch::Gfx90a.cache_mib(), Some(8));
        assert_eq!(Arch::Gfx942.cache_mib(), Some(256));
        assert_eq!(Arch::Gfx1250.cache_mib(), None);
    }

    #[test]
    fn capability_is_the_number_of_the_architecture() {
        for (arch, capability) in [
            (Arch::Gfx90a, (9, 0)),
            (Arch::Gfx942, (9, 4)),
            (Arch::Gfx950, (9, 5)),
            (Arch::Gfx1100, (11, 0)),
            (Arch::Gfx1201, (12, 0)),
            (Arch::Gfx1250, (12, 5)),
        ] {
            assert_eq!(arch.capability(), capability, "{arch:?}");
        }
    }

    #[test]
    fn serialized_name_is_the_name_of_the_architecture() {
        for arch in Arch::ALL {
            let json = serde_json::to_value(arch).expect("JSON");
            assert_eq!(json, arch.name());
            assert_eq!(serde_json::from_value::<Arch>(json).expect("a name"), arch);
        }
    }
}
