//! Errors that end an emulation, each with the line of the listing that caused it.

use std::fmt;

/// Why a listing cannot be read or executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Line of the listing, from 1; 0 if the error belongs to no line.
    pub line: u32,
    /// What is wrong.
    pub message: String,
    /// Whether a launch did not end within its budget of instructions.
    pub is_over_budget: bool,
}

impl Error {
    pub(crate) fn new(line: u32, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
            is_over_budget: false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            f.write_str(&self.message)
        } else {
            write!(f, "line {}: {}", self.line, self.message)
        }
    }
}

impl std::error::Error for Error {}

pub(crate) type Result<T> = std::result::Result<T, Error>;
