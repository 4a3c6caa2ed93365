//! GPUs as the Linux kernel lists them, without ROCm or PyTorch. Lets `doctor` report on a host that lacks either, and
//! distinguishes a host without a GPU from a PyTorch that cannot use it.

mod kfd;
mod lease;
mod load;
mod nvidia;

pub(crate) use kfd::gpus;
pub(crate) use lease::{CUDA_ORDER, Lease, name_in_worker};
pub(crate) use load::{load, load_file};
pub(crate) use nvidia::{NvidiaGpu, gpus as nvidia_gpus};

use hipward_protocol::{Device, Missing, Vendor};
use std::path::Path;

/// Describes what is missing when the kernel lists an AMD GPU that PyTorch does not see. `sys` is the root of sysfs.
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
