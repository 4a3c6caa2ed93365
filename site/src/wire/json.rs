//! A parsed JSON value, and how to read a Rust value out of it.

/// A parsed JSON value: the browser's or, in tests, serde's.
pub(crate) trait Json: Sized {
    /// A member of an object; `None` where it is absent or null.
    fn member(&self, key: &str) -> Option<Self>;
    /// The elements of an array.
    fn elements(&self) -> Option<Vec<Self>>;
    /// A string.
    fn string(&self) -> Option<String>;
    /// A number.
    fn number(&self) -> Option<f64>;
    /// A truth value.
    fn truth(&self) -> Option<bool>;
}

/// The server reads recorded answers, and tests what serde writes.
#[cfg(any(test, feature = "ssr"))]
impl Json for serde_json::Value {
    fn member(&self, key: &str) -> Option<Self> {
        self.get(key).filter(|value| !value.is_null()).cloned()
    }

    fn elements(&self) -> Option<Vec<Self>> {
        self.as_array().cloned()
    }

    fn string(&self) -> Option<String> {
        self.as_str().map(str::to_owned)
    }

    fn number(&self) -> Option<f64> {
        self.as_f64()
    }

    fn truth(&self) -> Option<bool> {
        self.as_bool()
    }
}

/// A type that can be read out of JSON. `None` means: not of this shape.
pub(crate) trait Decode: Sized {
    fn decode(json: &impl Json) -> Option<Self>;

    /// What an absent or null member stands for.
    fn absent() -> Option<Self> {
        None
    }
}

/// Reads one member.
pub(crate) fn field<T: Decode>(json: &impl Json, key: &str) -> Option<T> {
    match json.member(key) {
        Some(value) => T::decode(&value),
        None => T::absent(),
    }
}

/// A struct, by its field names.
macro_rules! decode_struct {
    ($type:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::wire::Decode for $type {
            fn decode(json: &impl $crate::wire::Json) -> Option<Self> {
                Some($type { $($field: $crate::wire::field(json, stringify!($field))?),+ })
            }
        }
    };
}

/// An enum without data, by its names on the wire. The match keeps the list complete.
macro_rules! decode_enum {
    ($type:ident { $($name:literal => $variant:ident),+ $(,)? }) => {
        impl $crate::wire::Decode for $type {
            fn decode(json: &impl $crate::wire::Json) -> Option<Self> {
                const fn _complete(value: &$type) {
                    match value { $($type::$variant => ()),+ }
                }
                match json.string()?.as_str() {
                    $($name => Some($type::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use {decode_enum, decode_struct};

impl Decode for String {
    fn decode(json: &impl Json) -> Option<Self> {
        json.string()
    }
}

impl Decode for bool {
    fn decode(json: &impl Json) -> Option<Self> {
        json.truth()
    }
}

impl Decode for f64 {
    fn decode(json: &impl Json) -> Option<Self> {
        json.number()
    }

    /// JSON has no NaN: it is written as null.
    fn absent() -> Option<Self> {
        Some(f64::NAN)
    }
}

macro_rules! decode_whole {
    ($($type:ty),+) => {
        $(impl Decode for $type {
            fn decode(json: &impl Json) -> Option<Self> {
                json.number().map(|number| number as $type)
            }
        })+
    };
}
decode_whole!(u16, u32, u64, usize);

impl<T: Decode> Decode for Option<T> {
    fn decode(json: &impl Json) -> Option<Self> {
        T::decode(json).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn decode(json: &impl Json) -> Option<Self> {
        json.elements()?.iter().map(T::decode).collect()
    }

    fn absent() -> Option<Self> {
        Some(Vec::new())
    }
}

impl<A: Decode, B: Decode> Decode for (A, B) {
    fn decode(json: &impl Json) -> Option<Self> {
        let pair = json.elements()?;
        Some((A::decode(pair.first()?)?, B::decode(pair.get(1)?)?))
    }
}
