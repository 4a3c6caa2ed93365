//! The description of a launch: grid, workgroup and arguments, from TOML.

use super::data::{self, Dtype, Random};
use hipward_emulator::{Argument as Parameter, ArgumentKind, Listing, Program};
use serde::{Deserialize, Deserializer, de};
use std::{fs, path::Path};
use toml::Spanned;

/// Bytes of all buffers with contents.
const MOST_BYTES: u64 = 1 << 30;

/// What to do without a dtype.
const NO_DTYPE: &str = "dtype is missing; give it one such as \"float32\" or \"int32\"";

/// Bytes of the address of a buffer.
const ADDRESS: usize = 8;

/// Instructions that a launch executes, if the description has no budget.
const BUDGET: u64 = 1 << 28;

/// A launch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spec {
    /// The function's name, or its symbol.
    pub(super) kernel: Option<String>,
    /// Workgroups in each dimension.
    #[serde(deserialize_with = "size")]
    pub(super) grid: [u32; 3],
    /// Threads of a workgroup in each dimension.
    #[serde(deserialize_with = "size")]
    pub(super) block: [u32; 3],
    /// Bytes of dynamic LDS.
    #[serde(default)]
    pub(super) lds: u32,
    /// Most instructions that the wavefronts execute together.
    #[serde(default = "budget")]
    pub(super) budget: u64,
    /// Tolerances of the comparison; the default is that of the dtype.
    pub(super) rtol: Option<f64>,
    pub(super) atol: Option<f64>,
    #[serde(default)]
    argument: Vec<Spanned<Written>>,
    /// The file, for messages.
    #[serde(skip)]
    file: String,
    /// The line of each argument.
    #[serde(skip)]
    lines: Vec<usize>,
}

/// What to do if the file is no launch.
const KEYS: &str = "A launch has `grid`, `block` and an [[argument]] for each parameter of the kernel; /learn/how-to/emulator/ describes them.";

fn budget() -> u64 {
    BUDGET
}

/// An argument as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    dtype: Option<Dtype>,
    shape: Option<Vec<u64>>,
    data: Option<Data>,
    values: Option<Vec<toml::Value>>,
    file: Option<String>,
    low: Option<i64>,
    high: Option<i64>,
    seed: Option<u64>,
    value: Option<toml::Value>,
    bytes: Option<String>,
}

/// Contents of a buffer.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Data {
    Random,
    Zeros,
    Ones,
    Arange,
    Uninitialized,
}

/// An argument of the launch.
pub(super) struct Argument {
    /// The name in the description.
    pub(super) name: String,
    /// Its type; `None` for the bytes of a structure.
    pub(super) dtype: Option<Dtype>,
    /// Its shape; empty for a value.
    pub(super) shape: Vec<u64>,
    pub(super) contents: Contents,
}

/// What an argument contains before the launch.
pub(super) enum Contents {
    /// The bytes of a value.
    Value(Vec<u8>),
    /// The bytes of a buffer.
    Buffer(Vec<u8>),
    /// A buffer that nothing has written, of this many bytes.
    Uninitialized(u64),
}

impl Contents {
    /// Bytes.
    pub(super) fn length(&self) -> usize {
        match self {
            Self::Value(bytes) | Self::Buffer(bytes) => bytes.len(),
            Self::Uninitialized(length) => usize::try_from(*length).unwrap_or(usize::MAX),
        }
    }
}

impl Argument {
    /// Bytes of an element.
    pub(super) fn itemsize(&self) -> usize {
        self.dtype.map_or(1, Dtype::bytes)
    }
}

impl Spec {
    /// Reads a description.
    pub(super) fn read(path: &Path) -> Result<Spec, String> {
        let shown = path.display();
        let text = fs::read_to_string(path).map_err(|error| {
            format!("cannot read {shown}: {error}; --args takes the launch as a TOML file. {KEYS}")
        })?;
        Self::parse(&text, &shown.to_string())
    }

    fn parse(text: &str, file: &str) -> Result<Spec, String> {
        let mut spec: Spec = toml::from_str(text)
            .map_err(|error| format!("{file}: {}\n{KEYS}", error.to_string().trim_end()))?;
        let line_of = |argument: &Spanned<Written>| {
            let before = text.get(..argument.span().start).unwrap_or_default();
            1 + before.matches('\n').count()
        };
        spec.lines = spec.argument.iter().map(line_of).collect();
        file.clone_into(&mut spec.file);
        Ok(spec)
    }

    /// The place of an argument in the file: `run.toml:10: argument n`.
    fn place(&self, position: usize, name: &str) -> String {
        let line = self.lines.get(position).copied().unwrap_or(1);
        format!("{}:{line}: argument {name}", self.file)
    }

