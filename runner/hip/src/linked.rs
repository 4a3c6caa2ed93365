//! The HIP runtime as the crate `hip-sys` links it.
#![allow(unsafe_code)]

use crate::HipApi;
use hip_sys::hiprt::{
    hipDeviceGetName, hipDeviceTotalMem, hipError_t, hipGetDeviceCount, hipRuntimeGetVersion,
};
use std::{
    ffi::{c_char, c_int},
    mem::transmute,
};

/// The linked functions.
///
/// The bindings declare the result as a Rust enum of the error codes that HIP 5.4 had. A later release may return
/// another code, which is undefined behaviour for an enum, so each function is called as one that returns an int.
pub(crate) struct LinkedApi;

impl HipApi for LinkedApi {
    fn runtime_version(&self, version: &mut c_int) -> c_int {
        type Declared = unsafe extern "C" fn(*mut c_int) -> hipError_t;
        // SAFETY: the enum has the size of an int. The function writes one int.
        unsafe {
            transmute::<Declared, unsafe extern "C" fn(*mut c_int) -> c_int>(hipRuntimeGetVersion)(
                version,
            )
        }
    }

    fn device_count(&self, count: &mut c_int) -> c_int {
        type Declared = unsafe extern "C" fn(*mut c_int) -> hipError_t;
        // SAFETY: as above.
        unsafe {
            transmute::<Declared, unsafe extern "C" fn(*mut c_int) -> c_int>(hipGetDeviceCount)(
                count,
            )
        }
    }

    fn device_name(&self, name: &mut [c_char], device: c_int) -> c_int {
        type Declared = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> hipError_t;
        type Called = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
        let length = c_int::try_from(name.len()).unwrap_or(c_int::MAX);
        // SAFETY: as above; writes at most `length` bytes.
        unsafe {
            transmute::<Declared, Called>(hipDeviceGetName)(name.as_mut_ptr(), length, device)
        }
    }

    fn device_memory(&self, bytes: &mut usize, device: c_int) -> c_int {
        type Declared = unsafe extern "C" fn(*mut usize, c_int) -> hipError_t;
        type Called = unsafe extern "C" fn(*mut usize, c_int) -> c_int;
        // SAFETY: as above; writes one size_t.
        unsafe { transmute::<Declared, Called>(hipDeviceTotalMem)(bytes, device) }
    }
}
