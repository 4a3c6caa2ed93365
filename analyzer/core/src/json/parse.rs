//! Parses the subset of JSON that requests need.
//!
//! Written by hand, because the parsing half of `serde_json`, with its number formats and error texts, is a twentieth
//! of the browser module.

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Text(String),
    /// A non-negative number without a fraction.
    Number(u64),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
    Bool(bool),
    /// A value that no field accepts: null, -1, 0.5.
    Other,
}

/// The nesting depth of a request: an object with lists and one object in it.
const MAX_DEPTH: u8 = 8;

/// The value of `text`; on failure, the byte offset of the syntax error.
pub fn parse(text: &str) -> Result<Json, usize> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(MAX_DEPTH).ok_or(reader.at)?;
    reader.space();
    if reader.at == text.len() {
        Ok(value)
    } else {
        Err(reader.at)
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips `token` if it is next.
    fn take(&mut self, token: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn value(&mut self, depth: u8) -> Option<Json> {
        let depth = depth.checked_sub(1)?;
        self.space();
        match self.peek()? {
            b'"' => self.string().map(Json::Text),
            b'[' => {
                let mut items = Vec::new();
                self.items("[", "]", |reader| {
                    items.push(reader.value(depth)?);
                    Some(())
                })?;
                Some(Json::List(items))
            }
            b'{' => {
                let mut fields = Vec::new();
                self.items("{", "}", |reader| {
                    reader.space();
                    let name = reader.string()?;
                    reader.take(":").then_some(())?;
                    fields.push((name, reader.value(depth)?));
                    Some(())
                })?;
                Some(Json::Object(fields))
            }
            b'-' | b'0'..=b'9' => self.number(),
            _ => [
                ("null", Json::Other),
                ("true", Json::Bool(true)),
                ("false", Json::Bool(false)),
            ]
            .into_iter()
            .find(|(word, _)| self.take(word))
            .map(|(_, value)| value),
        }
    }

    fn items(
        &mut self,
        open: &str,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.take(open).then_some(())?;
        if self.take(close) {
            return Some(());
        }
        loop {
            item(self)?;
            if !self.take(",") {
                return self.take(close).then_some(());
            }
        }
    }

    fn number(&mut self) -> Option<Json> {
        let start = self.at;
        while matches!(
            self.peek(),
            Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
        ) {
            self.at += 1;
        }
        let text = self.text.get(start..self.at)?;
        // A malformed number is not a valid index either, and requests contain no other numbers.
        Some(text.parse().map_or(Json::Other, Json::Number))
    }

    fn string(&mut self) -> Option<String> {
        self.take("\"").then_some(())?;
        let mut string = String::new();
        loop {
            let rest = self.rest();
            let length = rest
                .bytes()
                .position(|byte| byte == b'"' || byte == b'\\' || byte < b' ')?;
            string.push_str(rest.get(..length)?);
            self.at += length;
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(string);
                }
                b'\\' => string.push(self.escape()?),
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let code = *self.text.as_bytes().get(self.at + 1)?;
        self.at += 2;
        Some(match code {
            b'"' | b'\\' | b'/' => char::from(code),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex()?;
                // Half of a surrogate pair: JavaScript's strings can contain one alone, Rust's cannot.
                let is_pair = (0xD800..0xDC00).contains(&first) && self.rest().starts_with("\\u");
                if !is_pair {
                    return Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                let before = self.at;
                self.at += 2;
                let second = self.hex()?;
                if !(0xDC00..0xE000).contains(&second) {
                    self.at = before;
                    return Some(char::REPLACEMENT_CHARACTER);
                }
                char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))?
            }
            _ => return None,
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        self.at += 4;
        is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_encoded_like_serde_json() {
        for text in [
            "",
            "plain",
            "\"quoted\" \\ / \n\r\t\u{8}\u{c}\0\u{1f}",
            "é 名 🚀 \u{7f} \u{2028}",
        ] {
            let written = serde_json::to_string(text).expect("a string");
            assert_eq!(
                parse(&written),
                Ok(Json::Text(text.to_owned())),
                "{written}"
            );
        }
        assert_eq!(
            parse(r#""\ud83d\ude80\u00e9\/""#),
            Ok(Json::Text("🚀é/".to_owned()))
        );
        assert_eq!(
            parse(r#""\ud83dx""#),
            Ok(Json::Text("\u{fffd}x".to_owned()))
        );
        assert_eq!(
            parse(r#""\ud83d\u0041""#),
            Ok(Json::Text("\u{fffd}A".to_owned()))
        );
    }

    #[test]
    fn nested_values_are_parsed() {
        let value = parse(" { \"a\" : [ 1 , \"b\" , null ] , \"c\" : { } , \"d\" : -0.5e3 } ");
        let Ok(Json::Object(fields)) = value else {
            panic!("{value:?}");
        };
        assert_eq!(
            fields[0].1,
            Json::List(vec![
                Json::Number(1),
                Json::Text("b".to_owned()),
                Json::Other
            ])
        );
        assert_eq!(
            (&fields[1].1, &fields[2].1),
            (&Json::Object(Vec::new()), &Json::Other)
        );
    }

    #[test]
    fn invalid_json_reports_its_position() {
        for (text, at) in [
            ("", 0),
            ("{", 1),
            ("[1,]", 3),
            ("{\"a\" 1}", 5),
            ("\"a", 1),
            ("1 2", 2),
            ("nul", 0),
            ("\"\\x\"", 3),
            ("\"\\u12\"", 3),
        ] {
            assert_eq!(parse(text), Err(at), "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
