//! The version of this host's HIP runtime and the GPUs that it can use.
//!
//! [`runtime`] loads the library at run time, so that one binary serves hosts with and without ROCm. With the cargo
//! feature `hip-sys` it calls the functions that the crate of that name links instead. Both implement [`HipApi`].
//!
//! Loading the library starts ROCm's threads and opens the GPUs. Use it in commands that end soon, not in a server.
//! Only functions whose signature is the same in HIP 5 to 10 are used, which excludes `hipGetDeviceProperties`. Error
//! codes are plain integers, because each release adds new ones.

#[cfg(feature = "hip-sys")]
mod linked;
#[cfg_attr(feature = "hip-sys", allow(dead_code, reason = "the tests cover both"))]
mod loaded;

use std::{
    error::Error,
    ffi::{c_char, c_int},
    fmt,
};

/// `hipSuccess`.
const SUCCESS: c_int = 0;
/// `hipErrorNoDevice`.
const NO_DEVICE: c_int = 100;

/// The HIP runtime and its devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HipRuntime {
    /// `7.1.25424`
    pub version: String,
    /// In the order of HIP, restricted by `HIP_VISIBLE_DEVICES`.
    pub devices: Vec<HipDevice>,
}

/// One GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HipDevice {
    /// `AMD Instinct MI300X`
    pub name: String,
    /// Size of its memory, bytes.
    pub memory_bytes: u64,
}

/// Why the HIP runtime could not be queried.
#[derive(Debug)]
#[non_exhaustive]
pub enum HipError {
    /// The library is not installed where it is looked up.
    Absent,
    /// The library lacks a function that every HIP release has.
    MissingFunction(libloading::Error),
    /// A function returned an error code.
    Call {
        /// The function.
        function: &'static str,
        /// The value of `hipError_t`.
        code: c_int,
    },
}

impl fmt::Display for HipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HipError::Absent => f.write_str(
                "libamdhip64.so is not installed where the loader or ROCM_PATH finds it",
            ),
            HipError::MissingFunction(error) => {
                write!(
                    f,
                    "the HIP runtime lacks a function that every release has: {error}"
                )
            }
            HipError::Call { function, code } => {
                write!(f, "{function} of the HIP runtime returned error {code}")
            }
        }
    }
}

impl Error for HipError {}

/// The functions of the HIP runtime that are used, with their C signatures. Each returns a `hipError_t`.
pub trait HipApi {
    /// `hipRuntimeGetVersion`
    fn runtime_version(&self, version: &mut c_int) -> c_int;
    /// `hipGetDeviceCount`
    fn device_count(&self, count: &mut c_int) -> c_int;
    /// `hipDeviceGetName`; writes at most `name.len()` bytes.
    fn device_name(&self, name: &mut [c_char], device: c_int) -> c_int;
    /// `hipDeviceTotalMem`
    fn device_memory(&self, bytes: &mut usize, device: c_int) -> c_int;
}

/// Queries this host's HIP runtime.
pub fn runtime() -> Result<HipRuntime, HipError> {
    #[cfg(feature = "hip-sys")]
    let api = linked::LinkedApi;
    #[cfg(not(feature = "hip-sys"))]
    let library = loaded::find()?;
    #[cfg(not(feature = "hip-sys"))]
    let api = loaded::LoadedApi::new(&library)?;
    query(&api)
}

/// Reads the version and the devices. A host without a GPU has an empty list of devices.
pub fn query(api: &impl HipApi) -> Result<HipRuntime, HipError> {
    let (mut version, mut count) = (0, 0);
    match api.device_count(&mut count) {
        NO_DEVICE => count = 0,
        code => check("hipGetDeviceCount", code)?,
    }
    match api.runtime_version(&mut version) {
        // HIP 5 reports its version only after it has found a device.
        NO_DEVICE => {}
        code => check("hipRuntimeGetVersion", code)?,
    }
    let devices = (0..count).map(|index| device(api, index));
    Ok(HipRuntime {
        version: format_version(version),
        devices: devices.collect::<Result<_, _>>()?,
    })
}

fn device(api: &impl HipApi, index: c_int) -> Result<HipDevice, HipError> {
    let mut name = [0; 256];
    let mut bytes = 0;
    // The last byte stays 0.
    let end = name.len() - 1;
    check("hipDeviceGetName", api.device_name(&mut name[..end], index))?;
    check("hipDeviceTotalMem", api.device_memory(&mut bytes, index))?;
    let name: Vec<u8> = name
        .iter()
        .map(|&byte| byte.cast_unsigned())
        .take_while(|&byte| byte != 0)
        .collect();
    Ok(HipDevice {
        name: String::from_utf8_lossy(&name).into_owned(),
        memory_bytes: bytes as u64,
    })
}

fn check(function: &'static str, code: c_int) -> Result<(), HipError> {
    match code {
        SUCCESS => Ok(()),
        code => Err(HipError::Call { function, code }),
    }
}

/// Formats `HIP_VERSION` of `hip_version.h`, which is major × 10⁷ + minor × 10⁵ + patch.
fn format_version(version: c_int) -> String {
    let (major, minor) = (version / 10_000_000, version / 100_000 % 100);
    format!("{major}.{minor}.{}", version % 100_000)
}
