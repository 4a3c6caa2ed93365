//! What the HIP runtime of this host says about itself. It is found and loaded at run time, so one
//! binary serves hosts with ROCm and without; "no HIP here" is a normal answer.
//!
//! Loading it starts ROCm's own threads and opens the GPUs: for a command that ends soon, not for a
//! server. Only calls whose signature is the same in every HIP from 5 to 10 are used, which
//! `hipGetDeviceProperties` is not, and errors are read as plain numbers, because each release has
//! new ones.
#![allow(unsafe_code)]

use libloading::{Library, Symbol};
use std::{
    env,
    ffi::{CStr, OsString, c_char, c_int},
    path::Path,
};

/// `hipSuccess`.
const SUCCESS: c_int = 0;
/// `hipErrorNoDevice`.
const NO_DEVICE: c_int = 100;

/// The runtime and what it can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HipRuntime {
    /// `7.1.25424`
    pub(crate) version: String,
    /// In HIP's order, as `HIP_VISIBLE_DEVICES` leaves them.
    pub(crate) devices: Vec<HipDevice>,
}

/// One GPU as HIP names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HipDevice {
    /// `AMD Instinct MI300X`
    pub(crate) name: String,
    /// Of its memory.
    pub(crate) memory_bytes: u64,
}

/// Why HIP says nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HipError {
    /// No file of that name is where libraries are looked for.
    #[error("libamdhip64.so is not installed where the loader or ROCM_PATH finds it")]
    Absent,
    /// It is not the library that it is named after.
    #[error("the HIP runtime lacks a call that every release has: {0}")]
    Foreign(#[from] libloading::Error),
    /// It answers with an error.
    #[error("{call} of the HIP runtime ended with error {code}")]
    Call {
        /// Which call.
        call: &'static str,
        /// HIP's number for it.
        code: c_int,
    },
}

/// Asks the host's HIP runtime.
pub(crate) fn runtime() -> Result<HipRuntime, HipError> {
    let root = env::var_os("ROCM_PATH").unwrap_or_else(|| "/opt/rocm".into());
    let installed = Path::new(&root).join("lib/libamdhip64.so").into_os_string();
    // The plain name is part of ROCm's development packages only.
    let by_loader = ["so", "so.7", "so.6", "so.5"].map(|end| format!("libamdhip64.{end}").into());
    [installed]
        .into_iter()
        .chain(by_loader)
        .find_map(|name| load(&name))
        .ok_or(HipError::Absent)
        .and_then(|library| ask(&library))
}

fn load(name: &OsString) -> Option<Library> {
    // SAFETY: its initialisers are ROCm's own, written to be run by any program that links it.
    unsafe { Library::new(name) }.ok()
}

fn ask(library: &Library) -> Result<HipRuntime, HipError> {
    // SAFETY: hip_runtime_api.h declares these calls so, hipError_t and hipDevice_t as int.
    let calls = unsafe {
        Calls {
            version: library.get(c"hipRuntimeGetVersion")?,
            count: library.get(c"hipGetDeviceCount")?,
            name: library.get(c"hipDeviceGetName")?,
            memory: library.get(c"hipDeviceTotalMem")?,
        }
    };
    let (mut version, mut count) = (0, 0);
    // SAFETY: both write one int, to a place of ours.
    checked("hipRuntimeGetVersion", unsafe {
        (calls.version)(&raw mut version)
    })?;
    match unsafe { (calls.count)(&raw mut count) } {
        NO_DEVICE => count = 0,
        code => checked("hipGetDeviceCount", code)?,
    }
    Ok(HipRuntime {
        version: in_words(version),
        devices: (0..count)
            .map(|device| calls.device(device))
            .collect::<Result<_, _>>()?,
    })
}

/// The calls that are used; they live as long as the library.
struct Calls<'library> {
    version: Symbol<'library, unsafe extern "C" fn(*mut c_int) -> c_int>,
    count: Symbol<'library, unsafe extern "C" fn(*mut c_int) -> c_int>,
    name: Symbol<'library, unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int>,
    memory: Symbol<'library, unsafe extern "C" fn(*mut usize, c_int) -> c_int>,
}

impl Calls<'_> {
    fn device(&self, device: c_int) -> Result<HipDevice, HipError> {
        const LENGTH: usize = 256;
        let mut name = [0 as c_char; LENGTH];
        let mut bytes = 0;
        // SAFETY: at most LENGTH - 1 bytes are written to a buffer of LENGTH zeros, so it ends.
        let name = unsafe {
            let code = (self.name)(name.as_mut_ptr(), LENGTH as c_int - 1, device);
            checked("hipDeviceGetName", code)?;
            CStr::from_ptr(name.as_ptr())
        };
        // SAFETY: one size_t is written, to a place of ours.
        checked("hipDeviceTotalMem", unsafe {
            (self.memory)(&raw mut bytes, device)
        })?;
        Ok(HipDevice {
            name: name.to_string_lossy().into_owned(),
            memory_bytes: bytes as u64,
        })
    }
}

fn checked(call: &'static str, code: c_int) -> Result<(), HipError> {
    if code == SUCCESS {
        Ok(())
    } else {
        Err(HipError::Call { call, code })
    }
}

/// `HIP_VERSION` of hip_version.h: major × 10⁷ + minor × 10⁵ + patch.
fn in_words(version: c_int) -> String {
    format!(
        "{}.{}.{}",
        version / 10_000_000,
        version / 100_000 % 100,
        version % 100_000
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, process::Command};

    /// A library of HIP's name and calls, with the devices that the C code makes up.
    fn library(source: &str) -> Result<HipRuntime, HipError> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (code, library) = (folder.path().join("hip.c"), folder.path().join("hip.so"));
        fs::write(&code, source).expect("can be written");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &code])
            .status();
        assert!(built.expect("there is a C compiler").success());
        ask(&load(&library.into_os_string()).expect("it loads"))
    }

    const CALLS: &str = r#"
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
        let found = library(&format!(
            "{CALLS} int hipGetDeviceCount(int *count) {{ *count = 2; return 0; }}"
        ))
        .expect("it answers");
        assert_eq!(found.version, "7.1.25424");
        assert_eq!(found.devices[0].name, "AMD Instinct MI300X");
        assert_eq!(found.devices[1].memory_bytes, 256 << 30);
        assert_eq!(found.devices[1].name.len(), 255, "a long name ends");
    }

    #[test]
    fn a_host_without_a_gpu_has_none_and_an_error_is_told() {
        let count = |code: i32| {
            library(&format!(
                "{CALLS} int hipGetDeviceCount(int *count) {{ return {code}; }}"
            ))
        };
        assert_eq!(count(NO_DEVICE).expect("that is an answer").devices, []);
        let error = count(101).expect_err("an error");
        assert_eq!(
            error.to_string(),
            "hipGetDeviceCount of the HIP runtime ended with error 101"
        );
    }

    #[test]
    fn another_library_of_that_name_is_told_from_hip() {
        assert!(matches!(library("int nothing;"), Err(HipError::Foreign(_))));
    }
}
