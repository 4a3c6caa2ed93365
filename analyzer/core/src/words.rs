//! Lists of words in one string, which makes the browser's modules smaller than a slice of strings.

/// True if `word` is one of the words of `words`, which single spaces separate.
pub fn listed(words: &str, word: &str) -> bool {
    words.split(' ').any(|listed| listed == word)
}
