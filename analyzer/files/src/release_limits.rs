//! The releases of packages that a file with requirements allows at most.

use crate::facts;
use crate::rules::helpers::specifiers::{newest, newest_major};
use hipward_analyzer_core::{Language, Version};

/// More than any minor version, for a limit on the major version.
const ANY_MINOR: u16 = 999;

/// The packages whose releases `source` limits, by their normalized names, each with the newest version that it allows.
pub fn release_limits(source: &str, language: Language) -> Vec<(String, Version)> {
    facts(source, language)
        .requirements
        .iter()
        .filter_map(|found| {
            // conda's `=4.36` is any patch.
            let specifier = found.specifier.as_str().trim_start_matches('=');
            let version = match newest(specifier) {
                Some(release) => release.minor(),
                None => Version::new(newest_major(specifier)?, ANY_MINOR),
            };
            Some((found.normalized(), version))
        })
        .collect()
}
