//! GPUs as the Linux kernel lists them, without ROCm or PyTorch, and as the HIP runtime does: what
//! `doctor` can say on a host that lacks either, and what tells "no GPU" from "a PyTorch that cannot
//! use it".

mod hip;
mod kfd;
mod lease;
mod nvidia;

pub(crate) use hip::{HipError, runtime as hip_runtime};
pub(crate) use kfd::gpus;
pub(crate) use lease::{CUDA_ORDER, Lease, name_in_worker};
pub(crate) use nvidia::{NvidiaGpu, gpus as nvidia_gpus};

use hipward_protocol::{Device, Missing, Vendor};
use std::path::Path;

/// What is missing when the kernel below this sysfs root lists an AMD GPU that PyTorch does not.
pub(crate) fn unused_amd_gpu(sys: &Path, devices: &[Device]) -> Option<Missing> {
    let gpu = gpus(sys).into_iter().next()?;
    let seen = devices.iter().any(|device| device.vendor == Vendor::Amd);
    (!seen).then(|| Missing {
        what: "A PyTorch that sees the AMD GPU".to_owned(),
        consequence: format!(
            "The kernel lists a GPU ({}) that this PyTorch does not see, so benchmarks do not run on it.",
            gpu.arch
        ),
        fix: "HIPWARD_PYTHON=/path/to/python with PyTorch for ROCm, as a user in the groups \
               `render` and `video`"
            .to_owned(),
    })
}
