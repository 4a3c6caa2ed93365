//! Restricts a worker to one GPU: by environment variables and by device files.

use super::nvidia::{self, NvidiaGpu};
use hipward_protocol::{Device, Vendor};
use std::path::PathBuf;

/// Makes CUDA order devices as the driver lists them, so that the device file of each is known.
pub(crate) const CUDA_ORDER: (&str, &str) = ("CUDA_DEVICE_ORDER", "PCI_BUS_ID");

/// The restriction of a worker to one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    /// The variable that makes only this GPU visible, and its value.
    pub(crate) visible: (&'static str, String),
    /// A conflicting variable, which is removed.
    pub(crate) hidden: Option<&'static str>,
    /// The number of the device file, where it is known; only for NVIDIA. ROCm's runtime opens the files of all GPUs that the
    /// kernel lists, and does not start when one of them is denied.
    minor: Option<u32>,
}

/// The id of the device in the worker, which sees one GPU.
pub(crate) fn name_in_worker(device: &Device) -> String {
    match device.vendor {
        Vendor::Cpu => device.id.clone(),
        _ => "cuda:0".to_owned(),
    }
}

impl Lease {
    /// The lease of a GPU. `variable` reads the operator's environment, in which the device has its id. None for a processor.
    pub(crate) fn new(
        device: &Device,
        variable: impl Fn(&str) -> Option<String>,
        gpus: &[NvidiaGpu],
    ) -> Option<Self> {
        let index: usize = device.id.strip_prefix("cuda:")?.parse().ok()?;
        // The ids count the devices that the operator made visible, so the operator's entry is used.
        let entry = |name| {
            let list = variable(name)?;
            list.split(',')
                .nth(index)
                .map(|entry| entry.trim().to_owned())
        };
        let number = || index.to_string();
        match device.vendor {
            Vendor::Cpu => None,
            // ROCm applies ROCR_VISIBLE_DEVICES first, and HIP counts the remaining devices, so it stays unchanged.
            Vendor::Amd => Some(Lease {
                visible: (
                    "HIP_VISIBLE_DEVICES",
                    entry("HIP_VISIBLE_DEVICES")
                        .or_else(|| entry("CUDA_VISIBLE_DEVICES"))
                        .unwrap_or_else(number),
                ),
                hidden: Some("CUDA_VISIBLE_DEVICES"),
                minor: None,
            }),
            Vendor::Nvidia => {
                let entry = entry("CUDA_VISIBLE_DEVICES").unwrap_or_else(number);
                let is_ordered = variable(CUDA_ORDER.0).is_none_or(|order| order == CUDA_ORDER.1);
                let gpu = is_ordered.then(|| nvidia::named(gpus, &entry)).flatten();
                // A number would count only the GPUs whose files CUDA can open, which is this one.
                let visible = gpu.map_or(entry, |gpu| gpu.uuid.clone());
                Some(Lease {
                    visible: ("CUDA_VISIBLE_DEVICES", visible),
                    hidden: None,
                    minor: gpu.map(|gpu| gpu.minor),
                })
            }
        }
    }

    /// Applies the restriction to a worker's environment.
    pub(crate) fn apply(&self, environment: &mut Vec<(String, String)>) {
        let (name, value) = &self.visible;
        environment.retain(|(set, _)| set != name && Some(set.as_str()) != self.hidden);
        environment.push(((*name).to_owned(), value.clone()));
    }

