//! A source as provided to the rules: tokens, brackets, words, calls and conditionals.

use std::ops::{Deref, Range};

use super::conditions::{self, Change, Vendors};
use super::lexer::{Directive, Kind};
use super::token_stream::{TokenStream, Tokens};
use hipward_analyzer_core::words::listed;

/// The tokens of a source, with their brackets and the vendors that they are compiled for.
pub struct Source<'a> {
    stream: TokenStream<'a>,
    changes: Vec<Change>,
    /// Macros that an included header defines for AMD, separated by spaces.
    pub(crate) amd_macros: &'a str,
}

/// An upper limit for the tokens of a launch; keeps the time for a text of `<<<` linear.
const MAX_LAUNCH: u32 = 400;

impl<'a> Deref for Source<'a> {
    type Target = TokenStream<'a>;

    fn deref(&self) -> &TokenStream<'a> {
        &self.stream
    }
}

/// `name<<<configuration>>>(arguments)`.
pub struct Launch {
    /// The first token of the kernel's name.
    pub name: u32,
    /// From `<<<` to the first `>` that closes it.
    pub configuration: Tokens,
    /// Including the parentheses.
    pub arguments: Tokens,
}

impl<'a> Source<'a> {
    /// Parses `text`.
    pub fn new(text: &'a str) -> Self {
        let stream = TokenStream::new(text);
        Source {
            changes: conditions::changes(&stream),
            stream,
            amd_macros: "",
        }
    }

    /// The ranges of the comments, in order.
    pub fn into_comments(self) -> Vec<Range<usize>> {
        self.stream.comments
    }

    /// The vendors for which a token is compiled.
    pub fn vendors(&self, token: u32) -> Vendors {
        let after = self.changes.partition_point(|(from, _)| *from <= token);
        after
            .checked_sub(1)
            .and_then(|last| self.changes.get(last))
            .map_or(Vendors::Both, |(_, vendors)| *vendors)
    }

    /// The preprocessor line that contains a token.
    pub fn directive_of(&self, token: u32) -> Option<&Directive> {
        let after = self.directives.partition_point(|line| line.start <= token);
        let line = self.directives.get(after.checked_sub(1)?)?;
        line.contains(&token).then_some(line)
    }

    /// The header of an `#include` line without its quotes or angle brackets, and its token.
    pub fn included(&self, line: &Directive) -> Option<(&'a str, u32)> {
        let token = line.start + 2;
        let is_include = self.directive_name(line) == "include"
            && token < line.end
            && self.kind(token) == Kind::Header;
        let header = self.token_text(token).trim_matches(['<', '>', '"']).trim();
        is_include.then_some((header, token))
    }

    /// Every included header, with its token.
    pub fn includes(&self) -> impl Iterator<Item = (&'a str, u32)> {
        self.directives
            .iter()
            .filter_map(|line| self.included(line))
    }

    /// The preprocessor line that defines `word`, and the token of the name there.
    pub fn definition(&self, word: &str) -> Option<(&Directive, u32)> {
        self.places(word).iter().find_map(|at| {
            let line = self.directive_of(*at)?;
            (self.directive_name(line) == "define" && line.start + 2 == *at).then_some((line, *at))
        })
    }

    /// True if the source defines the macro, or an included header does so for AMD.
    pub(crate) fn is_macro(&self, word: &str) -> bool {
        self.definition(word).is_some() || listed(self.amd_macros, word)
    }

    /// The last token of the type that the name at `token` points to: `half` in `half *const __restrict__ x`. Also the first
    /// factor of `half * x`.
    pub(crate) fn pointee(&self, token: u32) -> Option<u32> {
        let mut at = token.checked_sub(1)?;
        while matches!(self.token_text(at), "__restrict__" | "__restrict" | "const") {
            at = at.checked_sub(1)?;
        }
        (self.token_text(at) == "*").then(|| at.checked_sub(1))?
    }

    /// The parentheses of a call whose name is at `token`, possibly after template arguments.
    pub fn call(&self, token: u32) -> Option<Tokens> {
        let mut open = token + 1;
        if self.token_text(open) == "<" {
            open = self.angle_end(open)?;
        }
        if self.token_text(open) != "(" {
            return None;
        }
        Some(open..self.partner(open)? + 1)
    }

