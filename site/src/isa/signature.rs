//! The arguments that the form suggests for a Triton kernel, from its source. The compiler decides; see
//! kernels/hipward_kernels/compile/signature.py for its guesses.

/// A parameter of a kernel.
#[derive(Debug, PartialEq)]
struct Parameter<'a> {
    name: &'a str,
    annotation: &'a str,
    has_default: bool,
}

/// The arguments for `source` as the form writes them: those of `text` that the kernel still has, then suggestions for its
/// other pointers and constants. `kernel` is a kernel's name; empty for the first. Returns `text` if no kernel was found.
pub(super) fn follow(text: &str, source: &str, kernel: &str) -> String {
    let Some(parameters) = parameters(source, kernel) else {
        return text.to_owned();
    };
    let name_of = |pair: &str| pair.split('=').next().unwrap_or_default().trim().to_owned();
    let mut pairs: Vec<String> = text
        .split([',', '\n'])
        .map(str::trim)
        .filter(|pair| {
            let name = name_of(pair);
            parameters.iter().any(|parameter| parameter.name == name)
        })
        .map(str::to_owned)
        .collect();
    for parameter in &parameters {
        if pairs.iter().all(|pair| name_of(pair) != parameter.name)
            && let Some(value) = suggestion(parameter, source)
        {
            pairs.push(format!("{}={value}", parameter.name));
        }
    }
    pairs.join(", ")
}

/// A value for a parameter that the compiler would not accept or not guess well; `None` if the source states it.
fn suggestion(parameter: &Parameter<'_>, source: &str) -> Option<&'static str> {
    let name = parameter.name;
    if parameter.annotation.contains("constexpr") {
        return (!parameter.has_default && !is_tuned(source, name)).then(|| constant(name));
    }
    let is_plain = parameter.annotation.is_empty() && !parameter.has_default;
    let is_pointer = name.to_ascii_lowercase().contains("ptr") || is_address(source, name);
    (is_plain && is_pointer).then_some("*bf16")
}

/// A usual value of a constant, by its name.
fn constant(name: &str) -> &'static str {
    let name = name.to_ascii_uppercase();
    let starts = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    let contains = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if starts(&["IS_", "HAS_", "USE_", "ALLOW_", "WITH_"]) || contains(&["CAUSAL"]) {
        "False"
    } else if contains(&["GROUP"]) {
        "8"
    } else if contains(&["WARPS", "STAGES"]) {
        "4"
    } else if contains(&["EPS"]) {
        "1e-6"
    } else if contains(&["HEAD", "DIM"]) || ["_M", "_N", "_K"].iter().any(|end| name.ends_with(end))
    {
        "64"
    } else {
        "1024"
    }
}

/// Whether a configuration of `triton.autotune` has a value for a constant.
fn is_tuned(source: &str, name: &str) -> bool {
    source.contains("autotune")
        && ['"', '\''].iter().any(|quote| {
            source
                .split(&format!("{quote}{name}{quote}"))
                .skip(1)
                .any(|rest| rest.trim_start().starts_with(':'))
        })
}

/// Whether a name is the base of the address of a load or store.
fn is_address(source: &str, name: &str) -> bool {
    ["load(", "store("].iter().any(|call| {
        source.split(call).skip(1).any(|rest| {
            let rest = rest.trim_start().strip_prefix(name);
            rest.is_some_and(|rest| !rest.starts_with(is_word))
        })
    })
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

/// The parameters of a kernel under `triton.jit`.
fn parameters<'a>(source: &'a str, kernel: &str) -> Option<Vec<Parameter<'a>>> {
    let mut found: Option<&'a str> = None;
    for (at, _) in source
        .match_indices(".jit")
        .chain(source.match_indices("@jit"))
    {
        let line = source[..at].rfind('\n').map_or(0, |end| end + 1);
        if !source[line..].trim_start().starts_with('@') {
            continue;
        }
        // Other decorators and blank lines may be between the two.
        let Some((_, rest)) = source[at..].split_once("def ") else {
            continue;
        };
        let Some((name, rest)) = rest.split_once('(') else {
            continue;
        };
        if kernel.is_empty() || name.trim() == kernel {
            // A function that another one calls is no kernel of its own.
            let is_called = calls(source, name.trim()) > 1;
            if found.is_none() || !is_called {
                found = Some(rest);
            }
            if !is_called {
                break;
            }
        }
    }
    Some(split(found?).into_iter().filter_map(parameter).collect())
}

