//! The Python that measures: finding it, asking what it has, and giving it our package.

mod installation;
mod package;
mod probe;

pub(crate) use installation::is_installing;
pub(crate) use package::{PackageError, unpack};
pub(crate) use probe::{Interpreter, find};
