//! The variants of the ladder. Which there are, what they are called and in which order, the harness
//! says (`hipward_kernels/harness/variants.py`); only the baseline and its control are known here.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The name of a variant on the wire, in URLs and in Python: `fused-ops`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
#[cfg_attr(feature = "openapi", schema(value_type = String, example = "fused-ops"))]
pub struct VariantId(Cow<'static, str>);

impl VariantId {
    /// `Model` as it was written: the baseline that every other variant is compared with.
    pub const EAGER: VariantId = VariantId::named("eager");
    /// `Model` again, timed as if it were another variant: the noise floor (A/A control).
    pub const CONTROL: VariantId = VariantId::named("eager-control");

    /// The variant of this name.
    pub const fn named(name: &'static str) -> VariantId {
        VariantId(Cow::Borrowed(name))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl From<String> for VariantId {
    fn from(name: String) -> Self {
        VariantId(Cow::Owned(name))
    }
}

/// A variant, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Variant {
    /// Its name.
    pub id: VariantId,
    /// What a table calls it: `torch.compile`.
    pub label: String,
    /// What it is, in a sentence without a full stop.
    pub about: String,
}

/// What a table calls a variant: its label, or its name where nothing was said about it.
pub fn label<'a>(variants: &'a [Variant], variant: &'a VariantId) -> &'a str {
    variants
        .iter()
        .find(|known| known.id == *variant)
        .map_or(variant.name(), |known| &known.label)
}
