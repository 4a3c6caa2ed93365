//! A use of an environment variable.

use std::borrow::Cow;

use crate::syntax::Node;

/// What is done with the variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Set for this process, or given a default.
    Set,
    /// Set for a child process.
    SetForChild,
    /// Looked at.
    Read,
}

/// One use of an environment variable.
#[derive(Clone, Debug)]
pub struct EnvironmentVariable<'a> {
    /// The variable.
    pub name: Cow<'a, str>,
    /// The expression that names it.
    pub key: Node,
    /// What it is set to.
    pub value: Option<Node>,
    /// What is done.
    pub access: Access,
}
