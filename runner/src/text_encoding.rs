//! The encoding of a source file: bytes → text, and a changed text → bytes in the same encoding.
//!
//! UTF-8, UTF-16 (with or without a byte order mark), and encodings with one byte per character that contain ASCII. The
//! latter are read as Latin-1, which represents every byte, so that a fix changes no other byte of the file.

/// The text of a file, and the encoding to write it back in.
pub(crate) struct Decoded {
    pub(crate) text: String,
    pub(crate) encoding: Encoding,
    /// A message for the user, if the encoding limits what can be done or how characters are shown.
    pub(crate) note: Option<String>,
}

/// How a text is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// UTF-8; a byte order mark is part of the text.
    Utf8,
    /// UTF-16; a byte order mark is part of the text.
    Utf16 { big_endian: bool },
    /// One byte per character, read as Latin-1.
    SingleByte,
    /// The text has replacement characters and cannot be written back.
    Lossy,
}

/// Reads a file. `is_python` enables Python's encoding declaration (`# coding: latin-1`, PEP 263).
pub(crate) fn decode(bytes: Vec<u8>, is_python: bool) -> Decoded {
    if let Some(big_endian) = utf16_order(&bytes) {
        return decode_utf16(&bytes, big_endian);
    }
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => {
            return Decoded {
                text,
                encoding: Encoding::Utf8,
                note: None,
            };
        }
        Err(error) => error.into_bytes(),
    };
    let lossy = |note: String| Decoded {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        encoding: Encoding::Lossy,
        note: Some(note),
    };
    let declared = is_python.then(|| declaration(&bytes)).flatten();
    if let Some(name) = &declared
        && !is_single_byte(name)
    {
        return lossy(format!(
            "text in {name}; checked with replacement characters, and not changed by fixes"
        ));
    }
    if bytes.contains(&0) {
        return lossy("not text: it contains NUL bytes".to_owned());
    }
    let note = match declared {
        Some(name) if is_latin_1(&name) => None,
        Some(name) => Some(format!("text in {name}; shown as Latin-1")),
        None => {
            let line = 1 + invalid_line(&bytes);
            Some(format!("not UTF-8 text (line {line}); read as Latin-1"))
        }
    };
    Decoded {
        text: bytes.iter().map(|byte| char::from(*byte)).collect(),
        encoding: Encoding::SingleByte,
        note,
    }
}

impl Encoding {
    /// The bytes of `text`, which was made from `original`. None if the encoding cannot represent it.
    pub(crate) fn encode(self, text: &str, original: &str) -> Option<Vec<u8>> {
        match self {
            Encoding::Utf8 => Some(text.as_bytes().to_vec()),
            Encoding::Utf16 { big_endian } => Some(
                text.encode_utf16()
                    .flat_map(|unit| {
                        if big_endian {
                            unit.to_be_bytes()
                        } else {
                            unit.to_le_bytes()
                        }
                    })
                    .collect(),
            ),
            // The encoding may not be Latin-1: only characters of the original have a known byte.
            Encoding::SingleByte => text
                .chars()
                .map(|char| {
                    u8::try_from(char)
                        .ok()
                        .filter(|_| char.is_ascii() || original.contains(char))
                })
                .collect(),
            Encoding::Lossy => None,
        }
    }

    /// The bytes of a patch of `original`: its lines in an encoding with one byte per character, and else UTF-8. The two
    /// lines with the path are UTF-8.
    pub(crate) fn encode_patch(self, patch: &str, original: &str) -> Vec<u8> {
        let hunks = patch.match_indices('\n').nth(1).map_or(0, |(at, _)| at + 1);
        let lines = (self == Encoding::SingleByte)
            .then(|| self.encode(&patch[hunks..], original))
            .flatten();
        match lines {
            Some(lines) => [&patch.as_bytes()[..hunks], &lines].concat(),
            None => patch.as_bytes().to_vec(),
        }
    }
}

/// Whether UTF-16 text is big-endian. None if it is not UTF-16: without a byte order mark it begins with two characters
/// of ASCII.
fn utf16_order(bytes: &[u8]) -> Option<bool> {
    match bytes {
        [0xff, 0xfe, ..] => Some(false),
        [0xfe, 0xff, ..] => Some(true),
        [1..0x80, 0, 1..0x80, 0, ..] => Some(false),
        [0, 1..0x80, 0, 1..0x80, ..] => Some(true),
        _ => None,
    }
}

