//! Checks for compilers: one for this processor, one for AMD GPUs.

use std::{env, path::PathBuf, process::Command};

use hipward_protocol::Missing;

use super::Finding;

/// Major versions of clang that the measuring package looks up, newest first (`compile/from_hip.py`).
const VERSIONS: std::ops::Range<u32> = 17..31;
/// The CDNA GPUs that Hipward supports.
const ARCHS: [&str; 3] = ["gfx90a", "gfx942", "gfx950"];

/// The C++ compiler, which torch.compile needs on a processor, and Triton for its launchers on a GPU.
pub(super) fn host() -> Finding {
    match ["g++", "clang++"]
        .into_iter()
        .find(|name| on_path(name).is_some())
    {
        Some(name) => Finding::Has(format!("a C++ compiler: {name}")),
        None => Finding::Lacks(Missing {
            what: "a C++ compiler".to_owned(),
            consequence: "torch.compile cannot build its code, so that variant is not available."
                .to_owned(),
            fix: "sudo apt-get install g++".to_owned(),
        }),
    }
}

/// The clang that compiles HIP sources to AMD machine code.
pub(super) fn amd() -> Finding {
    let rocm = env::var_os("ROCM_PATH").map_or_else(|| PathBuf::from("/opt/rocm"), PathBuf::from);
    let numbered = VERSIONS.rev().map(|version| format!("clang++-{version}"));
    let named = numbered.chain(["clang++".to_owned()]);
    let candidates = [rocm.join("llvm/bin/clang++")]
        .into_iter()
        .chain(named.filter_map(|name| on_path(&name)));
    let mut best: Option<(PathBuf, Vec<&str>)> = None;
    for path in candidates {
        let knows = archs(&path);
        if knows.len() > best.as_ref().map_or(0, |(_, archs)| archs.len()) {
            best = Some((path, knows));
        }
    }
    let missing = |what: String, consequence: String| {
        Finding::Lacks(Missing {
            what,
            consequence,
            fix: "sudo apt-get install clang-22 (from apt.llvm.org where Debian has none), or ROCm's own clang"
                .to_owned(),
        })
    };
    match best {
        Some((path, knows)) if knows.len() == ARCHS.len() => {
            Finding::Has(format!("a compiler for AMD GPUs: {}", path.display()))
        }
        Some((path, knows)) => missing(
            "a compiler for every AMD GPU".to_owned(),
            format!("{} knows only {}.", path.display(), knows.join(", ")),
        ),
        None => missing(
            "a compiler for AMD GPUs".to_owned(),
            "HIP sources cannot be compiled and inspected; Triton's can.".to_owned(),
        ),
    }
}

/// The GPUs that a clang supports.
fn archs(clang: &PathBuf) -> Vec<&'static str> {
    let asked = Command::new(clang)
        .args(["--print-supported-cpus", "--target=amdgcn-amd-amdhsa"])
        .output();
    let Ok(answer) = asked else {
        return Vec::new();
    };
    // The stream of the list differs between versions.
    let text = [answer.stdout, answer.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let has = |arch: &&str| text.split_whitespace().any(|word| word == *arch);
    ARCHS.into_iter().filter(has).collect()
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}
