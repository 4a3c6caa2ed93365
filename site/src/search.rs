//! The search index: the words of every page by headings, as one JSON file. js/search.js loads it with the first search and
//! searches it in the browser, so that a static host can serve it.

use crate::content::Kind;
use crate::content::document::Section;
use crate::page::contents;
use crate::{Route, Site};
use serde::Serialize;

/// Where a site has its index, below its base.
pub const SEARCH_INDEX: &str = "search.json";

#[derive(Serialize)]
struct Entry {
    address: String,
    kind: &'static str,
    title: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    keywords: Vec<String>,
    about: String,
    sections: Vec<Words>,
}

/// The words below a heading; the first section has none.
#[derive(Serialize)]
struct Words {
    id: String,
    title: String,
    text: String,
}

impl From<Section> for Words {
    fn from(section: Section) -> Self {
        Words {
            id: section.id,
            title: section.title,
            text: section.text,
        }
    }
}

/// Every page's title, description and text. The same site gives the same bytes.
pub fn search_index(site: &Site) -> String {
    let entries: Vec<Entry> = site
        .routes()
        .iter()
        .map(|route| {
            let page = contents(site, route);
            Entry {
                address: site.href(route),
                kind: kind(site, route),
                title: page.title,
                keywords: page.keywords,
                about: page.description,
                sections: page.sections.into_iter().map(Words::from).collect(),
            }
        })
        .collect();
    // Strings always serialize.
    serde_json::to_string(&entries).unwrap_or_default()
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
