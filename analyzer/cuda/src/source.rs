//! A source as its rules see it: tokens, brackets, words, calls and conditionals.

use std::collections::HashMap;
use std::ops::Range;

use super::conditions::{self, Change, Vendors};
use super::lexer::{Directive, Kind, Token, lex};

/// No token: the bracket has no other half.
const NONE: u32 = u32::MAX;

/// A source, taken apart.
pub struct Source<'a> {
    pub text: &'a str,
    pub comments: Vec<Range<usize>>,
    pub directives: Vec<Directive>,
    tokens: Vec<Token>,
    partners: Vec<u32>,
    words: HashMap<&'a str, Vec<u32>>,
    changes: Vec<Change>,
}

/// A place in the source; its tokens.
pub type Tokens = Range<u32>;

/// `name<<<configuration>>>(arguments)`.
pub struct Launch {
    /// The first token of the kernel's name.
    pub name: u32,
    /// From `<<<` to the first `>` that closes it.
    pub configuration: Tokens,
    /// With its parentheses.
    pub arguments: Tokens,
}

impl<'a> Source<'a> {
    /// Takes `text` apart.
    pub fn new(text: &'a str) -> Self {
        let lexed = lex(text);
        let mut source = Source {
            text,
            comments: lexed.comments,
            directives: lexed.directives,
            tokens: lexed.tokens,
            partners: Vec::new(),
            words: HashMap::new(),
            changes: Vec::new(),
        };
        for index in 0..source.token_count() {
            if source.kind(index) == Kind::Word {
                let word = source.token_text(index);
                source.words.entry(word).or_default().push(index);
            }
        }
        source.pair_brackets();
        source.changes = conditions::changes(&source);
        source
    }

    /// How many tokens there are.
    pub fn token_count(&self) -> u32 {
        self.tokens.len() as u32
    }

    /// What a token is; a sign past the end.
    pub fn kind(&self, token: u32) -> Kind {
        self.tokens
            .get(token as usize)
            .map_or(Kind::Sign, |token| token.kind)
    }