    /// The arguments with their contents. Paths of files are relative to `folder`.
    pub(super) fn values(&self, folder: Option<&Path>) -> Result<Vec<Argument>, String> {
        let mut left = MOST_BYTES;
        let mut found: Vec<Argument> = Vec::new();
        for (position, written) in self.argument.iter().enumerate() {
            let written = written.get_ref();
            let place = self.place(position, &written.name);
            let argument = written
                .argument(position as u64, folder, &mut left)
                .map_err(|error| format!("{place}: {error}"))?;
            if found.iter().any(|other| other.name == argument.name) {
                return Err(format!(
                    "{place}: another argument has this name; rename one"
                ));
            }
            found.push(argument);
        }
        Ok(found)
    }

    /// Compares number and sizes of the arguments with those of the kernel.
    pub(super) fn check(&self, program: &Program, values: &[Argument]) -> Result<(), String> {
        let kernel = program.kernel();
        let is_own =
            |one: &&Parameter| matches!(one.kind, ArgumentKind::Buffer | ArgumentKind::Value);
        let parameters: Vec<&Parameter> = kernel.arguments.iter().filter(is_own).collect();
        let shown = |one: &Parameter| match one.kind {
            ArgumentKind::Buffer => "a buffer".to_owned(),
            _ => format!("{} bytes", one.size),
        };
        let (takes, has) = (parameters.len(), values.len());
        if takes != has {
            let all: Vec<String> = parameters.iter().copied().map(shown).collect();
            let name = &kernel.name;
            return Err(format!(
                "{}: {name} takes {takes} argument{}; the launch has {has}. It takes, in this order: {}. Write an \
                 [[argument]] for each",
                self.file,
                if takes == 1 { "" } else { "s" },
                if all.is_empty() {
                    "nothing".to_owned()
                } else {
                    all.join(", ")
                },
            ));
        }
        for (position, (parameter, value)) in parameters.iter().zip(values).enumerate() {
            let length = match &value.contents {
                Contents::Value(bytes) => bytes.len(),
                _ => ADDRESS,
            };
            if length == parameter.size as usize {
                continue;
            }
            let is = match (&value.contents, value.dtype) {
                (Contents::Value(_), Some(dtype)) => format!("it is a value of {}", dtype.name()),
                (Contents::Value(_), None) => "they are its `bytes`".to_owned(),
                _ => "it is the address of a buffer".to_owned(),
            };
            let advice = match parameter.kind {
                ArgumentKind::Buffer => "Give it a `shape`, which makes it a buffer".to_owned(),
                _ => format!(
                    "Give it a `value` with a dtype of {} bytes, or `bytes`",
                    parameter.size
                ),
            };
            return Err(format!(
                "{}: argument {position} takes {} bytes; the launch has {length}: {is}. {advice}",
                self.place(position, &value.name),
                parameter.size,
            ));
        }
        Ok(())
    }

    /// The symbol of the kernel, by its symbol or its function's name in C++.
    pub(super) fn symbol(&self, listing: &Listing) -> Result<String, String> {
        symbol(listing, self.kernel.as_deref())
            .map_err(|error| format!("{}: {error}. Write one of these as `kernel`", self.file))
    }
}

/// Requires buffers that a reference can be given.
pub(super) fn check_comparable(values: &[Argument]) -> Result<(), String> {
    let bytes = values
        .iter()
        .map(|value| value.contents.length() as u64)
        .fold(0, u64::saturating_add);
    if bytes > MOST_BYTES {
        return Err(format!(
            "the buffers take {bytes} bytes, and at most {} MiB can be compared; make them smaller, or leave out --check",
            MOST_BYTES >> 20
        ));
    }
    Ok(())
}

impl Written {
    fn argument(
        &self,
        position: u64,
        folder: Option<&Path>,
        left: &mut u64,
    ) -> Result<Argument, String> {
        let argument = |dtype, shape: Vec<u64>, contents| Argument {
            name: self.name.clone(),
            dtype,
            shape,
            contents,
        };
        let is_buffer = self.shape.is_some() || self.values.is_some();
        match (&self.value, &self.bytes, is_buffer) {
            (Some(value), None, false) => {
                let dtype = self.dtype.ok_or(NO_DTYPE)?;
                let bytes = dtype.encode(value)?;
                Ok(argument(Some(dtype), Vec::new(), Contents::Value(bytes)))
            }
            (None, Some(digits), false) => {
                let bytes = hexadecimal(digits)?;
                Ok(argument(None, Vec::new(), Contents::Value(bytes)))
            }
            (None, None, true) => {
                let dtype = self.dtype.ok_or(NO_DTYPE)?;
                let (shape, contents) = self.buffer(dtype, position, folder, left)?;
                Ok(argument(Some(dtype), shape, contents))
            }
            _ => Err("one of shape, values, value and bytes is needed: shape or values for a buffer, value for a \
                      number, bytes for a structure"
                .to_owned()),
        }
    }

