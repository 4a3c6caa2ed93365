//! What a reader can search: the words of every page, taken from the page itself, as one JSON file. js/search.js loads
//! it with the first search and looks through it in the browser, so that a static host can serve it.

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
    about: String,
    sections: Vec<Section>,
}

/// What stands under a heading; the first one has none.
#[derive(Default, Serialize)]
struct Section {
    id: String,
    title: String,
    text: String,
}

/// Every page's title, description and text. The same site gives the same bytes.
pub fn search_index(site: &Site) -> String {
    let entries: Vec<Entry> = site
        .routes()
        .iter()
        .map(|route| {
            let (kind, without) = kind(route);
            let page = contents(site, route);
            Entry {
                address: site.href(route),
                kind,
                title: page.title,
                about: page.description,
                sections: without.map_or_else(Vec::new, |without| sections(&page.html, without)),
            }
        })
        .collect();
    // Strings always serialize.
    serde_json::to_string(&entries).unwrap_or_default()
}

/// What a page is called in a list of answers, and the elements of it that are left out. Tools, and lists of other
/// pages, are found by their titles alone.
fn kind(route: &Route) -> (&'static str, Option<&'static [&'static str]>) {
    const PROSE: &[&str] = &["pre", "nav", "button"];
    // The list of facts says the same of many rules: "Warning: runs wrong or slow".
    const RULE: &[&str] = &["pre", "nav", "button", "dl"];
    // Tables of figures; their headings say what there is.
    const FIGURES: &[&str] = &["pre", "nav", "button", "table", "dl"];
    match route {
        Route::Lesson { .. } => ("Lesson", Some(PROSE)),
        Route::Rule(_) => ("Rule", Some(RULE)),
        Route::Reference(_) => ("Reference", Some(PROSE)),
        Route::Op(_) => ("Op", Some(FIGURES)),
        Route::Models => ("Page", Some(FIGURES)),
        _ => ("Page", None),
    }
}

/// The text of our own HTML, parted at headings that have an id.
fn sections(html: &str, without: &[&str]) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    let mut in_heading = false;
    let mut rest = html;
    while let Some((text, tag)) = rest.split_once('<') {
        let Some((tag, after)) = tag.split_once('>') else {
            break;
        };
        push(&mut sections, in_heading, text);
        rest = after;
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        if without.contains(&name) {
            let end = format!("</{name}>");
            rest = rest.split_once(&end).map_or("", |(_, after)| after);
        } else if let ("h2" | "h3", Some(id)) = (name, attribute(tag, "id")) {
            sections.push(Section {
                id: id.to_owned(),
                ..Section::default()
            });
            in_heading = true;
        } else if matches!(tag, "/h1" | "/h2" | "/h3") {
            in_heading = false;
        } else if name == "h1" {
            // The page's title says it.
            rest = rest.split_once("</h1>").map_or("", |(_, after)| after);
        }
        if !INLINE.contains(&name) && !INLINE.contains(&tag.trim_start_matches('/')) {
            push(&mut sections, in_heading, " ");
        }
    }
    sections.retain(|section| !(section.title.is_empty() && section.text.is_empty()));
    sections
}

/// Elements that do not part words.
const INLINE: [&str; 7] = ["a", "code", "em", "strong", "small", "span", "!"];

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = tag.split_once(&format!(" {name}=\""))?;
    Some(value.split_once('"')?.0)
}

/// Adds text, with one space for any white space.
fn push(sections: &mut [Section], in_heading: bool, html: &str) {
    let Some(section) = sections.last_mut() else {
        return;
    };
    let to = if in_heading {
        &mut section.title
    } else {
        &mut section.text
    };
    for character in unescaped(html).chars() {
        if !character.is_whitespace() {
            to.push(character);
        } else if !to.is_empty() && !to.ends_with(' ') {
            to.push(' ');
        }
    }
}

fn unescaped(html: &str) -> String {
    html.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#x27;", "'")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_parted_at_its_headings_and_read_as_a_reader_would() {
        let html = "<nav><a href=\"/\">Home</a></nav><h1>Title</h1><p>Lead &lt;b&gt;.</p>\
            <h2 id=\"why\"><a href=\"#why\">Why <code>torch</code></a></h2><p>One</p><p>two<em>s</em>.</p>\
            <pre><code>not = 1</code></pre><h3>Not apart</h3>";
        let found = sections(html, &["pre", "nav"]);
        let shown: Vec<(&str, &str, &str)> = found
            .iter()
            .map(|part| (part.id.as_str(), part.title.trim(), part.text.trim()))
            .collect();
        assert_eq!(
            shown,
            [
                ("", "", "Lead <b>."),
                ("why", "Why torch", "One twos. Not apart"),
            ]
        );
    }
}
