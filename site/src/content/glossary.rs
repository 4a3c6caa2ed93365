//! The glossary, `content/reference/glossary.toml`, and the links from pages to it.

use super::document::{plain, slug};
use super::error::{ContentError, Mistake};
use super::read_toml;
use serde::Deserialize;
use std::collections::BTreeSet;

/// Its name in `reference/` and in its address.
pub(crate) const SLUG: &str = "glossary";

/// The list of terms.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Glossary {
    pub(crate) title: String,
    pub(crate) summary: String,
    #[serde(default, rename = "term")]
    pub(crate) terms: Vec<Term>,
}

/// A term with its definition.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Term {
    pub(crate) term: String,
    /// One or two sentences.
    pub(crate) definition: String,
    /// NVIDIA's word for it.
    pub(crate) cuda: Option<String>,
    /// A page with more about it.
    pub(crate) link: Option<String>,
    /// Other spellings.
    #[serde(default)]
    pub(crate) also: Vec<String>,
    /// Whether pages link the term at its first use. `false` for words that also have an everyday meaning.
    #[serde(default = "yes")]
    pub(crate) linked: bool,
}

fn yes() -> bool {
    true
}

impl Term {
    /// The fragment of its entry.
    pub(crate) fn id(&self) -> String {
        slug(&self.term)
    }
}

impl Glossary {
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, Vec<ContentError>> {
        let mut glossary: Glossary = read_toml(text, path, 1)?;
        let mut seen = BTreeSet::new();
        for term in &glossary.terms {
            let spellings: BTreeSet<String> = term
                .also
                .iter()
                .chain([&term.term])
                .map(|spelling| spelling.to_lowercase())
                .collect();
            if let Some(twice) = spellings.iter().find(|spelling| seen.contains(*spelling)) {
                let quoted = format!("\"{twice}\"");
                let names = |line: &str| {
                    (line.starts_with("term") || line.starts_with("also"))
                        && line.to_lowercase().contains(&quoted)
                };
                let lines = text.lines().enumerate();
                let line = lines
                    .filter(|(_, line)| names(line))
                    .last()
                    .map(|(line, _)| line);
                let line = line.map_or(1, |line| line + 1);
                return Err(Mistake::TermTwice(twice.clone()).at(path, line).into());
            }
            seen.extend(spellings);
        }
        glossary.terms.sort_by_key(|term| term.term.to_lowercase());
        Ok(glossary)
    }

    /// The links for one page.
    pub(crate) fn linker(&self) -> TermLinker<'_> {
        let linked = self.terms.iter().filter(|term| term.linked);
        let spellings = linked.flat_map(|term| {
            let spellings = term.also.iter().chain([&term.term]);
            spellings.map(move |spelling| (spelling.as_str(), term))
        });
        TermLinker {
            spellings: spellings.collect(),
        }
    }
}

/// Finds the first use of each term on a page.
pub(crate) struct TermLinker<'a> {
    /// Spellings of the terms that were not used yet.
    spellings: Vec<(&'a str, &'a Term)>,
}

/// A use of a term in a text.
pub(crate) struct TermUse {
    /// First byte of the use, and the byte after it.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The address of the entry.
    pub(crate) href: String,
    /// The definition in plain text.
    pub(crate) definition: String,
}

impl TermLinker<'_> {
    /// The first use of a new term in a text. The same term is not found again.
    pub(crate) fn next(&mut self, text: &str) -> Option<TermUse> {
        let (start, end, term) = self
            .spellings
            .iter()
            .filter_map(|(spelling, term)| {
                let (start, end) = find_word(text, spelling)?;
                Some((start, end, *term))
            })
            // The earliest use; of several there, the longest spelling.
            .min_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)))?;
        self.spellings
            .retain(|(_, other)| !std::ptr::eq(*other, term));
        Some(TermUse {
            start,
            end,
            href: format!("/reference/{SLUG}/#{}", term.id()),
            definition: plain(&term.definition),
        })
    }
}

/// The first use of a spelling as a whole word, in the singular or with a plural s. Its first letter may be a capital.
fn find_word(text: &str, spelling: &str) -> Option<(usize, usize)> {
    let inside_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut from = 0;
    loop {
        let start = from + find_capital(text.get(from..)?, spelling)?;
        let mut end = start + spelling.len();
        let rest = text.get(end..)?;
        let plural = rest
            .strip_prefix('s')
            .filter(|rest| !rest.starts_with(inside_word));
        if plural.is_some() {
            end += 1;
        }
        let before = text.get(..start)?;
        let after = text.get(end..)?;
        if !before.ends_with(|c| inside_word(c) || c == '/') && !after.starts_with(inside_word) {
            return Some((start, end));
        }
        from = start + 1;
        while !text.is_char_boundary(from) {
            from += 1;
        }
    }
}

/// Where `spelling` begins in a text, as it is or with a capital first letter.
fn find_capital(text: &str, spelling: &str) -> Option<usize> {
    let first = spelling.chars().next()?;
    let capital: String = first
        .to_uppercase()
        .chain(spelling.chars().skip(1))
        .collect();
    [text.find(spelling), text.find(&capital)]
        .into_iter()
        .flatten()
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whole_with_capitals_and_plurals() {
        assert_eq!(find_word("Wavefronts run", "wavefront"), Some((0, 10)));
        assert_eq!(find_word("a warp-level wavefront", "warp"), None);
        assert_eq!(find_word("LDSize or LDS.", "LDS"), Some((10, 13)));
        assert_eq!(find_word("µ lane", "lane"), Some((3, 7)));
    }

    #[test]
    fn each_term_is_linked_once_and_the_longest_wins() {
        let text = "title = \"G\"\nsummary = \"S\"\n[[term]]\nterm = \"cache\"\ndefinition = \"C.\"\n[[term]]\nterm = \"cache line\"\ndefinition = \"L.\"\n[[term]]\nterm = \"job\"\nlinked = false\ndefinition = \"J.\"\n";
        let glossary = Glossary::parse("g.toml", text).expect("valid");
        let mut linker = glossary.linker();
        let used = linker
            .next("the job fills a cache line of the cache")
            .expect("a term");
        assert_eq!((used.start, used.end), (16, 26));
        assert_eq!(used.href, "/reference/glossary/#cache-line");
        assert_eq!(
            linker.next("cache").map(|used| used.definition),
            Some("C.".to_owned())
        );
        assert!(linker.next("cache, cache lines").is_none());
    }
}