/// The number of times that a name is followed by a bracket, its definition among them.
fn calls(source: &str, name: &str) -> usize {
    source
        .match_indices(&format!("{name}("))
        .filter(|(at, _)| !source[..*at].ends_with(is_word))
        .count()
}

/// The texts between the commas of a list up to its closing bracket.
fn split(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    let mut is_comment = false;
    for (at, character) in list.char_indices() {
        match character {
            '\n' => is_comment = false,
            _ if is_comment => {}
            '#' => is_comment = true,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth > 0 => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            ')' => {
                parts.push(&list[start..at]);
                return parts;
            }
            _ => {}
        }
    }
    // The reader is still typing the list.
    Vec::new()
}

/// `name: annotation = default`, with comments in lines of their own before it.
fn parameter(text: &str) -> Option<Parameter<'_>> {
    let mut lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    let text = lines.find(|line| !line.is_empty())?;
    let (declared, has_default) = match text.split_once('=') {
        Some((declared, _)) => (declared, true),
        None => (text, false),
    };
    let (name, annotation) = declared.split_once(':').unwrap_or((declared, ""));
    let name = name.trim();
    let is_name = !name.is_empty() && name.chars().all(is_word);
    is_name.then_some(Parameter {
        name,
        annotation: annotation.trim(),
        has_default,
    })
}

#[cfg(test)]
mod tests {
    use super::follow;

    const KERNEL: &str = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef double(\n    x_ptr,  # input, read\n    out,\n    n,\n    eps=1e-6,\n    # columns, a power of two\n    BLOCK: tl.constexpr,\n    WARPS: tl.constexpr = 4,\n):\n    at = tl.arange(0, BLOCK)\n    tl.store(out + at, tl.load(x_ptr + at))\n";

    #[test]
    fn pointers_and_constants_without_a_default_are_suggested() {
        let expected = "x_ptr=*bf16, out=*bf16, BLOCK=1024";
        assert_eq!(follow("", KERNEL, ""), expected);
    }

    #[test]
    fn argument_that_the_kernel_still_has_is_preserved() {
        let text = "N=4096, BLOCK=256, n=i32";
        let expected = "BLOCK=256, n=i32, x_ptr=*bf16, out=*bf16";
        assert_eq!(follow(text, KERNEL, ""), expected);
    }

    #[test]
    fn text_without_a_kernel_changes_nothing() {
        assert_eq!(follow("N=1", "def f(x):\n    pass\n", ""), "N=1");
        assert_eq!(follow("N=1", "", ""), "N=1");
    }

    #[test]
    fn list_that_is_still_typed_is_no_error() {
        assert_eq!(
            follow("", "@triton.jit\ndef f(x_ptr, BLOCK: tl.con", ""),
            ""
        );
    }

    #[test]
    fn tuned_and_annotated_parameters_need_no_suggestion() {
        let source = "@triton.autotune(configs=[triton.Config({\"BLOCK\": 128})], key=[])\n@triton.jit\ndef f(x_ptr: \"*fp32\", BLOCK: tl.constexpr, USE_BIAS: tl.constexpr):\n    pass\n";
        assert_eq!(follow("", source, ""), "USE_BIAS=False");
    }

    #[test]
    fn helper_that_the_kernel_calls_is_not_the_kernel() {
        let source = "@triton.jit\ndef half(x):\n    return x / 2\n\n@triton.jit\ndef f(a_ptr, BLOCK_M: tl.constexpr):\n    half(1)\n";
        assert_eq!(follow("", source, ""), "a_ptr=*bf16, BLOCK_M=64");
        assert_eq!(follow("", source, "half"), "");
    }
}
