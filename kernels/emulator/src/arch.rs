//! The architectures that can be executed.

/// An AMD architecture with CDNA instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arch {
    /// MI200 series, CDNA 2.
    Gfx90a,
    /// MI300 series, CDNA 3.
    Gfx942,
    /// MI350 series, CDNA 4.
    Gfx950,
}

impl Arch {
    /// The architecture with a *gfx* name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "gfx90a" => Some(Self::Gfx90a),
            "gfx942" => Some(Self::Gfx942),
            "gfx950" => Some(Self::Gfx950),
            _ => None,
        }
    }

    /// The *gfx* name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gfx90a => "gfx90a",
            Self::Gfx942 => "gfx942",
            Self::Gfx950 => "gfx950",
        }
    }

    /// Bytes of LDS that a workgroup can have.
    #[must_use]
    pub fn lds_bytes(self) -> u32 {
        if self == Self::Gfx950 {
            160 << 10
        } else {
            64 << 10
        }
    }

    /// Banks of the LDS, each four bytes wide.
    #[must_use]
    pub fn lds_banks(self) -> u32 {
        if self == Self::Gfx950 { 64 } else { 32 }
    }
}
