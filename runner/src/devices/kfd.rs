//! AMD GPUs from the kernel driver's topology in sysfs.

use std::{fs, path::Path};

/// A GPU of the AMD kernel driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KfdGpu {
    /// `gfx942`
    pub(crate) arch: String,
    /// The render node's number: `/dev/dri/renderD<minor>`.
    pub(crate) render_minor: u32,
}

/// The GPUs below a sysfs root (`/sys`), in the driver's order. Empty without the driver.
pub(crate) fn gpus(sys: &Path) -> Vec<KfdGpu> {
    let nodes = fs::read_dir(sys.join("class/kfd/kfd/topology/nodes"));
    let mut numbered: Vec<(u32, KfdGpu)> = nodes
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|node| {
            let number = node.file_name().to_string_lossy().parse().ok()?;
            let properties = fs::read_to_string(node.path().join("properties")).ok()?;
            Some((number, gpu(&properties)?))
        })
        .collect();
    numbered.sort_by_key(|(number, _)| *number);
    numbered.into_iter().map(|(_, gpu)| gpu).collect()
}

/// Parses a node's properties. Processors are nodes too, with a version of 0.
fn gpu(properties: &str) -> Option<KfdGpu> {
    let value = |name: &str| {
        properties
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
            .and_then(|value| value.trim().parse::<u32>().ok())
    };
    Some(KfdGpu {
        arch: arch(value("gfx_target_version").filter(|&version| version != 0)?),
        render_minor: value("drm_render_minor")?,
    })
}

/// The name of an architecture. The driver writes major, minor and stepping with two decimal digits each; the name has minor
/// and stepping as one hexadecimal digit each.
fn arch(version: u32) -> String {
    let (major, minor, stepping) = (version / 10_000, version / 100 % 100, version % 100);
    format!("gfx{major}{minor:x}{stepping:x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_converted_to_compiler_names() {
        for (version, name) in [
            (90_402, "gfx942"),
            (90_500, "gfx950"),
            (90_010, "gfx90a"),
            (90_006, "gfx906"),
            (110_000, "gfx1100"),
            (120_001, "gfx1201"),
        ] {
            assert_eq!(arch(version), name);
        }
    }

    #[test]
    fn gpus_are_listed_in_order_without_processors() {
        let sys = tempfile::tempdir().expect("a temporary folder");
        let nodes = [
            (
                "0",
                "cpu_cores_count 96\nsimd_count 0\ngfx_target_version 0\ndrm_render_minor 0\n",
            ),
            (
                "10",
                "simd_count 1216\ngfx_target_version 90402\ndrm_render_minor 136\n",
            ),
            (
                "9",
                "simd_count 1216\ngfx_target_version 90402\ndrm_render_minor 128\n",
            ),
        ];
        for (node, properties) in nodes {
            let folder = sys.path().join("class/kfd/kfd/topology/nodes").join(node);
            fs::create_dir_all(&folder).expect("can be made");
            fs::write(folder.join("properties"), properties).expect("can be written");
        }
        let found: Vec<(String, u32)> = gpus(sys.path())
            .into_iter()
            .map(|gpu| (gpu.arch, gpu.render_minor))
            .collect();
        assert_eq!(
            found,
            [("gfx942".to_owned(), 128), ("gfx942".to_owned(), 136)]
        );
    }

    #[test]
    fn no_gpus_without_the_driver() {
        let sys = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(gpus(sys.path()), []);
    }
}
