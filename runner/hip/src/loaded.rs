//! The HIP runtime as a shared library that is loaded at run time.
#![allow(unsafe_code)]

use crate::{HipApi, HipError};
use libloading::{Library, Symbol};
use std::{
    env,
    ffi::{OsString, c_char, c_int},
    path::Path,
};

/// The functions of a loaded library.
pub(crate) struct LoadedApi<'library> {
    runtime_version: Symbol<'library, unsafe extern "C" fn(*mut c_int) -> c_int>,
    device_count: Symbol<'library, unsafe extern "C" fn(*mut c_int) -> c_int>,
    device_name: Symbol<'library, unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int>,
    device_memory: Symbol<'library, unsafe extern "C" fn(*mut usize, c_int) -> c_int>,
}

/// Loads `libamdhip64.so` from `$ROCM_PATH/lib`, `/opt/rocm/lib`, or the loader's search path.
pub(crate) fn find() -> Result<Library, HipError> {
    let root = env::var_os("ROCM_PATH").unwrap_or_else(|| "/opt/rocm".into());
    let installed = Path::new(&root).join("lib/libamdhip64.so").into_os_string();
    // Only ROCm's development packages install the name without a version.
    let by_loader =
        ["so", "so.7", "so.6", "so.5"].map(|suffix| format!("libamdhip64.{suffix}").into());
    [installed]
        .into_iter()
        .chain(by_loader)
        .find_map(|name| load(&name))
        .ok_or(HipError::Absent)
}

fn load(name: &OsString) -> Option<Library> {
    // SAFETY: the library's initialisers are ROCm's, written to run in any program that links it.
    unsafe { Library::new(name) }.ok()
}

impl<'library> LoadedApi<'library> {
    /// Looks the functions up.
    pub(crate) fn new(library: &'library Library) -> Result<Self, HipError> {
        // SAFETY: hip_runtime_api.h declares these signatures, with hipError_t and hipDevice_t as int.
        let api = unsafe {
            (|| {
                Ok(LoadedApi {
                    runtime_version: library.get(c"hipRuntimeGetVersion")?,
                    device_count: library.get(c"hipGetDeviceCount")?,
                    device_name: library.get(c"hipDeviceGetName")?,
                    device_memory: library.get(c"hipDeviceTotalMem")?,
                })
            })()
        };
        api.map_err(HipError::MissingFunction)
    }
}

impl HipApi for LoadedApi<'_> {
    fn runtime_version(&self, version: &mut c_int) -> c_int {
        // SAFETY: writes one int.
        unsafe { (self.runtime_version)(version) }
    }

    fn device_count(&self, count: &mut c_int) -> c_int {
        // SAFETY: writes one int.
        unsafe { (self.device_count)(count) }
    }

    fn device_name(&self, name: &mut [c_char], device: c_int) -> c_int {
        let length = c_int::try_from(name.len()).unwrap_or(c_int::MAX);
        // SAFETY: writes at most `length` bytes.
        unsafe { (self.device_name)(name.as_mut_ptr(), length, device) }
    }

    fn device_memory(&self, bytes: &mut usize, device: c_int) -> c_int {
        // SAFETY: writes one size_t.
        unsafe { (self.device_memory)(bytes, device) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HipRuntime, NO_DEVICE, query};
    use std::{fs, process::Command};

    /// Compiles `source` to a shared library and queries it.
    fn query_library(source: &str) -> Result<HipRuntime, HipError> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (code, library) = (folder.path().join("hip.c"), folder.path().join("hip.so"));
        fs::write(&code, source).expect("can be written");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &code])
            .status();
        assert!(built.expect("there is a C compiler").success());
        let library = load(&library.into_os_string()).expect("the library loads");
        query(&LoadedApi::new(&library)?)
    }

    const FUNCTIONS: &str = r#"
        #include <stddef.h>
        #include <string.h>
        int hipRuntimeGetVersion(int *version) { *version = 70125424; return 0; }
        int hipDeviceGetName(char *name, int length, int device) {
            memset(name, 'x', length);
            if (device == 0) strcpy(name, "AMD Instinct MI300X");
            return 0;
        }
        int hipDeviceTotalMem(size_t *bytes, int device) { *bytes = (size_t)(device + 1) << 37; return 0; }
    "#;

    #[test]
    fn version_and_devices_are_read() {
        let found = query_library(&format!(
            "{FUNCTIONS} int hipGetDeviceCount(int *count) {{ *count = 2; return 0; }}"
        ))
        .expect("a runtime");
        assert_eq!(found.version, "7.1.25424");
        assert_eq!(found.devices[0].name, "AMD Instinct MI300X");
        assert_eq!(found.devices[1].memory_bytes, 256 << 30);
        assert_eq!(found.devices[1].name.len(), 255, "the name is cut");
    }

    #[test]
    fn host_without_gpu_has_no_devices_and_other_errors_are_reported() {
        let count = |code: i32| {
            query_library(&format!(
                "{FUNCTIONS} int hipGetDeviceCount(int *count) {{ return {code}; }}"
            ))
        };
        assert_eq!(count(NO_DEVICE).expect("a runtime").devices, []);
        let error = count(101).expect_err("an error");
        assert_eq!(
            error.to_string(),
            "hipGetDeviceCount of the HIP runtime returned error 101"
        );
    }

    #[test]
    fn library_without_the_functions_is_an_error() {
        assert!(matches!(
            query_library("int nothing;"),
            Err(HipError::MissingFunction(_))
        ));
    }
}