    fn buffer(
        &self,
        dtype: Dtype,
        position: u64,
        folder: Option<&Path>,
        left: &mut u64,
    ) -> Result<(Vec<u64>, Contents), String> {
        let written = self.values.as_deref();
        let shape = match (&self.shape, written) {
            (Some(shape), _) => shape.clone(),
            (None, values) => vec![values.map_or(0, <[_]>::len) as u64],
        };
        let elements = shape
            .iter()
            .try_fold(1u64, |all, size| all.checked_mul(*size));
        let length = elements.and_then(|count| count.checked_mul(dtype.bytes() as u64));
        let is_read = !matches!(self.data, Some(Data::Uninitialized));
        let length = length
            .filter(|length| !is_read || *length <= *left)
            .ok_or_else(|| {
                let most = MOST_BYTES >> 20;
                format!("the buffers take more than {most} MiB; make the shapes smaller")
            })?;
        if is_read {
            *left -= length;
        }
        let elements = (length / dtype.bytes() as u64) as usize;
        let contents = match (self.data, written, &self.file) {
            (Some(Data::Uninitialized), None, None) => Contents::Uninitialized(length),
            (None, Some(values), None) => {
                if values.len() != elements {
                    return Err(format!(
                        "shape has {elements} elements, values has {}",
                        values.len()
                    ));
                }
                let bytes: Result<Vec<Vec<u8>>, String> =
                    values.iter().map(|value| dtype.encode(value)).collect();
                Contents::Buffer(bytes?.concat())
            }
            (None, None, Some(file)) => {
                let path = folder.unwrap_or(Path::new("")).join(file);
                let bytes =
                    fs::read(&path).map_err(|error| {
                        let shown = path.display();
                        format!("cannot read {shown}: {error}; the path is relative to the folder of the launch")
                    })?;
                if bytes.len() as u64 != length {
                    let (path, found) = (path.display(), bytes.len());
                    return Err(format!(
                        "{path} has {found} bytes; shape and dtype need {length}"
                    ));
                }
                Contents::Buffer(bytes)
            }
            (data, None, None) => {
                let random = Random::new(self.seed.unwrap_or(position));
                let bytes = match data.unwrap_or(Data::Random) {
                    Data::Zeros => vec![0; length as usize],
                    Data::Ones => data::repeated(dtype, elements, |_| 1.0)?,
                    Data::Arange => data::repeated(dtype, elements, |at| at as f64)?,
                    _ => data::random(dtype, elements, self.low, self.high, random)?,
                };
                Contents::Buffer(bytes)
            }
            _ => return Err("only one of data, values and file can be the contents".to_owned()),
        };
        Ok((shape, contents))
    }
}

/// A number or a list of up to three: `256`, `[16, 16]`.
fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u32; 3], D::Error> {
    let wrong = || de::Error::custom("expected a number or a list of up to three, from 1 to 2³²-1");
    let value = toml::Value::deserialize(deserializer)?;
    let numbers = match &value {
        toml::Value::Array(list) => list.clone(),
        number => vec![number.clone()],
    };
    let mut sizes = [1; 3];
    if numbers.is_empty() || numbers.len() > 3 {
        return Err(wrong());
    }
    for (size, number) in sizes.iter_mut().zip(&numbers) {
        let number = number.as_integer().ok_or_else(wrong)?;
        *size = u32::try_from(number)
            .ok()
            .filter(|size| *size > 0)
            .ok_or_else(wrong)?;
    }
    Ok(sizes)
}

fn hexadecimal(digits: &str) -> Result<Vec<u8>, String> {
    let wrong = || format!("bytes must be hexadecimal digits, two for each byte; it is {digits}");
    let digits = digits.replace([' ', '_'], "");
    if !digits.is_ascii() || !digits.len().is_multiple_of(2) {
        return Err(wrong());
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| wrong()))
        .collect()
}

