//! Constants and variables of a listing: the contents of `.rodata`, `.data` and `.bss`.

use std::collections::HashMap;

use super::text::integer;

/// Most bytes of data.
const MOST: usize = 64 << 20;

/// The data of a listing, and the position of each symbol in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Data {
    pub(crate) bytes: Vec<u8>,
    pub(crate) symbols: HashMap<String, u32>,
    /// Addresses of symbols in the data: position, symbol, addend and line.
    pub(crate) addresses: Vec<(u32, String, i64, u32)>,
    /// The first line that is not supported, and its directive.
    pub(crate) unsupported: Option<(u32, String)>,
    active: bool,
    /// Whether the current section is neither data nor code.
    is_other: bool,
}

impl Data {
    /// Enters or leaves the data, if a directive changes the section.
    pub(super) fn section(&mut self, word: &str) {
        let mut words = word.split([' ', '\t', ',']).filter(|word| !word.is_empty());
        let name = match words.next() {
            Some(".section") => words.next().unwrap_or_default(),
            Some(name @ (".text" | ".data" | ".bss")) => name,
            _ => return,
        };
        let name = name.trim_matches('"');
        self.active = [".rodata", ".data", ".bss"]
            .iter()
            .any(|section| name.starts_with(section));
        self.is_other = !self.active && !name.starts_with(".text") && !word.contains("\"ax");
    }

    /// Whether the current section contains data.
    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    /// Whether the current section contains code.
    pub(super) fn is_code(&self) -> bool {
        !self.active && !self.is_other
    }

    pub(super) fn label(&mut self, name: &str) {
        self.symbols
            .insert(name.to_owned(), self.bytes.len() as u32);
    }

    /// Reads a directive of a data section.
    pub(super) fn line(&mut self, word: &str, number: u32) {
        let (directive, rest) = word.split_once(char::is_whitespace).unwrap_or((word, ""));
        let is_read = match directive {
            ".byte" => self.values(rest, 1, number),
            ".short" | ".2byte" => self.values(rest, 2, number),
            ".long" | ".4byte" => self.values(rest, 4, number),
            ".quad" | ".8byte" => self.values(rest, 8, number),
            ".zero" | ".skip" | ".space" => self.zeros(rest),
            ".p2align" => self.align(rest),
            ".ascii" | ".asciz" | ".string" => self.text(rest, directive != ".ascii"),
            ".type" | ".size" | ".globl" | ".protected" | ".hidden" | ".weak" | ".local"
            | ".set" | ".section" | ".text" | ".data" | ".bss" | ".loc" | ".file" | ".ident"
            | ".addrsig" | ".addrsig_sym" => true,
            _ => directive.starts_with(".amdgpu") || directive.starts_with(".cfi"),
        };
        if !is_read || self.bytes.len() > MOST {
            self.bytes.truncate(MOST);
            self.unsupported
                .get_or_insert_with(|| (number, directive.to_owned()));
        }
    }

    fn values(&mut self, list: &str, size: usize, line: u32) -> bool {
        list.split(',').all(|value| {
            let value = value.trim();
            let at = self.bytes.len() as u32;
            let number = match integer(value) {
                Some(number) => number,
                None if size == 8 => {
                    let (symbol, addend) = addend(value);
                    let Some(addend) = addend else { return false };
                    self.addresses.push((at, symbol.to_owned(), addend, line));
                    0
                }
                None => return false,
            };
            self.bytes.extend(&number.to_le_bytes()[..size]);
            true
        })
    }

    fn zeros(&mut self, count: &str) -> bool {
        let count = integer(count.trim()).and_then(|count| usize::try_from(count).ok());
        match count {
            Some(count) if count <= MOST - self.bytes.len().min(MOST) => {
                self.bytes.resize(self.bytes.len() + count, 0);
                true
            }
            _ => false,
        }
    }

    fn align(&mut self, rest: &str) -> bool {
        let power = rest
            .split(',')
            .next()
            .and_then(|power| integer(power.trim()));
        match power {
            Some(power @ 0..=12) => {
                let length = self.bytes.len().next_multiple_of(1 << power);
                self.bytes.resize(length, 0);
                true
            }
            _ => false,
        }
    }

    fn text(&mut self, quoted: &str, terminated: bool) -> bool {
        let quoted = quoted.trim();
        let Some(inner) = quoted
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
        else {
            return false;
        };
        let mut bytes = inner.bytes().peekable();
        while let Some(byte) = bytes.next() {
            if byte != b'\\' {
                self.bytes.push(byte);
                continue;
            }
            let mut octal = 0u32;
            let mut digits = 0;
            while let Some(digit @ b'0'..=b'7') = bytes.peek().copied().filter(|_| digits < 3) {
                octal = 8 * octal + u32::from(digit - b'0');
                digits += 1;
                bytes.next();
            }
            let escaped = match (digits, bytes.peek().copied()) {
                (1.., _) => octal as u8,
                (_, Some(b'n')) => b'\n',
                (_, Some(b't')) => b'\t',
                (_, Some(b'r')) => b'\r',
                (_, Some(b'b')) => 8,
                (_, Some(b'f')) => 12,
                (_, Some(other @ (b'\\' | b'"'))) => other,
                _ => return false,
            };
            if digits == 0 {
                bytes.next();
            }
            self.bytes.push(escaped);
        }
        if terminated {
            self.bytes.push(0);
        }
        true
    }
}

/// A symbol and the number that is added to it: `WEIGHTS+4`.
pub(crate) fn addend(text: &str) -> (&str, Option<i64>) {
    match text.rfind(['+', '-']) {
        Some(at) if at > 0 => (&text[..at], integer(text[at..].trim_start_matches('+'))),
        _ => (text, Some(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_become_bytes() {
        let mut data = Data::default();
        data.section(".section\t.rodata,\"a\",@progbits");
        assert!(data.is_active());
        data.label("a");
        for line in [
            ".byte\t1, 0xff",
            ".p2align\t2, 0x0",
            ".long 0x04030201",
            ".short -2",
            ".asciz \"x\\n\\\"\\0012\"",
            ".zero 2",
        ] {
            data.line(line, 1);
        }
        data.label("b");
        data.line(".quad a+4", 2);
        assert_eq!(data.unsupported, None);
        let start = [1, 0xff, 0, 0, 1, 2, 3, 4, 0xfe, 0xff];
        assert_eq!(data.bytes[..10], start);
        assert_eq!(data.bytes[10..], *b"x\n\"\x012\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(data.symbols["b"], 18);
        assert_eq!(data.addresses, [(18, "a".to_owned(), 4, 2)]);
        data.line(".uleb128 7", 3);
        data.line(".zero 999999999999", 4);
        assert_eq!(data.unsupported, Some((3, ".uleb128".to_owned())));
        data.section(".section\t.debug_info,\"\",@progbits");
        assert!(!data.is_active() && !data.is_code());
        for code in [".text", ".section\t.text._Z1f,\"axG\",@progbits,f"] {
            data.section(code);
            assert!(!data.is_active() && data.is_code());
        }
    }
}
