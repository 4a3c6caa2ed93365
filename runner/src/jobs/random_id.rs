//! Random ids. A job's id cannot be guessed, which is what protects its page.

/// 128 random bits as 26 characters of lower-case base 32.
pub(crate) fn random_id() -> Result<String, getrandom::Error> {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    let bits = u128::from_be_bytes(bytes);
    let digit = |nth: u32| char::from(ALPHABET[(bits >> (5 * nth)) as usize & 31]);
    Ok((0..26).map(digit).collect())
}
