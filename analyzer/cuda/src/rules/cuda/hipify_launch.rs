//! HW924: launches that PyTorch's hipify converts to code that does not compile.

use crate::token_stream::Tokens;
use crate::{CudaChecker, Kind, Launch, Setting, Source};
use hipward_analyzer_core::diagnostic::RawFix;

declare_rule! {
    /// ## What it does
    ///
    /// Finds kernel launches in the sources of a PyTorch extension that hipify converts wrongly: directly behind another
    /// character, such as `CHECK(kernel<<<…>>>(…))` and `{kernel<<<…>>>(…);}`, behind a word and one space, as in
    /// `else kernel<<<…>>>(…);`, of a kernel in an array or behind a pointer, with a comma in braces or template arguments in the
    /// grid or block, with `>` in parentheses in the kernel's template arguments, and in parentheses of their own.
    ///
    /// ## Why on ROCm
    ///
    /// Hipify replaces a launch by the macro `hipLaunchKernelGGL`. It does not parse C++: it searches backwards from `<<<` for the
    /// kernel's name, to which it counts `(`, `)`, `:` and `#`, and takes one more character. From `else kernel<<<…` it makes
    /// `elsehipLaunchKernelGGL(( kernel), …`, from `CHECK(kernel<<<…` it makes `hipLaunchKernelGGL(( CHECK(kernel), …`. If it finds no
    /// name it raises TypeError. The macro is a statement, `do { … } while (0)`, which is no expression.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <torch/extension.h>
    ///
    /// __global__ void scale(float* x);
    ///
    /// void run(float* x, int count, dim3 grid) {
    ///     if (count == 0) return;
    ///     else scale<<<grid, 256>>>(x);
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <torch/extension.h>
    ///
    /// __global__ void scale(float* x);
    ///
    /// void run(float* x, int count, dim3 grid) {
    ///     if (count == 0) return;
    ///     else  scale<<<grid, 256>>>(x);
    /// }
    /// ```
    ///
    /// A line of its own or braces with spaces around the launch are as good. If a macro needs an expression, or the kernel is
    /// selected at run time, launch in a function.
    ///
    /// ## Fix safety
    ///
    /// Safe: a space before the kernel's name.
    ///
    /// ## References
    ///
    /// * [hipify_python.py of PyTorch](https://github.com/pytorch/pytorch/blob/main/torch/utils/hipify/hipify_python.py)
    "HW924" "hipify-launch" {
        title: "PyTorch's hipify converts this launch wrongly",
        family: CudaCpp,
        severity: Error,
        applicability: Safe,
        targets: "every ROCm target, in extensions of PyTorch",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

fn check(cx: &CudaChecker<'_>) {
    if cx.setting != Setting::PyTorchExtension {
        return;
    }
    let source = cx.source;
    for launch in source.launches() {
        if !cx.is_for_both(launch.name) {
            continue;
        }
        let operator = source.span(launch.configuration.clone()).start;
        let name = source.span(launch.name..launch.name + 1).start;
        let Some(before) = source.text.get(..operator) else {
            continue;
        };
        let (message, fix) = if is_expression(source, &launch) {
            (
                "hipify replaces this launch by a statement, which cannot be in parentheses.",
                RawFix::display_only("Write the launch as a statement"),
            )
        } else if has_inner_comma(source, &launch) {
            (
                "hipify separates the grid and the block at this launch's first comma, which is in braces or template arguments.",
                RawFix::display_only(
                    "Compute the grid and the block in variables before the launch",
                ),
            )
        } else if !is_kept(before, name) {
            let with_space = spaced(before, name);
            let fix = if with_space.is_some_and(|text| is_kept(&text.0, text.1)) {
                let edits = vec![(name..name, " ".to_owned())];
                RawFix::safe_edits("Insert a space before the kernel's name", edits)
            } else {
                RawFix::display_only("Launch in a function of its own, by the kernel's name alone")
            };
            (
                "hipify does not find this kernel's name: what it writes does not compile.",
                fix,
            )
        } else {
            continue;
        };
        cx.report(&RULE, launch.name..launch.configuration.end, message, fix);
    }
}

/// The longest text that is searched before a launch; keeps the time linear.
const MAX: usize = 2_000;

/// Whether hipify finds the name that begins at `name`, in a text that ends before `<<<`, and puts the macro in its place.
fn is_kept(before: &str, name: usize) -> bool {
    let bytes = before.as_bytes();
    let mut depth = 0_i32;
    let mut is_template = false;
    let mut is_after_template = false;
    let mut in_name = false;
    for (at, byte) in bytes.iter().enumerate().rev().take(MAX) {
        if !in_name && !is_after_template {
            match byte {
                b'>' => {
                    is_template = true;
                    depth += 1;
                }
                b'<' => {
                    depth -= 1;
                    if depth == 0 && is_template {
                        is_template = false;
                        is_after_template = true;
                    }
                }
                _ => {}
            }
        }
        if is_template {
            continue;
        }
        let counts = byte.is_ascii_alphanumeric()
            || !byte.is_ascii()
            || matches!(byte, b'(' | b')' | b'_' | b':' | b'#');
        if counts {
            in_name = true;
        } else if in_name {
            // This character is taken too: a space is lost.
            let left = at.checked_sub(1).map_or(b' ', |left| bytes[left]);
            return at + 1 == name
                && byte.is_ascii_whitespace()
                && !(left.is_ascii_alphanumeric() || matches!(left, b'_' | b'\\'))
                && !(*byte == b'\n' && swallows(before.get(..at).unwrap_or_default()));
        }
    }
    false
}

/// True if the last line is a directive or ends with a comment: what follows on it does not count.
fn swallows(text: &str) -> bool {
    let line = text.rsplit('\n').next().unwrap_or_default();
    line.trim_start().starts_with('#') || line.contains("//")
}

/// The name with a space before it, behind one more character, and where the name is then. Not the whole line: a text of one
/// line may have many launches.
fn spaced(before: &str, name: usize) -> Option<(String, usize)> {
    let left = before.get(..name)?.chars().next_back().unwrap_or(' ');
    let text = format!("{left} {}", before.get(name..)?);
    Some((text, left.len_utf8() + 1))
}

/// `(kernel<<<grid, block>>>(x))`
fn is_expression(source: &Source<'_>, launch: &Launch) -> bool {
    let Some(open) = launch.name.checked_sub(1) else {
        return false;
    };
    let is_call = open
        .checked_sub(1)
        .is_some_and(|word| source.kind(word) == Kind::Word);
    source.token_text(open) == "(" && !is_call && source.partner(open) == Some(launch.arguments.end)
}

/// `dim3{x, y}` and `blocks<float, 4>()` in the first two parts: hipify only counts parentheses.
fn has_inner_comma(source: &Source<'_>, launch: &Launch) -> bool {
    let parts: Vec<Tokens> = source.arguments(&launch.configuration);
    parts.into_iter().take(2).any(|part| {
        // Braces without a type are HW920's.
        if source.token_text(part.start) == "{" {
            return false;
        }
        let mut at = part.start;
        while at < part.end {
            match source.token_text(at) {
                "," => return true,
                "(" => at = source.partner(at).unwrap_or(at),
                _ => {}
            }
            at += 1;
        }
        false
    })
}
