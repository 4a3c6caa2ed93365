//! The Python that measures: finding it, asking what it has, and giving it our package.

mod package;
mod probe;

pub(crate) use package::{PackageError, unpack};
pub(crate) use probe::{Interpreter, find};
