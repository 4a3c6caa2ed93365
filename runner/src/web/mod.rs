//! The site in this binary: pages from content, and the files that browsers load.

pub(crate) mod addresses;
pub(crate) mod assets;
pub(crate) mod content_coding;
pub(crate) mod live_pages;
pub(crate) mod pages;
pub(crate) mod stored_body;