    /// A token's text; empty past either end.
    pub fn token_text(&self, token: u32) -> &'a str {
        self.tokens
            .get(token as usize)
            .and_then(|token| self.text.get(token.start as usize..token.end as usize))
            .unwrap_or_default()
    }

    /// The text of the token `back` before `token`.
    pub fn before(&self, token: u32, back: u32) -> &'a str {
        token
            .checked_sub(back)
            .map_or("", |token| self.token_text(token))
    }

    /// True when the tokens from `at` on are those.
    pub fn reads(&self, at: u32, tokens: &[&str]) -> bool {
        tokens
            .iter()
            .zip(at..)
            .all(|(wanted, token)| self.token_text(token) == *wanted)
    }

    /// Where tokens are in the text.
    pub fn span(&self, tokens: Tokens) -> Range<usize> {
        let start = self.tokens.get(tokens.start as usize);
        let last = tokens
            .end
            .checked_sub(1)
            .filter(|last| *last >= tokens.start);
        let end = last.and_then(|last| self.tokens.get(last as usize));
        match (start, end) {
            (Some(start), Some(end)) => start.start as usize..end.end as usize,
            (Some(start), None) => start.start as usize..start.start as usize,
            _ => self.text.len()..self.text.len(),
        }
    }

    /// The text of some tokens, with what is between them.
    pub fn slice(&self, tokens: Tokens) -> &'a str {
        self.text.get(self.span(tokens)).unwrap_or_default()
    }

    /// The other half of a bracket.
    pub fn partner(&self, token: u32) -> Option<u32> {
        self.partners
            .get(token as usize)
            .copied()
            .filter(|partner| *partner != NONE)
    }

    /// The word behind a directive's `#`.
    pub fn directive_name(&self, line: &Directive) -> &'a str {
        if line.start + 1 < line.end {
            self.token_text(line.start + 1)
        } else {
            ""
        }
    }

    /// Where a word stands, in order.
    pub fn places(&self, word: &str) -> &[u32] {
        self.words.get(word).map_or(&[], Vec::as_slice)
    }

    /// Every word with the places where it stands, in no order.
    pub fn words(&self) -> impl Iterator<Item = (&'a str, &[u32])> {
        self.words.iter().map(|(word, at)| (*word, at.as_slice()))
    }

    /// For whom a token is compiled.
    pub fn vendors(&self, token: u32) -> Vendors {
        let after = self.changes.partition_point(|(from, _)| *from <= token);
        after
            .checked_sub(1)
            .and_then(|last| self.changes.get(last))
            .map_or(Vendors::Both, |(_, vendors)| *vendors)
    }

    /// The preprocessor line that a token is in.
    pub fn directive_of(&self, token: u32) -> Option<&Directive> {
        let after = self.directives.partition_point(|line| line.start <= token);
        let line = self.directives.get(after.checked_sub(1)?)?;
        line.contains(&token).then_some(line)
    }

    /// The header that an `#include` line names, its quotes or angles left out, and its token.
    pub fn included(&self, line: &Directive) -> Option<(&'a str, u32)> {
        let token = line.start + 2;
        let is_include = self.directive_name(line) == "include"
            && token < line.end
            && self.kind(token) == Kind::Header;
        let header = self.token_text(token).trim_matches(['<', '>', '"']).trim();
        is_include.then_some((header, token))
    }

    /// Every header that is included, with its token.
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

    /// The parentheses of a call whose name is at `token`; template arguments may stand between.
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

    /// One past the `>` that closes the `<` at `open`, if it reads like template arguments.
    pub fn angle_end(&self, open: u32) -> Option<u32> {
        /// Longer than template arguments that anyone writes; keeps a text of `<` linear.
        const MAX: u32 = 200;
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

    /// The arguments between two parentheses; commas in brackets and template arguments part none.
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

    /// The launch whose `<<<` is at `open`.
    fn launch(&self, open: u32) -> Option<Launch> {
        /// Longer than a launch configuration that anyone writes; keeps a text of `<<<` linear.
        const MAX: u32 = 400;
        let mut close = open + 1;
        while !self.reads(close, &[">", ">", ">"]) {
            match self.token_text(close) {
                "(" | "[" | "{" => close = self.partner(close)?,
                "" | ";" | "}" | "<<<" => return None,
                _ => {}
            }
            close += 1;
            if close > open + MAX {
                return None;
            }
        }
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
                // `::kernel`, of no scope.
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
            if open - name > MAX {
                return None;
            }
        }
        Some(Launch {
            name,
            configuration: open..close + 1,
            arguments,
        })
    }

    /// Where a part of a kernel's name begins that ends at `end`: `kernel`, `kernel<float, 4>`, `KERNEL(4)`, `table[4]`,
    /// `(*kernel)`.
    fn kernel_part(&self, end: u32) -> Option<u32> {
        /// Longer than template arguments that anyone writes.
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

    /// The braces of the function whose qualifier (`__global__`) is at `token`; none of a declaration.
    pub fn body_after(&self, token: u32) -> Option<Tokens> {
        /// Longer than a function's head that anyone writes.
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

    /// The innermost braces around a token, looking back no further than a function is long.
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

    /// True when the word at `token` is a member (`x.word`) or of another namespace than the global one (`a::word`).
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

    /// Pairs brackets. Branches of a conditional that open the same bracket twice start from the same state.
    fn pair_brackets(&mut self) {
        let mut partners = vec![NONE; self.tokens.len()];
        let mut open: Vec<u32> = Vec::new();
        // How deep the brackets were at each `#if` that is open, and the last of them: a branch may close some.
        let mut states: Vec<(usize, Vec<u32>)> = Vec::new();
        let mut lines = self.directives.iter().peekable();
        let mut at = 0;
        while at < self.token_count() {
            if let Some(line) = lines.next_if(|line| line.start == at) {
                match self.directive_name(line) {
                    "if" | "ifdef" | "ifndef" => {
                        let below = open.len().saturating_sub(MOST_LEFT_OPEN);
                        states.push((below, open[below..].to_vec()));
                    }
                    "else" | "elif" => {
                        if let Some((below, last)) = states.last() {
                            open.truncate(*below);
                            open.extend(last);
                        }
                    }
                    "endif" => drop(states.pop()),
                    _ => {}
                }
                // A macro's brackets pair within its line.
                let mut inner: Vec<u32> = Vec::new();
                for token in line.clone() {
                    self.pair(token, &mut inner, &mut partners);
                }
                at = line.end.max(at + 1);
                continue;
            }
            self.pair(at, &mut open, &mut partners);
            at += 1;
        }
        self.partners = partners;
    }

    fn pair(&self, token: u32, open: &mut Vec<u32>, partners: &mut [u32]) {
        if self.kind(token) != Kind::Sign {
            return;
        }
        let opening = match self.token_text(token) {
            "(" | "[" | "{" => return open.push(token),
            ")" => "(",
            "]" => "[",
            "}" => "{",
            _ => return,
        };
        // A brace closes what was left open inside it; a parenthesis closes no brace.
        let found = open
            .iter()
            .rev()
            .take(MOST_LEFT_OPEN)
            .take_while(|bracket| opening == "{" || self.token_text(**bracket) != "{")
            .position(|bracket| self.token_text(*bracket) == opening);
        if let Some(back) = found {
            open.truncate(open.len() - back);
            if let Some(bracket) = open.pop() {
                partners[bracket as usize] = token;
                partners[token as usize] = bracket;
            }
        }
    }
}

/// How many brackets a closing one may find left open; keeps any text linear.
const MOST_LEFT_OPEN: usize = 64;

/// What may stand before a name of the global namespace: `return ::cudaFree(x)`, `typename ::cub::BlockReduce<int, 64>`.
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
    fn arguments_are_parted_by_their_own_commas() {
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
    fn a_launch_begins_with_all_of_its_kernels_name() {
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
