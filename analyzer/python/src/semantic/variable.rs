//! A use of an environment variable.

use std::borrow::Cow;

use crate::syntax::Node;

/// The kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Set for this process, or with a default.
    Set,
    /// Set for a child process.
    SetForChild,
    /// Read.
    Read,
}

/// One use of an environment variable.
#[derive(Clone, Debug)]
pub struct EnvironmentVariable<'a> {
    /// The variable.
    pub name: Cow<'a, str>,
    /// The expression that names it.
    pub key: Node,
    /// The value.
    pub value: Option<Node>,
    /// The kind of access.
    pub access: Access,
}
