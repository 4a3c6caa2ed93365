//! Landlock: which files a worker may access. Each kernel enforces as much of the rules as it
//! supports according to its ABI version.

use super::sandbox_spec::SandboxSpec;
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use std::io;

/// The supported ABI versions, from 1.
const KNOWN: &[ABI] = &[ABI::V1, ABI::V2, ABI::V3, ABI::V4, ABI::V5, ABI::V6];

/// GPU runtimes share memory between processes here.
const SHARED_MEMORY: &str = "/dev/shm";
/// The calling process.
const OWN_PROCESS: &str = "/proc/self";

/// Restricts the calling process.
pub(super) fn restrict(spec: &SandboxSpec, rules: RulesetCreated) -> io::Result<()> {
    let abi = abi(spec.landlock_abi.unwrap_or(1));
    let mut own = AccessFs::from_read(abi);
    if spec.gpu {
        // CUDA does not start unless it may name its threads, which it does by writing to files in this folder. The kernel's own rules on
        // processes protect the other writable files.
        own |= (AccessFs::WriteFile | AccessFs::Truncate) & AccessFs::from_all(abi);
    }
    let status = rules
        .add_rules(path_beneath_rules([OWN_PROCESS], own))
        .and_then(RulesetCreated::restrict_self)
        .map_err(io::Error::other)?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err(io::Error::other("Landlock enforced no rule")),
        _ => Ok(()),
    }
}

fn abi(version: u32) -> ABI {
    KNOWN[(version as usize).clamp(1, KNOWN.len()) - 1]
}

/// Opens every path of the spec and builds the rules, without restricting anything yet. The rule for the process's own folder is added by [`restrict`],
/// because that folder exists only after the fork.
pub(super) fn rules(spec: &SandboxSpec) -> Result<Option<RulesetCreated>, RulesetError> {
    let (Some(files), Some(version)) = (&spec.files, spec.landlock_abi) else {
        return Ok(None);
    };
    let abi = abi(version);
    let everything = AccessFs::from_all(abi);
    let reading = AccessFs::from_read(abi);
    let device = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::WriteFile | AccessFs::IoctlDev;
    let shared_memory = device | AccessFs::MakeReg | AccessFs::RemoveFile | AccessFs::Truncate;
    let shm = spec.gpu.then_some(SHARED_MEMORY);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(everything)?;
    // Versions without these rights reject an empty set.
    let network = AccessNet::from_all(abi);
    if !network.is_empty() {
        ruleset = ruleset.handle_access(network)?;
    }
    let scopes = Scope::from_all(abi);
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes)?;
    }
    let created = ruleset
        .create()?
        .add_rules(path_beneath_rules(&files.read, reading))?
        .add_rules(path_beneath_rules(&files.devices, device & everything))?
        .add_rules(path_beneath_rules(shm, shared_memory & everything))?
        .add_rules(path_beneath_rules([&spec.directory], everything))?;
    Ok(Some(created))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isolation::{FileRules, Limits};
    use nix::sys::prctl::set_no_new_privs;
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
    use std::{env::consts::ARCH, path::PathBuf};

    #[test]
    fn rules_that_the_kernel_does_not_enforce_are_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let spec = SandboxSpec {
            program: PathBuf::from("/bin/true"),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: folder.path().to_owned(),
            limits: Limits {
                memory_bytes: 1 << 30,
                disk_bytes: 1 << 30,
                processes: 8,
                threads: 64,
            },
            cgroup: None,
            identity: None,
            files: Some(FileRules::default()),
            landlock_abi: Some(1),
            bubblewrap: None,
            seccomp: true,
            gpu: false,
        };
        // A filter applies to the thread that installs it. There, Landlock does not exist.
        let restricted = std::thread::spawn(move || {
            let calls = [
                libc::SYS_landlock_create_ruleset,
                libc::SYS_landlock_add_rule,
                libc::SYS_landlock_restrict_self,
            ];
            let filter = SeccompFilter::new(
                calls.map(|call| (call, Vec::new())).into(),
                SeccompAction::Allow,
                SeccompAction::Errno(libc::ENOSYS.unsigned_abs()),
                ARCH.try_into().expect("is supported"),
            );
            set_no_new_privs().expect("is allowed");
            let program: BpfProgram = filter.and_then(TryInto::try_into).expect("is built");
            apply_filter(&program).expect("is installed");
            let rules = rules(&spec).expect("are built").expect("are asked for");
            restrict(&spec, rules)
        });
        let error = restricted
            .join()
            .expect("ends")
            .expect_err("nothing is enforced");
        assert_eq!(error.to_string(), "Landlock enforced no rule");
    }
}
