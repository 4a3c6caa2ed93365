//! Text in share links: deflated, then base64url.

use super::script;

/// Packs a text into a string for an address.
pub(crate) async fn pack(text: &str) -> Result<String, String> {
    let packed = script::pack(text)
        .await
        .map_err(|error| script::message(&error))?;
    Ok(packed.as_string().unwrap_or_default())
}

/// Restores the text of a packed string.
pub(crate) async fn unpack(packed: &str) -> Result<String, String> {
    let text = script::unpack(packed)
        .await
        .map_err(|error| script::message(&error))?;
    Ok(text.as_string().unwrap_or_default())
}