fn decode_utf16(bytes: &[u8], big_endian: bool) -> Decoded {
    let pairs = bytes.chunks_exact(2);
    let is_even = pairs.remainder().is_empty();
    let units: Vec<u16> = pairs
        .map(|pair| {
            if big_endian {
                u16::from_be_bytes([pair[0], pair[1]])
            } else {
                u16::from_le_bytes([pair[0], pair[1]])
            }
        })
        .collect();
    match String::from_utf16(&units) {
        Ok(text) if is_even => Decoded {
            text,
            encoding: Encoding::Utf16 { big_endian },
            note: None,
        },
        _ => Decoded {
            text: String::from_utf16_lossy(&units),
            encoding: Encoding::Lossy,
            note: Some(
                "invalid UTF-16 text; checked with replacement characters, and not changed by fixes"
                    .to_owned(),
            ),
        },
    }
}

/// The number of lines before the first byte that is not UTF-8.
fn invalid_line(bytes: &[u8]) -> usize {
    let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    bytes[..valid].iter().filter(|byte| **byte == b'\n').count()
}

/// The encoding in Python's declaration, in lower case with hyphens: a comment in the first line, or in the second after
/// a comment or an empty line.
fn declaration(bytes: &[u8]) -> Option<String> {
    for line in bytes.split(|byte| *byte == b'\n').take(2) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        if line[0] != b'#' {
            return None;
        }
        let text = String::from_utf8_lossy(line);
        let after = text
            .match_indices("coding")
            .map(|(at, word)| &text[at + word.len()..])
            .find_map(|rest| rest.strip_prefix([':', '=']));
        if let Some(rest) = after {
            let rest = rest.trim_start();
            let end = rest
                .find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c))
                .unwrap_or(rest.len());
            if end > 0 {
                return Some(rest[..end].to_ascii_lowercase().replace('_', "-"));
            }
        }
    }
    None
}

fn is_latin_1(name: &str) -> bool {
    matches!(
        name,
        "latin-1" | "latin1" | "latin" | "l1" | "iso-8859-1" | "iso8859-1" | "iso-latin-1"
    )
}

/// Encodings with one byte per character, in which the bytes below 128 are ASCII.
fn is_single_byte(name: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "latin",
        "iso-8859",
        "iso8859",
        "iso-latin",
        "cp125",
        "windows-125",
        "koi8",
        "mac-",
        "ascii",
        "us-ascii",
    ];
    name == "l1" || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The note, and whether the file is the same after a round trip.
    fn round_trip(bytes: &[u8]) -> (Option<String>, bool) {
        let decoded = decode(bytes.to_vec(), true);
        let back = decoded.encoding.encode(&decoded.text, &decoded.text);
        (decoded.note, back.as_deref() == Some(bytes))
    }

    fn utf16(text: &str, big_endian: bool) -> Vec<u8> {
        Encoding::Utf16 { big_endian }
            .encode(text, "")
            .expect("text")
    }

    #[test]
    fn encodings_are_detected_and_written_back() {
        for bytes in [
            "x = 1\n".as_bytes().to_vec(),
            "\u{feff}名 = 1\r\n".as_bytes().to_vec(),
            b"# -*- coding: latin-1 -*-\nx = '\xe9\xff\x80'\n".to_vec(),
            b"#!/usr/bin/env python\r\n# vim: set fileencoding=ISO_8859-1 :\r\nx = '\xe9'\r\n"
                .to_vec(),
            utf16("\u{feff}x = '🚀é'\r\n", false),
            utf16("\u{feff}x = '🚀é'\n", true),
            utf16("x = 'é'\n", false),
            utf16("x = 'é'\n", true),
            Vec::new(),
        ] {
            assert_eq!(round_trip(&bytes), (None, true), "{bytes:?}");
        }
    }

    #[test]
    fn encodings_that_are_guessed_or_unsupported_have_a_note() {
        for (bytes, note, is_same) in [
            (
                &b"x = 1\n# \xe9\n"[..],
                "not UTF-8 text (line 2); read as Latin-1",
                true,
            ),
            (
                b"# coding: koi8-r\n# \xe9\n",
                "text in koi8-r; shown as Latin-1",
                true,
            ),
            // In code, not in a comment of the first two lines.
            (
                b"coding = 'gbk'\n# \xe9\n",
                "not UTF-8 text (line 2); read as Latin-1",
                true,
            ),
            (
                b"# coding: gbk\n# \xe9\n",
                "text in gbk; checked with replacement characters, and not changed by fixes",
                false,
            ),
            (b"\xe9\0\x01", "not text: it contains NUL bytes", false),
            (
                b"\xff\xfex",
                "invalid UTF-16 text; checked with replacement characters, and not changed by fixes",
                false,
            ),
        ] {
            assert_eq!(round_trip(bytes), (Some(note.to_owned()), is_same));
        }
    }

    #[test]
    fn character_without_a_known_byte_is_not_written() {
        let encode = |text| Encoding::SingleByte.encode(text, "# é");
        assert_eq!(encode("é x"), Some(b"\xe9 x".to_vec()));
        assert_eq!(encode("ü"), None);
        assert_eq!(encode("…"), None);
    }
}