    /// Removes the files of other GPUs, and keeps the shared ones.
    pub(crate) fn retain_own(&self, nodes: &mut Vec<PathBuf>) {
        let Some(minor) = self.minor else {
            return;
        };
        nodes.retain(|node| {
            let name = node.to_string_lossy();
            let number = name.strip_prefix("/dev/nvidia").map(str::parse::<u32>);
            !matches!(number, Some(Ok(other)) if other != minor)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(id: &str, vendor: Vendor) -> Device {
        let device = serde_json::json!({
            "id": id, "name": "A GPU", "vendor": vendor, "arch": "any", "memory_bytes": 1
        });
        serde_json::from_value(device).expect("a device")
    }

    /// Variables and their values.
    type Operator<'a> = &'a [(&'a str, &'a str)];

    fn lease(id: &str, vendor: Vendor, operator: Operator) -> Lease {
        let variable = |name: &str| {
            let set = operator.iter().find(|(set, _)| *set == name);
            set.map(|(_, value)| (*value).to_owned())
        };
        let gpus = [NvidiaGpu::new("GPU-aa", 7), NvidiaGpu::new("GPU-bb", 5)];
        Lease::new(&device(id, vendor), variable, &gpus).expect("is a GPU")
    }

    fn environment(lease: &Lease, operator: Operator) -> Vec<String> {
        let set = operator
            .iter()
            .map(|&(name, value)| (name.into(), value.into()));
        let mut environment: Vec<(String, String)> = set.collect();
        lease.apply(&mut environment);
        environment
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect()
    }

    #[test]
    fn worker_sees_one_amd_gpu() {
        let cases: [(Operator, &[&str]); 5] = [
            (&[], &["HIP_VISIBLE_DEVICES=1"]),
            (
                &[("HIP_VISIBLE_DEVICES", "4,6")],
                &["HIP_VISIBLE_DEVICES=6"],
            ),
            (
                &[("CUDA_VISIBLE_DEVICES", "4, 6")],
                &["HIP_VISIBLE_DEVICES=6"],
            ),
            (
                &[
                    ("HIP_VISIBLE_DEVICES", "GPU-a,GPU-b"),
                    ("CUDA_VISIBLE_DEVICES", "0"),
                ],
                &["HIP_VISIBLE_DEVICES=GPU-b"],
            ),
            (
                &[("ROCR_VISIBLE_DEVICES", "2,5")],
                &["ROCR_VISIBLE_DEVICES=2,5", "HIP_VISIBLE_DEVICES=1"],
            ),
        ];
        for (operator, expected) in cases {
            let lease = lease("cuda:1", Vendor::Amd, operator);
            assert_eq!(environment(&lease, operator), expected);
        }
    }

    #[test]
    fn worker_sees_and_opens_one_nvidia_gpu() {
        let nodes = ["nvidia5", "nvidia7", "nvidiactl", "nvidia-uvm"];
        let opened = |operator: Operator| {
            let lease = lease("cuda:1", Vendor::Nvidia, operator);
            let mut nodes: Vec<PathBuf> = nodes.map(|name| format!("/dev/{name}").into()).into();
            lease.retain_own(&mut nodes);
            let names: Vec<String> = nodes
                .iter()
                .filter_map(|node| Some(node.file_name()?.to_str()?.to_owned()))
                .collect();
            (lease.visible.1, names.join(" "))
        };
        let own =
            |visible: &str, minor| (visible.to_owned(), format!("{minor} nvidiactl nvidia-uvm"));
        assert_eq!(opened(&[]), own("GPU-bb", "nvidia5"));
        assert_eq!(
            opened(&[("CUDA_VISIBLE_DEVICES", "1,0")]),
            own("GPU-aa", "nvidia7")
        );
        assert_eq!(
            opened(&[("CUDA_VISIBLE_DEVICES", "1,GPU-aa")]),
            own("GPU-aa", "nvidia7")
        );
        // The device file is unknown, but the driver still makes one GPU visible.
        let unknown = |visible: &str| (visible.to_owned(), nodes.join(" "));
        assert_eq!(
            opened(&[("CUDA_VISIBLE_DEVICES", "0,MIG-aa")]),
            unknown("MIG-aa")
        );
        assert_eq!(
            opened(&[("CUDA_DEVICE_ORDER", "FASTEST_FIRST")]),
            unknown("1")
        );
    }

    #[test]
    fn gpu_is_the_first_of_its_worker() {
        assert_eq!(name_in_worker(&device("cuda:3", Vendor::Amd)), "cuda:0");
        assert_eq!(name_in_worker(&device("cpu", Vendor::Cpu)), "cpu");
    }
}
