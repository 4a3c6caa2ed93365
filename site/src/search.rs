//! Data of the search as two JSON files, so that a static host can serve it. js/search.js loads the index with the first
//! search, and searches it in the browser. It shows excerpts of the texts once these are loaded too.

use crate::content::Kind;
use crate::content::document::{Section, ascii_slug};
use crate::page::contents;
use crate::{Route, Site};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Path of the search index, below the base of the site.
pub const SEARCH_INDEX: &str = "search.json";
/// Path of the texts for excerpts.
pub const SEARCH_TEXTS: &str = "search-texts.json";

/// Words on more than this share of the pages do not tell pages apart, and are only found in titles and headings.
const COMMON: f64 = 0.32;

/// The files of the search.
#[derive(Clone, Debug)]
pub struct Search {
    /// Pages, their headings, and the words below each heading.
    pub index: String,
    /// The texts below the headings, in the order of the headings.
    pub texts: String,
}

#[derive(Serialize)]
struct Index {
    pages: Vec<Entry>,
    /// The words whose places are left out, separated by spaces: words on many pages, and numbers.
    common: String,
    /// The other words of the texts, in order. Each starts with a digit: how many of its first characters are those of the word before it.
    words: String,
    /// For each word the sections that have it: numbers separated by commas, lists by semicolons. A number counts from the one before
    /// it in the list, the first from 0. This takes less than half as many bytes as the texts.
    places: String,
}

#[derive(Serialize)]
struct Entry {
    address: String,
    kind: &'static str,
    title: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    keywords: Vec<String>,
    about: String,
    /// Heading, and the fragment if it is not the heading's `ascii_slug`. The first section can have neither.
    sections: Vec<Vec<String>>,
}

/// The files of a site's search. The same site gives the same bytes.
pub fn search(site: &Site) -> Search {
    let mut pages = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    let mut places: BTreeMap<String, Places> = BTreeMap::new();
    let routes = site.routes();
    // The page for remote jobs shows nothing without the fragment of a job.
    let found = routes.iter().filter(|route| **route != Route::RemoteJob);
    for (number, route) in found.enumerate() {
        let page = contents(site, route);
        for section in &page.sections {
            for word in words(section) {
                places.entry(word).or_default().add(texts.len(), number);
            }
            texts.push(section.text.clone());
        }
        pages.push(Entry {
            address: site.href(route),
            kind: kind(site, route),
            title: page.title,
            keywords: page.keywords,
            about: page.description,
            sections: page
                .sections
                .into_iter()
                .map(|section| {
                    let usual = section.id == ascii_slug(&section.title);
                    let id = (!usual).then_some(section.id);
                    std::iter::once(section.title).chain(id).collect()
                })
                .collect(),
        });
    }
    let most = (pages.len() as f64 * COMMON).max(8.0) as usize;
    let (common, places): (BTreeMap<_, _>, BTreeMap<_, _>) = places
        .into_iter()
        .partition(|(word, places)| places.pages > most || is_number(word));
    let index = Index {
        pages,
        common: common.into_keys().collect::<Vec<_>>().join(" "),
        words: shortened(places.keys().map(String::as_str)),
        places: places
            .values()
            .map(Places::encoded)
            .collect::<Vec<_>>()
            .join(";"),
    };
    // Strings always serialize.
    Search {
        index: serde_json::to_string(&index).unwrap_or_default(),
        texts: serde_json::to_string(&texts).unwrap_or_default(),
    }
}

/// Words in order, separated by spaces, without the first characters of each that the word before it has too: at most 9, whose number
/// is written instead.
fn shortened<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut list = String::new();
    let mut before = "";
    for word in words {
        let pairs = before.chars().zip(word.chars());
        let same = pairs.take(9).take_while(|(a, b)| a == b).count();
        let rest: String = word.chars().skip(same).collect();
        let space = if list.is_empty() { "" } else { " " };
        let _ = write!(list, "{space}{same}{rest}");
        before = word;
    }
    list
}

/// Whether a word is a number. Most of them are in tables and do not tell pages apart.
fn is_number(word: &str) -> bool {
    word.bytes().all(|letter| letter.is_ascii_digit())
}

/// The sections that have a word.
#[derive(Default)]
struct Places {
    sections: Vec<usize>,
    /// The number of their pages, and the last of these.
    pages: usize,
    last_page: Option<usize>,
}

impl Places {
    fn add(&mut self, section: usize, page: usize) {
        self.sections.push(section);
        if self.last_page.replace(page) != Some(page) {
            self.pages += 1;
        }
    }

    fn encoded(&self) -> String {
        let mut list = String::new();
        let mut before = 0;
        for (at, section) in self.sections.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let _ = write!(list, "{comma}{}", section - before);
            before = *section;
        }
        list
    }
}

/// The words of a section's text that its heading does not have. They are separated as MiniSearch separates those of a query.
fn words(section: &Section) -> BTreeSet<String> {
    let split = |text: &str| -> BTreeSet<String> {
        let lower = text.to_lowercase();
        let words = lower.split(|letter: char| !letter.is_alphanumeric());
        // Single letters are not indexed.
        words
            .filter(|word| word.len() > 1)
            .map(str::to_owned)
            .collect()
    };
    let heading = split(&section.title);
    split(&section.text).difference(&heading).cloned().collect()
}

/// The word for a page in a list of answers.
fn kind(site: &Site, route: &Route) -> &'static str {
    match route {
        Route::Lesson { part, lesson } => {
            match site.content.lesson(part, lesson).map(|(part, _)| part.kind) {
                Some(Kind::HowTo) => "How-to",
                Some(Kind::Explanation) => "Explanation",
                _ => "Lesson",
            }
        }
        Route::Rule(_) => "Rule",
        Route::Reference(_) => "Reference",
        Route::Op(_) => "Op",
        _ => "Page",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_listed_once_and_places_count_from_the_one_before() {
        let section = Section {
            id: String::new(),
            title: "A wavefront".to_owned(),
            text: "Sixty-four lanes: a Wavefront has 64 lanes (`exec_mask`).".to_owned(),
        };
        let found: Vec<String> = words(&section).into_iter().collect();
        assert_eq!(
            found,
            ["64", "exec", "four", "has", "lanes", "mask", "sixty"]
        );
        let mut places = Places::default();
        for (section, page) in [(3, 0), (4, 0), (9, 2)] {
            places.add(section, page);
        }
        assert_eq!((places.encoded().as_str(), places.pages), ("3,1,5", 2));
        assert_eq!(
            shortened(["lane", "lanes", "loop", "über", "überall"].into_iter()),
            "0lane 4s 1oop 0über 4all"
        );
    }
}
