//! The Python that runs jobs, and what its probe found: PyTorch, devices and variants.

use super::{refusal::Refusal, settings::Settings};
use crate::{
    isolation::{FileRules, Identity},
    jobs::PrivateDirectory,
    python::{self, Interpreter},
};
use hipward_protocol::{Device, Variant};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A Python with PyTorch.
#[derive(Debug)]
pub(super) struct Python {
    pub(super) interpreter: Interpreter,
    /// The folder that contains `hipward_kernels`.
    pub(super) package: PathBuf,
    /// The version of PyTorch.
    pub(super) torch: Option<String>,
    /// The version of the HIP runtime that PyTorch was built with.
    pub(super) hip: Option<String>,
    /// The compiler for HIP sources.
    pub(super) hip_compiler: Option<String>,
    pub(super) devices: Vec<Device>,
    /// The variants of the harness, in ladder order.
    pub(super) variants: Vec<Variant>,
}

impl Python {
    /// Finds the interpreter and probes it.
    pub(super) async fn discover(settings: &Settings, package: PathBuf) -> Result<Self, Refusal> {
        let executable = python::find(settings.python.clone());
        let interpreter = Interpreter::locate(executable)
            .await
            .map_err(Refusal::no_torch)?;
        let readable = FileRules::new(interpreter.readable(), false).read;
        if let Some(folder) = folder_containing(&settings.data, &readable) {
            return Err(Refusal::data_readable(&folder));
        }
        let home = PrivateDirectory::new(&settings.data, None)
            .map_err(|error| Refusal::no_private_directory(&error))?;
        let probe = interpreter
            .probe(&package, home.path())
            .await
            .map_err(Refusal::no_torch)?;
        Ok(Python {
            interpreter,
            package,
            torch: probe.torch,
            hip: probe.hip,
            hip_compiler: probe.hip_compiler,
            devices: probe.devices,
            variants: probe.variants,
        })
    }

    /// The folder whose permissions prevent a user without privileges from running this Python, if there is one.
    pub(super) async fn unreadable_folder(
        &self,
        settings: &Settings,
        identity: &Identity,
    ) -> Option<PathBuf> {
        // Without a private directory no worker starts, and the error is reported then.
        let home = PrivateDirectory::new(&settings.data, Some(identity)).ok()?;
        let (python, package) = (&self.interpreter, &self.package);
        if python
            .is_readable_by(identity.uid, package, home.path())
            .await
        {
            return None;
        }
        let closed = python.closed_folder(package, home.path());
        closed.or_else(|| Some(python.executable.clone()))
    }
}

/// The folder readable by snippets that contains the data folder, if there is one.
fn folder_containing(data: &Path, readable: &[PathBuf]) -> Option<PathBuf> {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let data = real(data);
    let around = readable
        .iter()
        .find(|folder| data.starts_with(real(folder)))?;
    Some(around.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_folder_in_a_readable_folder_is_detected() {
        let readable = [PathBuf::from("/usr"), PathBuf::from("/opt/python")];
        let inside = folder_containing(Path::new("/opt/python/data"), &readable);
        assert_eq!(inside.as_deref(), Some(Path::new("/opt/python")));
        assert_eq!(
            folder_containing(Path::new("/opt/pythonic"), &readable),
            None
        );
    }
}
