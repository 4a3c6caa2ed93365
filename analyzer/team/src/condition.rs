//! The targets of a rule: `arch = ["gfx950"]`, `rocm = ">=7"`, `torch = ">=2.6,<2.9"`.

use std::cmp::Ordering;

use hipward_analyzer_core::{Arch, Target, Version};

/// The targets to which a rule applies. The default is all targets.
#[derive(Debug, Default)]
pub(super) struct Condition {
    /// Empty: every architecture.
    pub(super) arch: Vec<Arch>,
    pub(super) rocm: Vec<Bound>,
    pub(super) torch: Vec<Bound>,
    pub(super) python: Vec<Bound>,
}

/// Whether the result of a version comparison is within a bound.
type Allows = fn(Ordering) -> bool;

/// One comparison with a version.
#[derive(Debug)]
pub(super) struct Bound {
    allows: Allows,
    major: u16,
    /// Compares only the components that were written: 7.14 is `<=7` and not `>7`.
    minor: Option<u16>,
}

impl Condition {
    /// True if a rule with this condition applies to `target`.
    pub(super) fn holds(&self, target: &Target) -> bool {
        let within = |bounds: &[Bound], version| bounds.iter().all(|bound| bound.holds(version));
        (self.arch.is_empty() || self.arch.contains(&target.arch))
            && within(&self.rocm, target.rocm)
            && within(&self.torch, target.torch)
            && within(&self.python, target.python)
    }
}

impl Bound {
    fn holds(&self, version: Version) -> bool {
        let minor = self.minor.map(|minor| version.minor.cmp(&minor));
        let ordering = version.major.cmp(&self.major);
        (self.allows)(ordering.then(minor.unwrap_or(Ordering::Equal)))
    }

    /// Parses `>=7` or `>=2.6,<2.9`.
    pub(super) fn parse_all(text: &str) -> Option<Vec<Bound>> {
        text.split(',')
            .map(|part| Bound::parse(part.trim()))
            .collect()
    }

    fn parse(text: &str) -> Option<Bound> {
        // The longer operators first: `<` is a prefix of `<=`.
        let signs: [(&str, Allows); 6] = [
            (">=", Ordering::is_ge),
            ("<=", Ordering::is_le),
            ("==", Ordering::is_eq),
            ("!=", Ordering::is_ne),
            (">", Ordering::is_gt),
            ("<", Ordering::is_lt),
        ];
        let (sign, allows) = signs.iter().find(|(sign, _)| text.starts_with(sign))?;
        let (major, minor) = match text[sign.len()..].trim().split_once('.') {
            Some((major, minor)) => (major, Some(minor.parse().ok()?)),
            None => (text[sign.len()..].trim(), None),
        };
        Some(Bound {
            allows: *allows,
            major: major.parse().ok()?,
            minor,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_compares_only_its_written_components() {
        let holds = |text: &str, major, minor| {
            Bound::parse_all(text)
                .expect("bounds")
                .iter()
                .all(|bound| bound.holds(Version::new(major, minor)))
        };
        assert!(holds(">=7", 7, 0) && holds(">=7", 10, 0) && !holds(">=7", 6, 4));
        assert!(holds("<=7", 7, 14) && !holds(">7", 7, 14) && holds("==7", 7, 14));
        assert!(holds(">=2.6, <2.9", 2, 8) && !holds(">=2.6, <2.9", 2, 9));
        assert!(holds("!=2.9", 2, 10) && !holds("!=2.9", 2, 9));
        for text in ["", "7", "=>7", ">= x", ">=7.1.2", ">=7,"] {
            assert!(Bound::parse_all(text).is_none(), "{text:?}");
        }
    }
}
