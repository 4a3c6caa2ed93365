//! The tokens of a source, and where each word is.

use std::collections::HashMap;
use std::ops::Range;

use super::lexer::{Directive, Kind, Token, lex};

/// A range of tokens.
pub type Tokens = Range<u32>;

/// No token: the bracket is unmatched.
const NONE: u32 = u32::MAX;

/// How many open brackets a closing one may skip; keeps the time linear for any text.
const MOST_LEFT_OPEN: usize = 64;

/// The tokens of a source, with their brackets paired.
pub struct TokenStream<'a> {
    pub text: &'a str,
    pub comments: Vec<Range<usize>>,
    pub directives: Vec<Directive>,
    tokens: Vec<Token>,
    partners: Vec<u32>,
    words: HashMap<&'a str, Vec<u32>>,
}

impl<'a> TokenStream<'a> {
    /// Splits `text` into tokens.
    pub fn new(text: &'a str) -> Self {
        let lexed = lex(text);
        let mut stream = TokenStream {
            text,
            comments: lexed.comments,
            directives: lexed.directives,
            tokens: lexed.tokens,
            partners: Vec::new(),
            words: HashMap::new(),
        };
        for index in 0..stream.token_count() {
            if stream.kind(index) == Kind::Word {
                let word = stream.token_text(index);
                stream.words.entry(word).or_default().push(index);
            }
        }
        stream.pair_brackets();
        stream
    }

    /// The number of tokens.
    pub fn token_count(&self) -> u32 {
        self.tokens.len() as u32
    }

    /// The kind of a token; a punctuator past the end.
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

    /// True if the tokens from `at` on have these texts.
    pub fn reads(&self, at: u32, tokens: &[&str]) -> bool {
        tokens
            .iter()
            .zip(at..)
            .all(|(wanted, token)| self.token_text(token) == *wanted)
    }

    /// The range of tokens in the text.
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

    /// The text of a range of tokens, including the text between them.
    pub fn slice(&self, tokens: Tokens) -> &'a str {
        self.text.get(self.span(tokens)).unwrap_or_default()
    }

    /// The word after a directive's `#`.
    pub fn directive_name(&self, line: &Directive) -> &'a str {
        if line.start + 1 < line.end {
            self.token_text(line.start + 1)
        } else {
            ""
        }
    }

    /// The positions of a word, in order.
    pub fn places(&self, word: &str) -> &[u32] {
        self.words.get(word).map_or(&[], Vec::as_slice)
    }

    /// Every word with its positions, in no particular order.
    pub fn words(&self) -> impl Iterator<Item = (&'a str, &[u32])> {
        self.words.iter().map(|(word, at)| (*word, at.as_slice()))
    }

    /// The matching bracket.
    pub fn partner(&self, token: u32) -> Option<u32> {
        self.partners
            .get(token as usize)
            .copied()
            .filter(|partner| *partner != NONE)
    }

    /// Matches brackets. Branches of a conditional that open the same bracket twice start from the same state.
    fn pair_brackets(&mut self) {
        let mut partners = vec![NONE; self.token_count() as usize];
        let mut open: Vec<u32> = Vec::new();
        // The depth of the brackets at each open `#if`, and the most recent one: a branch may close some.
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
                // A macro's brackets match within its line.
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
        // A brace closes the parentheses left open inside it; a parenthesis closes no brace.
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