    /// One past the `>` that closes the `<` at `open`, if the text between can be template arguments.
    pub fn angle_end(&self, open: u32) -> Option<u32> {
        /// An upper limit for template arguments; keeps the time for a text of `<` linear.
        const MAX: u32 = 200;
        if self.token_text(open) != "<" {
            return None;
        }
        let mut depth = 0_u32;
        let mut at = open;
        while at < self.token_count().min(open + MAX) {
            match self.token_text(at) {
                "<" => depth += 1,
                ">" => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(at + 1);
                    }
                }
                "(" | "[" | "{" => at = self.partner(at)?,
                ";" | ")" | "]" | "}" | "<<<" => return None,
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// The arguments between two parentheses; commas in brackets and template arguments do not separate arguments.
    pub fn arguments(&self, parentheses: &Tokens) -> Vec<Tokens> {
        let end = parentheses.end - 1;
        let mut arguments = Vec::new();
        let mut start = parentheses.start + 1;
        let mut at = start;
        while at < end {
            match self.token_text(at) {
                "," => {
                    arguments.push(start..at);
                    start = at + 1;
                }
                "(" | "[" | "{" => at = self.partner(at).unwrap_or(at),
                "<" => {
                    let behind_word = at
                        .checked_sub(1)
                        .is_some_and(|before| self.kind(before) == Kind::Word);
                    let close = self.angle_end(at).filter(|close| {
                        behind_word
                            && *close <= end
                            && matches!(
                                self.token_text(*close),
                                "(" | ")" | "::" | "," | ">" | "{" | "*" | "&"
                            )
                    });
                    if let Some(close) = close {
                        at = close - 1;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        if start < end {
            arguments.push(start..end);
        }
        arguments
    }

    /// Every kernel launch, in order.
    pub fn launches(&self) -> impl Iterator<Item = Launch> {
        (0..self.token_count())
            .filter(|at| self.token_text(*at) == "<<<")
            .filter_map(|at| self.launch(at))
    }

    /// Where `closing` is, after the launch configuration that begins at `start`; its `<<<` is at `open`.
    pub(crate) fn configuration_end(&self, open: u32, start: u32, closing: &[&str]) -> Option<u32> {
        let mut close = start;
        while !self.reads(close, closing) {
            match self.token_text(close) {
                "(" | "[" | "{" => close = self.partner(close)?,
                "" | ";" | "}" | "<<<" => return None,
                _ => {}
            }
            close += 1;
            if close > open + MAX_LAUNCH {
                return None;
            }
        }
        Some(close)
    }

    /// The launch whose `<<<` is at `open`.
    fn launch(&self, open: u32) -> Option<Launch> {
        let close = self.configuration_end(open, open + 1, &[">", ">", ">"])?;
        let call = close + 3;
        if self.token_text(call) != "(" {
            return None;
        }
        let arguments = call..self.partner(call)? + 1;
        let mut name = self.kernel_part(open.checked_sub(1)?)?;
        while let "::" | "." | "->" | "template" | "#" = self.before(name, 1) {
            let scope = name.checked_sub(2)?;
            match self.before(name, 1) {
                "template" => name -= 1,
                // `::kernel`, without a scope.
                "::" if self.token_text(scope) != ">"
                    && (self.kind(scope) != Kind::Word || is_keyword(self.token_text(scope))) =>
                {
                    name -= 1;
                    break;
                }
                // `name##_kernel`.
                "#" if self.token_text(scope) == "#" => {
                    name = self.kernel_part(scope.checked_sub(1)?)?;
                }
                "#" => return None,
                _ => name = self.kernel_part(scope)?,
            }
            if open - name > MAX_LAUNCH {
                return None;
            }
        }
        Some(Launch {
            name,
            configuration: open..close + 1,
            arguments,
        })
    }

    /// The start of a part of a kernel's name that ends at `end`: `kernel`, `kernel<float, 4>`, `KERNEL(4)`,
    /// `table[4]`, `(*kernel)`.
    fn kernel_part(&self, end: u32) -> Option<u32> {
        /// An upper limit for template arguments.
        const MAX: u32 = 400;
        let mut name = end;
        match self.token_text(name) {
            ">" => {
                let mut depth = 0_u32;
                for _ in 0..MAX {
                    match self.token_text(name) {
                        ">" => depth += 1,
                        "<" => depth -= 1,
                        ")" => name = self.partner(name)?,
                        ";" | "{" | "}" => return None,
                        _ => {}
                    }
                    name = name.checked_sub(1)?;
                    if depth == 0 {
                        break;
                    }
                }
            }
            ")" | "]" => {
                let open = self.partner(name)?;
                let is_call = |word: &u32| {
                    self.kind(*word) == Kind::Word && !is_keyword(self.token_text(*word))
                };
                match open.checked_sub(1).filter(is_call) {
                    Some(word) => name = word,
                    None if self.token_text(name) == ")" => return Some(open),
                    None => return None,
                }
            }
            _ => {}
        }
        (self.kind(name) == Kind::Word).then_some(name)
    }

    /// The braces of the function whose qualifier (`__global__`) is at `token`; `None` for a declaration.
    pub fn body_after(&self, token: u32) -> Option<Tokens> {
        /// An upper limit for the declarator of a function.
        const MAX: u32 = 2_000;
        let mut at = token + 1;
        let mut has_parameters = false;
        while at < (token + MAX).min(self.token_count()) {
            match self.token_text(at) {
                "(" => {
                    at = self.partner(at)?;
                    has_parameters = true;
                }
                "{" if has_parameters => return Some(at..self.partner(at)? + 1),
                ";" | "{" | "}" | "=" => return None,
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// The innermost braces around a token, searched within the maximum length of a function.
    pub fn enclosing_braces(&self, token: u32) -> Option<Tokens> {
        const MAX: u32 = 20_000;
        let mut at = token;
        while let Some(before) = at.checked_sub(1) {
            if token - before > MAX {
                return None;
            }
            match self.token_text(before) {
                "{" => {
                    if let Some(close) = self.partner(before).filter(|close| *close > token) {
                        return Some(before..close + 1);
                    }
                    at = before;
                }
                "}" | ")" | "]" => {
                    at = self
                        .partner(before)
                        .filter(|open| *open < before)
                        .unwrap_or(before);
                }
                _ => at = before,
            }
        }
        None
    }

    /// True if the word at `token` is a member (`x.word`) or in a namespace other than the global one (`a::word`).
    pub fn is_qualified(&self, token: u32) -> bool {
        match self.before(token, 1) {
            "." | "->" => true,
            "::" => token.checked_sub(2).is_some_and(|left| {
                (self.kind(left) == Kind::Word && !is_keyword(self.token_text(left)))
                    || self.token_text(left) == ">"
            }),
            _ => false,
        }
    }
}

/// Tokens that may precede a name of the global namespace: `return ::cudaFree(x)`,
/// `typename ::cub::BlockReduce<int, 64>`.
fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "return"
            | "else"
            | "do"
            | "case"
            | "throw"
            | "new"
            | "delete"
            | "typename"
            | "typedef"
            | "using"
            | "namespace"
            | "const"
            | "constexpr"
            | "volatile"
            | "static"
            | "inline"
            | "extern"
            | "explicit"
            | "virtual"
            | "public"
            | "private"
            | "protected"
            | "struct"
            | "class"
            | "__device__"
            | "__host__"
            | "__shared__"
            | "__constant__"
            | "__forceinline__"
            | "__restrict__"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_split_at_top_level_commas() {
        let text = "f(a<b, c>(d), x < y, {1, 2}, g(h, i)[j, k], l > m)";
        let source = Source::new(text);
        let parentheses = source.call(0).expect("a call");
        let arguments: Vec<_> = source
            .arguments(&parentheses)
            .into_iter()
            .map(|argument| source.slice(argument))
            .collect();
        assert_eq!(
            arguments,
            ["a<b, c>(d)", "x < y", "{1, 2}", "g(h, i)[j, k]", "l > m"]
        );
    }

    #[test]
    fn launch_begins_at_the_full_kernel_name() {
        for kernel in [
            "k",
            "::k",
            "ns::k<float, (2 > 1)>",
            "KERNEL(T, 7)",
            "ns::KERNEL(T)",
            "(*k)",
            "table[i + 1]",
            "part->k",
            "a.b.k<1>",
            "Part<T>::template k<N>",
            "name##_kernel",
            "pairs<Pair<float, Tuple<int, float>>>",
        ] {
            let text =
                format!("if (x) {kernel}<<<1, 64>>>(y); else return {kernel}<<<1, 64>>>(y);");
            let source = Source::new(&text);
            let found: Vec<_> = source
                .launches()
                .map(|launch| source.slice(launch.name..launch.configuration.start))
                .collect();
            assert_eq!(found, [kernel, kernel]);
        }
    }

    #[test]
    fn branches_that_open_the_same_brace_share_its_end() {
        let text = "#if A\nvoid f(int a) {\n#else\nvoid f() {\n#endif\n  g();\n}\nvoid h() {}\n";
        let source = Source::new(text);
        let h = source.places("h")[0];
        assert_eq!(source.enclosing_braces(h), None);
        let g = source.places("g")[0];
        assert!(source.enclosing_braces(g).is_some());
        let text = "void f(int a\n#if A\n, int b) {\n#else\n) {\n#endif\n  g();\n}\nvoid h() {}\n";
        let source = Source::new(text);
        assert_eq!(source.enclosing_braces(source.places("h")[0]), None);
    }
}