fn symbol(listing: &Listing, name: Option<&str>) -> Result<String, String> {
    let symbols = || {
        let names: Vec<&str> = listing
            .kernels
            .iter()
            .map(|kernel| kernel.name.as_str())
            .collect();
        names.join(", ")
    };
    let Some(name) = name else {
        return match listing.kernels.as_slice() {
            [kernel] => Ok(kernel.name.clone()),
            _ => Err(format!("the code has several kernels: {}", symbols())),
        };
    };
    // `_Z4rankPKf`: the name's length comes before the name.
    let mangled = format!("{}{name}", name.len());
    let is_named = |symbol: &str| {
        let digit_before = |at: usize| {
            symbol.as_bytes()[..at]
                .last()
                .is_some_and(u8::is_ascii_digit)
        };
        symbol == name
            || symbol.starts_with("_Z") && symbol.find(&mangled).is_some_and(|at| !digit_before(at))
    };
    let found: Vec<&str> = listing
        .kernels
        .iter()
        .map(|kernel| kernel.name.as_str())
        .filter(|symbol| is_named(symbol))
        .collect();
    match found.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => Err(format!(
            "there is no kernel {name}; the code has: {}",
            symbols()
        )),
        several => Err(format!(
            "several kernels have the name {name}: {}",
            several.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Result<Vec<Argument>, String> {
        Spec::parse(text, "run.toml")?.values(None)
    }

    #[test]
    fn sizes_are_a_number_or_a_list() {
        let spec = |grid: &str| toml::from_str::<Spec>(&format!("grid = {grid}\nblock = 64"));
        assert_eq!(spec("7").expect("a number").grid, [7, 1, 1]);
        assert_eq!(spec("[7, 8]").expect("a list").grid, [7, 8, 1]);
        for wrong in [
            "4294967296",
            "0",
            "-1",
            "[]",
            "[1, 2, 3, 4]",
            "\"7\"",
            "1.5",
        ] {
            let error = spec(wrong).expect_err(wrong).to_string();
            assert!(error.contains("line 1"), "{error}");
        }
    }

    #[test]
    fn wrong_arguments_are_reported_with_their_name() {
        let cases = [
            ("", "one of shape, values, value and bytes is needed"),
            ("shape = [3]", "dtype is missing"),
            ("dtype = \"int8\"\nvalue = 300", "300 is not an int8"),
            ("dtype = \"int8\"\nvalue = 1.5", "1.5 is not an int8"),
            (
                "dtype = \"float32\"\nvalue = \"x\"",
                "\"x\" is not a float32",
            ),
            ("dtype = \"int32\"\nshape = [3]", "low and high are needed"),
            (
                "dtype = \"int32\"\nshape = [3]\nvalues = [1, 2]",
                "shape has 3 elements, values has 2",
            ),
            (
                "dtype = \"int32\"\nshape = [3]\nfile = \"x.bin\"\ndata = \"ones\"",
                "only one of",
            ),
            (
                "dtype = \"int32\"\nshape = [3]\nfile = \"missing.bin\"",
                "missing.bin",
            ),
            (
                "dtype = \"int32\"\nshape = [1000000000000]\ndata = \"ones\"",
                "more than 1024 MiB",
            ),
            ("bytes = \"0\"", "hexadecimal"),
        ];
        for (text, expected) in cases {
            let text = format!("grid = 1\nblock = 1\n[[argument]]\nname = \"a\"\n{text}\n");
            let Err(error) = values(&text) else {
                panic!("{text} is accepted");
            };
            assert!(
                error.starts_with("run.toml:3: argument a: ") && error.contains(expected),
                "{error}"
            );
        }
    }

    #[test]
    fn contents_have_the_bytes_of_their_dtype() {
        let text = "grid = 1\nblock = 1\n\
            [[argument]]\nname = \"a\"\ndtype = \"float16\"\nvalues = [1, -2.5, 65504]\n\
            [[argument]]\nname = \"b\"\ndtype = \"bfloat16\"\nshape = [2]\ndata = \"ones\"\n\
            [[argument]]\nname = \"c\"\ndtype = \"int16\"\nshape = [1, 3]\ndata = \"arange\"\n\
            [[argument]]\nname = \"d\"\ndtype = \"uint64\"\nvalue = 258\n\
            [[argument]]\nname = \"e\"\nbytes = \"00ff 10\"\n\
            [[argument]]\nname = \"f\"\ndtype = \"float32\"\nshape = [5]\ndata = \"uninitialized\"\n";
        let found = values(text).expect("valid");
        let bytes = |at: usize| match &found[at].contents {
            Contents::Value(bytes) | Contents::Buffer(bytes) => bytes.clone(),
            Contents::Uninitialized(length) => vec![0xee; *length as usize],
        };
        assert_eq!(bytes(0), [0x00, 0x3c, 0x00, 0xc1, 0xff, 0x7b]);
        assert_eq!(bytes(1), [0x80, 0x3f, 0x80, 0x3f]);
        assert_eq!(bytes(2), [0, 0, 1, 0, 2, 0]);
        assert_eq!(bytes(3), [2, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes(4), [0, 0xff, 0x10]);
        assert_eq!(bytes(5), [0xee; 20]);
    }
}
