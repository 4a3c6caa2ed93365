//! NVIDIA GPUs from the kernel driver's folder in /proc.

use std::{fs, path::Path};

/// A GPU of NVIDIA's kernel driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NvidiaGpu {
    /// `GPU-1234…`
    pub(crate) uuid: String,
    /// The device file's number: `/dev/nvidia<minor>`.
    pub(crate) minor: u32,
}

#[cfg(test)]
impl NvidiaGpu {
    pub(crate) fn new(uuid: &str, minor: u32) -> Self {
        let uuid = uuid.to_owned();
        NvidiaGpu { uuid, minor }
    }
}

/// The GPUs below `driver` (`/proc/driver/nvidia`) that have a device file in `dev`, in the order of their bus addresses,
/// which is CUDA's order with CUDA_DEVICE_ORDER=PCI_BUS_ID. A container sees the folders of all GPUs, and the device files of
/// its own GPUs.
pub(crate) fn gpus(driver: &Path, dev: &Path) -> Vec<NvidiaGpu> {
    let folders = fs::read_dir(driver.join("gpus")).into_iter().flatten();
    let mut folders: Vec<_> = folders.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders
        .iter()
        .filter_map(|folder| gpu(&fs::read_to_string(folder.join("information")).ok()?))
        .filter(|gpu| dev.join(format!("nvidia{}", gpu.minor)).exists())
        .collect()
}

/// The GPU of an entry of CUDA_VISIBLE_DEVICES: a number, or the start of a UUID. None for a part of a
/// GPU (MIG).
pub(crate) fn named<'gpu>(gpus: &'gpu [NvidiaGpu], entry: &str) -> Option<&'gpu NvidiaGpu> {
    if let Ok(index) = entry.parse::<usize>() {
        return gpus.get(index);
    }
    let mut meant = gpus
        .iter()
        .filter(|gpu| entry.starts_with("GPU-") && gpu.uuid.starts_with(entry));
    let gpu = meant.next()?;
    meant.next().is_none().then_some(gpu)
}

fn gpu(information: &str) -> Option<NvidiaGpu> {
    let value = |name: &str| {
        let line = information.lines().find_map(|line| line.strip_prefix(name));
        Some(line?.strip_prefix(':')?.trim().to_owned())
    };
    Some(NvidiaGpu {
        uuid: value("GPU UUID")?,
        minor: value("Device Minor")?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three GPUs, whose files are numbered in another order than the bus, and one that has no file here.
    fn host() -> Vec<NvidiaGpu> {
        let host = tempfile::tempdir().expect("a temporary folder");
        for (address, uuid, minor) in [
            ("0000:0b:00.0", "GPU-ab12", 0),
            ("0000:04:00.0", "GPU-ab34", 2),
            ("0000:c1:00.0", "GPU-cd56", 1),
            ("0000:05:00.0", "GPU-ef78", 3),
        ] {
            let folder = host.path().join("driver/gpus").join(address);
            fs::create_dir_all(&folder).expect("can be made");
            let information = format!(
                "Model: \t\t NVIDIA H100\nIRQ:   \t\t 44\nGPU UUID: \t {uuid}\nBus Location: \t {address}\nDevice Minor: \t {minor}\n"
            );
            fs::write(folder.join("information"), information).expect("can be written");
        }
        fs::create_dir(host.path().join("dev")).expect("can be made");
        for node in ["nvidia0", "nvidia1", "nvidia2", "nvidiactl"] {
            fs::write(host.path().join("dev").join(node), "").expect("can be written");
        }
        gpus(&host.path().join("driver"), &host.path().join("dev"))
    }

    #[test]
    fn gpus_with_a_device_file_are_in_bus_order() {
        let minors: Vec<u32> = host().iter().map(|gpu| gpu.minor).collect();
        assert_eq!(minors, [2, 0, 1]);
    }

    #[test]
    fn entry_is_a_number_or_a_unique_uuid_prefix() {
        let gpus = host();
        let minor = |entry| named(&gpus, entry).map(|gpu| gpu.minor);
        assert_eq!(minor("0"), Some(2));
        assert_eq!(minor("GPU-cd56"), Some(1));
        assert_eq!(minor("GPU-c"), Some(1));
        for unclear in ["GPU-ab", "GPU-00", "MIG-ab12", "3", "-1", ""] {
            assert_eq!(minor(unclear), None, "{unclear:?}");
        }
    }
}
