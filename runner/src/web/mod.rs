//! The site as this binary serves it: pages from content, and the files the browser loads.

pub(crate) mod assets;
pub(crate) mod pages;
