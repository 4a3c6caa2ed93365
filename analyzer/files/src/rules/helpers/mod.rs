//! Code that several rules share. No rule is in here.

pub(crate) mod lines;
pub(crate) mod packages;
pub(crate) mod releases;
pub(crate) mod specifiers;
pub(crate) mod variables;
pub(crate) mod wheels;
