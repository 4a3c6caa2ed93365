//! The value of a C++ expression on a device with a given compute capability.

use crate::{Kind, Source, Tokens};

/// A compute capability: its major and its minor number.
pub(super) type Capability = (i64, i64);

/// The value on some device.
#[derive(Clone, Copy)]
pub(super) struct Value {
    /// 1 for true; `None` if it depends on something else.
    pub known: Option<i64>,
    /// Whether the capability is a part of the expression.
    pub from_capability: bool,
}

/// How many parentheses within each other are followed. A variable counts as several: each of its uses is evaluated.
const MAX_DEPTH: u8 = 8;
const OF_A_VARIABLE: u8 = 3;

/// How many uses of a variable before this one are looked at, and how long its value may be: the time stays linear.
const MAX_USES: usize = 64;
const MAX_LENGTH: u32 = 60;

/// Evaluates an expression with `&&`, `||`, `!`, comparisons, sums and products.
pub(super) fn evaluate(source: &Source<'_>, expression: Tokens, device: Capability) -> Value {
    Reader {
        source,
        at: expression.start,
        end: expression.end,
        device,
        depth: MAX_DEPTH,
    }
    .binary(0)
}

impl Value {
    const UNKNOWN: Value = Value {
        known: None,
        from_capability: false,
    };

    fn new(known: i64, from_capability: bool) -> Value {
        Value {
            known: Some(known),
            from_capability,
        }
    }

    /// False wins in `&&`, and true in `||`, whatever the other side is.
    fn and(self, other: Value, is_or: bool) -> Value {
        let [a, b] =
            [self.known, other.known].map(|side| side.map(|number| (number != 0) != is_or));
        let known = match (a, b) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        };
        Value {
            known: known.map(|is| i64::from(is != is_or)),
            from_capability: self.from_capability || other.from_capability,
        }
    }
}

/// The operators, from those that bind weakest; of two with the same start the longer one comes first.
const LEVELS: [&[&[&str]]; 5] = [
    &[&["|", "|"]],
    &[&["&", "&"]],
    &[
        &["=", "="],
        &["!", "="],
        &["<", "="],
        &[">", "="],
        &["<"],
        &[">"],
    ],
    &[&["+"]],
    &[&["*"]],
];

struct Reader<'s, 'a> {
    source: &'s Source<'a>,
    at: u32,
    end: u32,
    device: Capability,
    depth: u8,
}

impl<'a> Reader<'_, 'a> {
    fn text(&self) -> &'a str {
        if self.at < self.end {
            self.source.token_text(self.at)
        } else {
            ""
        }
    }

    fn binary(&mut self, level: usize) -> Value {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1);
        while let Some(operator) = operators
            .iter()
            .find(|operator| self.source.reads(self.at, operator) && self.at < self.end)
        {
            self.at += operator.len() as u32;
            let right = self.binary(level + 1);
            left = match operator {
                ["|", _] => left.and(right, true),
                ["&", _] => left.and(right, false),
                _ => {
                    let known = left
                        .known
                        .zip(right.known)
                        .and_then(|(a, b)| match operator {
                            ["=", _] => Some(i64::from(a == b)),
                            ["!", _] => Some(i64::from(a != b)),
                            ["<", _] => Some(i64::from(a <= b)),
                            [">", _] => Some(i64::from(a >= b)),
                            ["<"] => Some(i64::from(a < b)),
                            [">"] => Some(i64::from(a > b)),
                            ["+"] => a.checked_add(b),
                            _ => a.checked_mul(b),
                        });
                    Value {
                        known,
                        from_capability: left.from_capability || right.from_capability,
                    }
                }
            };
        }
        left
    }

    fn unary(&mut self) -> Value {
        let Some(depth) = self.depth.checked_sub(1) else {
            self.at = self.end;
            return Value::UNKNOWN;
        };
        let whole = std::mem::replace(&mut self.depth, depth);
        let value = match self.text() {
            "!" => {
                self.at += 1;
                let value = self.unary();
                Value {
                    known: value.known.map(|number| i64::from(number == 0)),
                    ..value
                }
            }
            "(" => {
                let end = self.end;
                self.end = self
                    .source
                    .partner(self.at)
                    .map_or(end, |close| close.min(end));
                self.at += 1;
                let value = self.binary(0);
                self.at = self.end + 1;
                self.end = end;
                value
            }
            _ => self.operand(),
        };
        self.depth = whole;
        value
    }

    /// `8`, `properties->major`, `is_sm80`, `getSMVersion()`
    fn operand(&mut self) -> Value {
        let start = self.at;
        let mut name = "";
        let mut is_member = false;
        let mut is_call = false;
        while self.at < self.end {
            match self.text() {
                "(" | "[" => {
                    is_call = true;
                    self.at = self.source.partner(self.at).unwrap_or(self.end);
                }
                "." | "->" => is_member = true,
                "::" => {}
                text if self.source.kind(self.at) == Kind::Word => name = text,
                text if self.at == start => {
                    let number = text.trim_end_matches(['u', 'U', 'l', 'L']).parse();
                    self.at += 1;
                    return number.map_or(Value::UNKNOWN, |number| Value::new(number, false));
                }
                _ => break,
            }
            self.at += 1;
        }
        let (major, minor) = self.device;
        if is_call {
            let lower = name.to_ascii_lowercase().replace('_', "");
            return match lower.ends_with("smversion") {
                true => Value::new(10 * major + minor, true),
                false => Value::UNKNOWN,
            };
        }
        match name {
            "major" if is_member => Value::new(major, true),
            "minor" if is_member => Value::new(minor, true),
            "true" => Value::new(1, false),
            "false" => Value::new(0, false),
            _ if is_member => Value::UNKNOWN,
            _ => self.variable(name),
        }
    }

    /// A variable that is set once, with `=` or by `cudaDeviceGetAttribute`.
    fn variable(&mut self, name: &str) -> Value {
        let source = self.source;
        let (major, minor) = self.device;
        // The declaration before this use; each function may have its own.
        let places = source.places(name);
        let end = places.partition_point(|at| *at < self.at);
        let before = &places[end.saturating_sub(MAX_USES)..end];
        // `cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0)`
        let attribute = before.iter().find_map(|at| {
            (source.before(*at, 1) == "&" && source.token_text(at + 1) == ",")
                .then(|| source.token_text(at + 2))
        });
        match attribute {
            Some(name) if name.ends_with("ComputeCapabilityMajor") => {
                return Value::new(major, true);
            }
            Some(name) if name.ends_with("ComputeCapabilityMinor") => {
                return Value::new(minor, true);
            }
            _ => {}
        }
        let is_set =
            |at: &&u32| source.reads(**at + 1, &["="]) && !source.reads(**at + 1, &["=", "="]);
        let Some(last) = before.iter().rfind(is_set) else {
            return Value::UNKNOWN;
        };
        let is_declared = matches!(source.before(*last, 1), "bool" | "int" | "auto" | "const");
        let start = last + 2;
        let end = (start..source.token_count().min(start + MAX_LENGTH))
            .find(|at| source.token_text(*at) == ";");
        match end.filter(|_| is_declared) {
            Some(end) => Reader {
                source,
                at: start,
                end,
                device: self.device,
                depth: self.depth.saturating_sub(OF_A_VARIABLE),
            }
            .binary(0),
            None => Value::UNKNOWN,
        }
    }
}
