//! The rungs of the ladder. Which there are, what they are called and in which order, the harness
//! says (`hipward_kernels/harness/variants.py`); only the baseline and its control are known here.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The name of a rung on the wire, in URLs and in Python: `fused-ops`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Variant(Cow<'static, str>);

impl Variant {
    /// `Model` as it was written: the baseline that every other rung is compared with.
    pub const EAGER: Variant = Variant::named("eager");
    /// `Model` again, timed as if it were another rung: the noise floor (A/A control).
    pub const CONTROL: Variant = Variant::named("eager-control");

    /// The rung of this name.
    pub const fn named(name: &'static str) -> Variant {
        Variant(Cow::Borrowed(name))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl From<String> for Variant {
    fn from(name: String) -> Self {
        Variant(Cow::Owned(name))
    }
}

/// A rung, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rung {
    /// Its name.
    pub id: Variant,
    /// What a table calls it: `torch.compile`.
    pub label: String,
    /// What it is, in a sentence without a full stop.
    pub about: String,
}

/// What a table calls a rung: its label, or its name where nothing was said about it.
pub fn label<'a>(rungs: &'a [Rung], variant: &'a Variant) -> &'a str {
    rungs
        .iter()
        .find(|rung| rung.id == *variant)
        .map_or(variant.name(), |rung| &rung.label)
}
