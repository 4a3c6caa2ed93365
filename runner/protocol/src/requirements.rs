//! What a job requires of the host that runs it.

use crate::Vendor;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// Conditions on the host and the device of a job. A job waits until a host meets all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Requirements {
    /// The class of the device. `cpu` means the processor, also on a host with GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<Vendor>,
    /// The architecture of the device, such as `gfx942`.
    #[cfg_attr(
        feature = "openapi",
        schema(max_length = 64, pattern = "^[a-z0-9._-]+$")
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// The version of ROCm that PyTorch was built with. `7.0` includes 7.0.2.
    #[cfg_attr(feature = "openapi", schema(max_length = 64, pattern = "^[a-z0-9.]+$"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rocm: Option<String>,
    /// The version of PyTorch. `2.9` includes 2.9.1.
    #[cfg_attr(feature = "openapi", schema(max_length = 64, pattern = "^[a-z0-9.]+$"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torch: Option<String>,
    /// The least memory of the device, bytes.
    #[serde(
        default,
        deserialize_with = "whole_number",
        skip_serializing_if = "Option::is_none"
    )]
    pub memory_bytes: Option<u64>,
    /// The least number of GPUs of the host. A job itself sees one of them.
    #[serde(
        default,
        deserialize_with = "whole_number",
        skip_serializing_if = "Option::is_none"
    )]
    pub gpus: Option<u32>,
    /// Labels of the host, which its operator chooses with `--label`; at most 8.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<HostLabel>, max_items = 8))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// A label of a host: lower-case letters, digits, `-` and `.`.
#[cfg(feature = "openapi")]
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, max_length = 32, pattern = "^[a-z0-9.-]+$", example = "mi300x")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct HostLabel(String);

/// The priority of a job in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// After all others.
    Low,
    /// The usual one.
    #[default]
    Normal,
    /// Before all others. Only operators may use it.
    High,
}

/// A whole number, which may be written as `1.0`: JSON does not distinguish them, and neither do its schemas.
fn whole_number<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    /// Beyond it, not every whole number is a floating-point number.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Whole(u64),
        Float(f64),
    }
    let number = match Option::<Number>::deserialize(deserializer)? {
        None => return Ok(None),
        Some(Number::Whole(number)) => Some(number),
        Some(Number::Float(number)) => {
            let is_whole = number.fract() == 0.0 && (0.0..=MAX_EXACT).contains(&number);
            is_whole.then_some(number as u64)
        }
    };
    let number = number.and_then(|number| T::try_from(number).ok());
    let error =
        || D::Error::custom("expected a whole number that is not negative and not too large");
    number.map(Some).ok_or_else(error)
}

impl Requirements {
    /// Whether every host meets them.
    pub fn is_empty(&self) -> bool {
        *self == Requirements::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_may_be_written_with_a_point() {
        let read = |text: &str| serde_json::from_str::<Requirements>(text);
        let found = read(r#"{"gpus": 8.0, "memory_bytes": 18446744073709551615}"#);
        let found = found.expect("is valid");
        assert_eq!((found.gpus, found.memory_bytes), (Some(8), Some(u64::MAX)));
        assert_eq!(read(r#"{"gpus": null}"#).expect("is valid").gpus, None);
        for wrong in ["1.5", "-1", "-1.0", "4294967296", "1e300", "\"8\""] {
            assert!(read(&format!("{{\"gpus\": {wrong}}}")).is_err(), "{wrong}");
        }
    }
}
