//! Why a job failed and what to do about it. The same type on the harness's pipe, in the event log, in the job's summary and in
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
    /// Eager returns NaN or infinity, so nothing can be compared with it.
    NotFinite,
    /// Over the wall-clock limit.
    Timeout,
    /// Over the memory limit.
    MemoryLimit,
    /// Over the process limit.
    ProcessLimit,
    /// The snippet manipulated its measurement.
    Tampered,
    /// Over the output limit.
    OutputLimit,
    /// The process ended unexpectedly (signal, `os._exit`).
    Crashed,
    /// An operator rejected the code.
    Rejected,
    /// The runner was interrupted too often while the job ran.
    Interrupted,
    /// The isolation level that the operator requires is not available.
    Isolation,
    /// An error in Hipward or its Python environment.
    Internal,
}
