//! Landlock: which files a worker may touch. Each kernel enforces as much of the rules as it
//! knows; how much that is shows in the ABI version.

use super::plan::Plan;
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};

/// The newest version whose rights we name.
const NEWEST: ABI = ABI::V6;

/// GPU runtimes share memory between processes here.
const SHARED_MEMORY: &str = "/dev/shm";
/// CUDA does not start unless it may name its threads, which it does by writing to files of its
/// own process. What else is writable in there is guarded by the kernel's own rules on processes.
const PROCESSES: &str = "/proc";

/// Opens every path of the plan and builds the rules; nothing is restricted yet.
pub(super) fn rules(plan: &Plan) -> Result<Option<RulesetCreated>, RulesetError> {
    let Some(files) = &plan.files else {
        return Ok(None);
    };
    let everything = AccessFs::from_all(NEWEST);
    let device = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::WriteFile | AccessFs::IoctlDev;
    let shared_memory = device | AccessFs::MakeReg | AccessFs::RemoveFile | AccessFs::Truncate;
    let process = AccessFs::WriteFile | AccessFs::Truncate;
    let (shm, proc) = if plan.gpu {
        (Some(SHARED_MEMORY), Some(PROCESSES))
    } else {
        (None, None)
    };
    let created = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(everything)?
        .handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?
        .add_rules(path_beneath_rules(&files.read, AccessFs::from_read(NEWEST)))?
        .add_rules(path_beneath_rules(&files.devices, device))?
        .add_rules(path_beneath_rules(shm, shared_memory))?
        .add_rules(path_beneath_rules(proc, process))?
        .add_rules(path_beneath_rules([&plan.directory], everything))?;
    Ok(Some(created))
}
