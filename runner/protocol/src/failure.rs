//! Why a job failed, and what a person can do about it: the same on the harness's pipe, in the log, in the job and in
//! its view.

use serde::{Deserialize, Serialize};

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Failure {
    /// Stable code.
    pub code: FailureCode,
    /// What happened, in a sentence.
    pub message: String,
    /// What to do about it, in a sentence.
    pub help: String,
    /// The end of the Python traceback, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceback: Option<String>,
}

/// The kinds of failure. Stable: clients may match on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FailureCode {
    /// The code is not Python.
    SyntaxError,
    /// `Model`, `get_inputs` or `get_init_inputs` is missing or has the wrong form.
    ContractMissing,
    /// The snippet raised while being imported.
    ImportError,
    /// `__init__` raised.
    InitError,
    /// `forward` raised in eager mode.
    ForwardError,
    /// Eager itself gives NaN or infinity, so nothing can be compared with it.
    NotFinite,
    /// Over the wall-clock limit.
    Timeout,
    /// Over the memory limit.
    MemoryLimit,
    /// Over the process limit.
    ProcessLimit,
    /// The snippet replaced what it is measured with.
    Tampered,
    /// Over the output limit.
    OutputLimit,
    /// The process died by itself (signal, `os._exit`).
    Crashed,
    /// The runner stopped while the job ran, once too often.
    Interrupted,
    /// The isolation that the operator demands was not reached.
    Isolation,
    /// Something in Hipward or its Python environment.
    Internal,
}
