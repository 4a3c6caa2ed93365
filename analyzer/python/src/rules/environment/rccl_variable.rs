//! HW204: NCCL variables under a name that RCCL does not read.

use crate::checker::{PythonChecker, RawFix};
use crate::semantic::{Access, environment_variable};
use crate::syntax::{Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds variables such as `RCCL_DEBUG` or `RCCL_SOCKET_IFNAME`, where RCCL reads `NCCL_DEBUG` and
    /// `NCCL_SOCKET_IFNAME`.
    ///
    /// ## Why on ROCm
    ///
    /// RCCL is AMD's implementation of NCCL and uses the same interface, including the environment variables. It has a
    /// few variables of its own that start with `RCCL_`, but these are not aliases: a port that renames `NCCL_*` to
    /// `RCCL_*` silently loses its settings.
    ///
    /// ## Example
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["RCCL_DEBUG"] = "INFO"
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["NCCL_DEBUG"] = "INFO"
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe: the old name had no effect, and the new one means the same on both vendors.
    ///
    /// ## References
    ///
    /// * [RCCL environment variables](https://rocm.docs.amd.com/projects/rccl/en/latest/api-reference/env-variables.html)
    "HW204" "rccl-variable" {
        title: "RCCL reads variables under the names of NCCL",
        family: Environment,
        severity: Warning,
        applicability: Safe,
        targets: "every ROCm target",
        lesson: Some("port/environment"),
        visit: [Subscript, Call, Pair, KeywordArgument],
        files: [Dockerfile, Shell, Yaml],
    }
}
/// Variables that RCCL reads only under the NCCL name.
pub const ALIASES: &[&str] = &[
    "RCCL_DEBUG",
    "RCCL_DEBUG_SUBSYS",
    "RCCL_DEBUG_FILE",
    "RCCL_SOCKET_IFNAME",
    "RCCL_IB_DISABLE",
    "RCCL_IB_HCA",
    "RCCL_IB_GID_INDEX",
    "RCCL_IB_TIMEOUT",
    "RCCL_P2P_DISABLE",
    "RCCL_P2P_LEVEL",
    "RCCL_SHM_DISABLE",
    "RCCL_NET_GDR_LEVEL",
    "RCCL_ALGO",
    "RCCL_PROTO",
    "RCCL_BUFFSIZE",
    "RCCL_NTHREADS",
    "RCCL_MIN_NCHANNELS",
    "RCCL_MAX_NCHANNELS",
    "RCCL_CROSS_NIC",
    "RCCL_TOPO_FILE",
    "RCCL_BLOCKING_WAIT",
    "RCCL_ASYNC_ERROR_HANDLING",
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    let Some(variable) = environment_variable(&cx.semantics, node, ALIASES) else {
        return;
    };
    if variable.access == Access::Read {
        return;
    }
    let tree = cx.tree();
    let name = &*variable.name;
    let (message, renamed) = message_of(name);
    let title = format!("Set {renamed}");
    let fix = if tree.kind(variable.key) == Kind::String {
        let text = tree.text(variable.key).replace(name, &renamed);
        RawFix::safe_edits(title, vec![(tree.span(variable.key), text)])
    } else {
        RawFix::display_only(title)
    };
    cx.report(&RULE, variable.key, message, fix);
}

/// The message for a name, and the correct name.
pub fn message_of(name: &str) -> (String, String) {
    let renamed = name.replacen("RCCL_", "NCCL_", 1);
    let message = format!("RCCL does not read {name}; it uses NCCL's names, here {renamed}.");
    (message, renamed)
}
