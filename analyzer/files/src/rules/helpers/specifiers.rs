//! Versions in the requirements of pip, Poetry and lock files. Not a rule.

use std::fmt;

/// A release: `2.3.1`. Parts that are not written are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Release(pub(crate) [u16; 3]);

/// Any patch: the newest release of `==2.3.*`.
const ANY: u16 = u16::MAX;

impl Release {
    /// Major and minor version.
    pub(crate) fn minor(self) -> hipward_analyzer_core::Version {
        hipward_analyzer_core::Version::new(self.0[0], self.0[1])
    }

    fn any_patch(self) -> Release {
        Release([self.0[0], self.0[1], ANY])
    }

    /// The newest release before this one; `None` for the first release of a major version, because the number of
    /// releases before it is unknown.
    fn before(self) -> Option<Release> {
        let [major, minor, patch] = self.0;
        match (minor, patch) {
            (0, 0) => None,
            (_, 0) => Some(Release([major, minor - 1, ANY])),
            _ => Some(Release([major, minor, patch - 1])),
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [major, minor, ANY] => write!(f, "{major}.{minor}"),
            [major, minor, patch] => write!(f, "{major}.{minor}.{patch}"),
        }
    }
}

/// The newest release that a specifier allows, if it has an upper limit: `==2.3.0`, `~=2.3.1`, `>=2.0,<2.5`, and in
/// Poetry's form `2.3.0` and `~2.3`. None for a local version, which names its build, and for a URL.
pub(crate) fn newest(specifier: &str) -> Option<Release> {
    let specifier = specifier.trim_matches(['(', ')', '"', '\'']);
    if specifier.contains(['+', '@', '/', '$', '{']) {
        return None;
    }
    specifier
        .split(',')
        .filter_map(|clause| limit(clause.trim()))
        .min()
}

/// [`newest`] of PyTorch, whose last release before 2.0 is 1.13: `<2`, `^1.12`, `==1.*`.
pub(crate) fn newest_torch(specifier: &str) -> Option<Release> {
    let is_old = || newest_major(specifier) == Some(1);
    newest(specifier).or_else(|| is_old().then_some(Release([1, 13, ANY])))
}

/// The newest major version that a specifier allows, if it limits no more than that: 1 of `<2`, `~=1.9`, `^1.9` and `==1.*`.
pub(crate) fn newest_major(specifier: &str) -> Option<u16> {
    if specifier.contains(['+', '@', '/', '$', '{']) {
        return None;
    }
    let clauses = specifier.trim_matches(['(', ')']).split(',');
    let majors = clauses.filter_map(|clause| {
        let clause = clause.trim();
        let (sign, version) = clause.split_at(clause.find(|c: char| c.is_ascii_digit())?);
        let (major, rest) = version.split_once('.').unwrap_or((version, ""));
        let major: u16 = major.parse().ok()?;
        match sign.trim() {
            "<" if rest.chars().all(|c| matches!(c, '0' | '.')) => major.checked_sub(1),
            "~=" | "==" | "^" | "~" if !rest.is_empty() => Some(major),
            _ => None,
        }
    });
    majors.min()
}

fn limit(clause: &str) -> Option<Release> {
    let (sign, version) = clause.split_at(clause.find(|c: char| c.is_ascii_digit())?);
    let mut parts = [0; 3];
    let mut written = 0;
    for part in version.split('.').take(3) {
        // `2.4.1rc1`
        let digits = part
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(part.len());
        let Some(number) = part.get(..digits).and_then(|part| part.parse().ok()) else {
            break;
        };
        parts[written] = number;
        written += 1;
    }
    let exact = Release(parts);
    let has_any = version.split('.').any(|part| part.starts_with('*'));
    match sign.trim() {
        "==" | "===" | "" if has_any && written == 2 => Some(exact.any_patch()),
        "==" | "===" | "" if has_any => None,
        "==" | "===" | "<=" | "" => Some(exact),
        // `~=2.3.1` allows 2.3.x; `~=2.3` allows every 2.x. Poetry's `~2.3` and `~2.3.1` allow 2.3.x.
        "~=" if written > 2 => Some(exact.any_patch()),
        "~" if written > 1 => Some(exact.any_patch()),
        // Poetry's `^0.49` allows 0.49.x; `^2.3` allows every 2.x.
        "^" if parts[0] == 0 && written > 1 => Some(exact.any_patch()),
        "<" => exact.before(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn major_version_is_a_limit_too() {
        for (specifier, wanted) in [
            ("<2", Some(1)),
            (">=1.5,<2.0.0", Some(1)),
            ("~=1.9", Some(1)),
            ("^0.9", Some(0)),
            ("==1.*", Some(1)),
            ("<2.1", None),
            (">=1.9", None),
        ] {
            assert_eq!(newest_major(specifier), wanted, "{specifier}");
        }
    }

    #[test]
    fn newest_allowed_release_follows_from_the_upper_limit() {
        let newest = |specifier| newest(specifier).map(|release| release.to_string());
        for (specifier, wanted) in [
            ("==2.3.1", "2.3.1"),
            ("===2.3", "2.3.0"),
            ("==2.3.*", "2.3"),
            ("~=2.3.1", "2.3"),
            (">=2.0,<2.5", "2.4"),
            ("<2.3.1", "2.3.0"),
            ("<=2.3,>1", "2.3.0"),
            ("==2.4.1rc1", "2.4.1"),
            ("==2.7.4.post1", "2.7.4"),
            // Poetry and lock files.
            ("0.49.2", "0.49.2"),
            ("~2.3", "2.3"),
            ("^0.49.1", "0.49"),
            ("(==0.49.1)", "0.49.1"),
        ] {
            assert_eq!(newest(specifier).as_deref(), Some(wanted), "{specifier}");
        }
        for specifier in [
            "",
            ">=2.3",
            "!=2.3.0",
            "~=2.3",
            "^2.3",
            "<3",
            "==2.*",
            "==2.4.0+cu124",
            "@ https://example.com/x-2.3.0.whl",
            "==${VERSION}",
        ] {
            assert_eq!(newest(specifier), None, "{specifier}");
        }
    }

    #[test]
    fn limit_before_pytorch_2_is_its_last_release() {
        let newest = |specifier| newest_torch(specifier).map(|release| release.to_string());
        for specifier in [
            "<2",
            "<2.0.0, >=1.12.1",
            ">=1.8,<2.0",
            "^1.12",
            "~=1.12",
            "==1.*",
        ] {
            assert_eq!(newest(specifier).as_deref(), Some("1.13"), "{specifier}");
        }
        assert_eq!(newest("==1.12.1").as_deref(), Some("1.12.1"));
        for specifier in ["", ">=1.12", ">1", "<3", "!=1.12", "==1.13.1+cu117", "<20"] {
            assert_eq!(newest(specifier), None, "{specifier}");
        }
    }
}
