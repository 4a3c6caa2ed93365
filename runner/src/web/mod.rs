//! The site in this binary: pages from content, and the files that browsers load.

pub(crate) mod assets;
pub(crate) mod pages;
