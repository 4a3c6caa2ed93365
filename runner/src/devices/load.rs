//! How busy a GPU is, as AMD's kernel driver reports it. Shows programs that use the GPU outside of Hipward.

use super::kfd;
use hipward_protocol::{Device, Vendor};
use std::path::{Path, PathBuf};

/// The file with the load of an AMD GPU, percent, if the driver has one. `sys` is the root of sysfs; `variable` reads the operator's
/// environment, in which the device has its id.
pub(crate) fn load_file(
    sys: &Path,
    device: &Device,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<PathBuf> {
    if device.vendor != Vendor::Amd {
        return None;
    }
    let index: usize = device.id.strip_prefix("cuda:")?.parse().ok()?;
    // Each variable selects from the devices that the next one leaves. Entries may be UUIDs, whose GPU is unknown here.
    let select = |name: &str, index: usize| match variable(name) {
        None => Some(index),
        Some(list) => list.split(',').nth(index)?.trim().parse().ok(),
    };
    let hip = match variable("HIP_VISIBLE_DEVICES") {
        Some(_) => select("HIP_VISIBLE_DEVICES", index)?,
        None => select("CUDA_VISIBLE_DEVICES", index)?,
    };
    let number = select("ROCR_VISIBLE_DEVICES", hip)?;
    let minor = kfd::gpus(sys).get(number)?.render_minor;
    let file = sys.join(format!("class/drm/renderD{minor}/device/gpu_busy_percent"));
    file.exists().then_some(file)
}

/// The load in percent. None if it cannot be read.
pub(crate) async fn load(file: &Path) -> Option<u32> {
    let text = tokio::fs::read_to_string(file).await.ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Variables and their values.
    type Operator<'a> = &'a [(&'a str, &'a str)];

    fn device(id: &str, vendor: Vendor) -> Device {
        Device {
            id: id.to_owned(),
            name: "A GPU".to_owned(),
            vendor,
            arch: "gfx942".to_owned(),
            memory_bytes: 1,
            current_job: None,
        }
    }

    #[tokio::test]
    async fn load_is_that_of_the_gpu_which_the_operator_made_visible() {
        let sys = tempfile::tempdir().expect("a folder");
        for (node, minor, busy) in [(1, 128, "0"), (2, 129, "97"), (3, 130, "3")] {
            let node = sys
                .path()
                .join(format!("class/kfd/kfd/topology/nodes/{node}"));
            fs::create_dir_all(&node).expect("can be made");
            let properties = format!("gfx_target_version 90402\ndrm_render_minor {minor}\n");
            fs::write(node.join("properties"), properties).expect("is written");
            let card = sys.path().join(format!("class/drm/renderD{minor}/device"));
            fs::create_dir_all(&card).expect("can be made");
            fs::write(card.join("gpu_busy_percent"), format!("{busy}\n")).expect("is written");
        }
        let cases: [(Operator, Option<u32>); 5] = [
            (&[], Some(97)),
            (&[("HIP_VISIBLE_DEVICES", "1,2")], Some(3)),
            (&[("CUDA_VISIBLE_DEVICES", "1, 0")], Some(0)),
            (
                &[
                    ("ROCR_VISIBLE_DEVICES", "2,1"),
                    ("HIP_VISIBLE_DEVICES", "0,1"),
                ],
                Some(97),
            ),
            (&[("ROCR_VISIBLE_DEVICES", "GPU-a,GPU-b")], None),
        ];
        for (variables, expected) in cases {
            let variable = |name: &str| {
                let set = variables.iter().find(|(set, _)| *set == name);
                set.map(|(_, value)| (*value).to_owned())
            };
            let file = load_file(sys.path(), &device("cuda:1", Vendor::Amd), variable);
            let found = match file {
                Some(file) => load(&file).await,
                None => None,
            };
            assert_eq!(found, expected, "{variables:?}");
        }
        let none = |_: &str| None;
        assert!(load_file(sys.path(), &device("cuda:0", Vendor::Nvidia), none).is_none());
        assert!(load_file(sys.path(), &device("cuda:7", Vendor::Amd), none).is_none());
    }
}
