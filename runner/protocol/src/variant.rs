//! The variants of the ladder. The harness defines which there are, their labels and their order
//! (`hipward_kernels/harness/variants.py`). Only the baseline and its control are defined here.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The name of a variant in the API, in URLs and in Python: `fused-ops`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
#[cfg_attr(feature = "openapi", schema(value_type = String, example = "fused-ops"))]
pub struct VariantId(Cow<'static, str>);

impl VariantId {
    /// `Model` unchanged: the baseline of all comparisons.
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

/// A variant with its label and description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Variant {
    /// Its name.
    pub id: VariantId,
    /// Its label in tables: `torch.compile`.
    pub label: String,
    /// Its description, a sentence without a full stop.
    pub about: String,
}

/// The label of a variant, or its name if it is unknown.
pub fn label<'a>(variants: &'a [Variant], variant: &'a VariantId) -> &'a str {
    variants
        .iter()
        .find(|known| known.id == *variant)
        .map_or(variant.name(), |known| &known.label)
}
