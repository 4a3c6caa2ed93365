//! The Python of the workers: finds it, probes it, and unpacks the measuring package for it.

mod emulator;
mod installation;
mod package;
mod probe;

pub(crate) use emulator::{Programs, emulator};
pub(crate) use installation::is_installing;
pub(crate) use package::{PackageError, unpack};
pub(crate) use probe::{Interpreter, READS_ITS_FILES, USES_ITS_GPU, find};
