//! Markdown to a [`Document`]: prose as parser events, code fences as whatever their reader
//! makes of them, and the headings of the table of contents.
//!
//! Knows nothing of lessons, rules, files or addresses.

use crate::escape::escape;
use pulldown_cmark::{
    BlockQuoteKind, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html,
};
use std::collections::BTreeMap;

/// A page's body.
#[derive(Clone, Debug)]
pub(crate) struct Document<B> {
    parts: Vec<Part<B>>,
    /// Headings of level two and three, in order.
    pub(crate) headings: Vec<Heading>,
    /// Internal links (`/rules/…`) with their lines.
    pub(crate) links: Vec<(String, usize)>,
    /// Lines with an HTML element or a `#` heading, which a lesson must not have.
    pub(crate) html: Vec<usize>,
    /// See [`Document::html`].
    pub(crate) titles: Vec<usize>,
}

#[derive(Clone, Debug)]
enum Part<B> {
    Prose(Vec<Event<'static>>),
    Block(B),
}

/// An entry of the table of contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    /// 2 or 3.
    pub(crate) level: u8,
    /// The fragment.
    pub(crate) id: String,
    /// Plain text.
    pub(crate) text: String,
}

/// A fenced code block as it was written.
pub(crate) struct Fence<'a> {
    /// What follows the backticks: `python file=before.py`.
    pub(crate) info: &'a str,
    /// The lines between.
    pub(crate) body: &'a str,
    /// Line of the opening backticks, from 1.
    pub(crate) line: usize,
}

impl<B> Document<B> {
    /// Parses Markdown; `read_fence` makes a block of each code fence.
    pub(crate) fn parse<E>(
        markdown: &str,
        mut read_fence: impl FnMut(Fence<'_>) -> Result<B, E>,
    ) -> Result<Self, E> {
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_GFM;
        let lines = LineIndex::new(markdown);
        let mut reader = Reader {
            document: Document {
                parts: Vec::new(),
                headings: Vec::new(),
                links: Vec::new(),
                html: Vec::new(),
                titles: Vec::new(),
            },
            ids: BTreeMap::new(),
        };
        let mut events = Parser::new_ext(markdown, options).into_offset_iter();
        while let Some((event, range)) = events.next() {
            let line = lines.line(range.start);
            match event {
                Event::Start(Tag::CodeBlock(kind)) => {
                    let body = text_until_end(&mut events);
                    let info = match &kind {
                        CodeBlockKind::Fenced(info) => info,
                        CodeBlockKind::Indented => "",
                    };
                    let block = read_fence(Fence {
                        info,
                        body: &body,
                        line,
                    })?;
                    reader.document.parts.push(Part::Block(block));
                }
                Event::Start(Tag::Heading { level, .. }) => {
                    if level == HeadingLevel::H1 {
                        reader.document.titles.push(line);
                    }
                    let inside: Vec<Event<'_>> = events
                        .by_ref()
                        .map(|(event, _)| event)
                        .take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))))
                        .collect();
                    reader.heading(level, inside);
                }
                Event::Start(Tag::Link {
                    link_type,
                    dest_url,
                    title,
                    id,
                }) => {
                    if dest_url.starts_with('/') {
                        reader.document.links.push((dest_url.to_string(), line));
                    }
                    reader.push(Event::Start(Tag::Link {
                        link_type,
                        dest_url,
                        title,
                        id,
                    }));
                }
                Event::Html(text) | Event::InlineHtml(text) => {
                    reader.document.html.push(line);
                    reader.push(Event::Text(text));
                }
                event => reader.push(event),
            }
        }
        Ok(reader.document)
    }

    /// The HTML, with internal links under `base` and blocks as `render_block` makes them.
    pub(crate) fn html(&self, base: &str, mut render_block: impl FnMut(&B) -> String) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Prose(events) => {
                    html::push_html(&mut out, events.iter().map(|event| based(event, base)));
                }
                Part::Block(block) => out.push_str(&render_block(block)),
            }
        }
        out
    }

    /// The blocks, in order.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &B> {
        self.parts.iter().filter_map(|part| match part {
            Part::Block(block) => Some(block),
            Part::Prose(_) => None,
        })
    }
}

/// One line of Markdown as HTML without a paragraph around it: code, emphasis, links.
pub(crate) fn inline(markdown: &str, base: &str) -> String {
    let events = Parser::new_ext(markdown, Options::ENABLE_STRIKETHROUGH)
        .filter(|event| {
            !matches!(
                event,
                Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph)
            )
        })
        .map(|event| match event {
            Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
            event => based(&event, base).into_static(),
        });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

/// The same line for a place that shows plain text, such as `<title>`.
pub(crate) fn plain(markdown: &str) -> String {
    Parser::new(markdown)
        .filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(text.to_string()),
            Event::SoftBreak | Event::HardBreak => Some(" ".to_owned()),
            _ => None,
        })
        .collect()
}

struct Reader<B> {
    document: Document<B>,
    /// How often each heading id was given.
    ids: BTreeMap<String, usize>,
}

impl<B> Reader<B> {
    fn push(&mut self, event: Event<'_>) {
        let event = match event {
            Event::Start(Tag::BlockQuote(Some(kind))) => admonition(kind),
            // A table scrolls in its own box, so that the page never does.
            Event::Start(Tag::Table(alignment)) => {
                self.push_static(Event::Html(
                    "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">"
                        .into(),
                ));
                Event::Start(Tag::Table(alignment))
            }
            Event::End(TagEnd::Table) => {
                self.push_static(Event::End(TagEnd::Table));
                Event::Html("</div>\n".into())
            }
            Event::End(TagEnd::BlockQuote(Some(_))) => Event::Html("</aside>\n".into()),
            event => event,
        };
        self.push_static(event.into_static());
    }

    fn push_static(&mut self, event: Event<'static>) {
        match self.document.parts.last_mut() {
            Some(Part::Prose(events)) => events.push(event),
            _ => self.document.parts.push(Part::Prose(vec![event])),
        }
    }

    /// A heading gets an id and is its own link.
    fn heading(&mut self, level: HeadingLevel, inside: Vec<Event<'_>>) {
        let text: String = inside
            .iter()
            .filter_map(|event| match event {
                Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
                _ => None,
            })
            .collect();
        let id = self.unique(slug(&text));
        self.push_static(Event::Html(
            format!("<{level} id=\"{id}\"><a class=\"anchor\" href=\"#{id}\">").into(),
        ));
        for event in inside {
            self.push(event);
        }
        self.push_static(Event::Html(format!("</a></{level}>\n").into()));
        if matches!(level, HeadingLevel::H2 | HeadingLevel::H3) {
            self.document.headings.push(Heading {
                level: level as u8,
                id,
                text,
            });
        }
    }

    fn unique(&mut self, id: String) -> String {
        let times = self.ids.entry(id.clone()).or_insert(0);
        *times += 1;
        match *times {
            1 => id,
            n => format!("{id}-{n}"),
        }
    }
}

/// `Why it breaks on ROCm?` → `why-it-breaks-on-rocm`.
pub(crate) fn slug(text: &str) -> String {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    if words.is_empty() {
        "section".to_owned()
    } else {
        words.join("-")
    }
}

fn admonition(kind: BlockQuoteKind) -> Event<'static> {
    let (class, title) = match kind {
        BlockQuoteKind::Note => ("note", "Note"),
        BlockQuoteKind::Tip => ("tip", "Tip"),
        BlockQuoteKind::Important => ("important", "Important"),
        BlockQuoteKind::Warning => ("warning", "Warning"),
        BlockQuoteKind::Caution => ("warning", "Caution"),
    };
    Event::Html(
        format!("<aside class=\"admonition {class}\"><p class=\"admonition-title\">{title}</p>\n")
            .into(),
    )
}

/// Internal links are written from the root; a site may live below one.
fn based<'a>(event: &Event<'a>, base: &str) -> Event<'a> {
    match event {
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) if dest_url.starts_with('/') => Event::Start(Tag::Link {
            link_type: *link_type,
            dest_url: CowStr::from(format!("{base}{}", &dest_url[1..])),
            title: title.clone(),
            id: id.clone(),
        }),
        event => event.clone(),
    }
}

/// The text of a code block, up to its end.
fn text_until_end<'a, R>(events: &mut impl Iterator<Item = (Event<'a>, R)>) -> String {
    let mut body = String::new();
    for (event, _) in events {
        match event {
            Event::Text(text) => body.push_str(&text),
            Event::End(TagEnd::CodeBlock) => break,
            _ => {}
        }
    }
    body
}

/// From a byte offset to a line number.
struct LineIndex(Vec<usize>);

impl LineIndex {
    fn new(text: &str) -> Self {
        LineIndex(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|feed| *feed < offset) + 1
    }
}

/// A code block as HTML: caption, copy button and scrolling text.
pub(crate) fn code_figure(caption: Option<&str>, language: &str, inner: &str) -> String {
    let caption = caption.map_or_else(String::new, |caption| {
        format!("<figcaption>{}</figcaption>", escape(caption))
    });
    format!(
        "<figure class=\"code\">{caption}<button type=\"button\" class=\"copy needs-js\" data-copy>Copy</button>\
         <pre tabindex=\"0\"><code class=\"language-{}\">{inner}</code></pre></figure>\n",
        escape(language)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn parse(markdown: &str) -> Document<String> {
        Document::parse(markdown, |fence| {
            Ok::<_, Infallible>(format!("[{}:{}]", fence.line, fence.info))
        })
        .unwrap_or_else(|never| match never {})
    }

    #[test]
    fn headings_get_unique_ids_and_a_table_of_contents() {
        let document = parse("## Use `torch`\n\n### Twice\n\n### Twice\n");
        let ids: Vec<&str> = document.headings.iter().map(|h| h.id.as_str()).collect();
        assert_eq!(ids, ["use-torch", "twice", "twice-2"]);
        let html = document.html("/", Clone::clone);
        assert!(
            html.contains("<h2 id=\"use-torch\"><a class=\"anchor\" href=\"#use-torch\">Use <code>torch</code></a></h2>"),
            "{html}"
        );
    }

    #[test]
    fn internal_links_go_through_the_base_and_html_is_text() {
        let document = parse("[a](/rules/x/) [b](https://rocm.docs.amd.com/) <b>no</b>\n");
        assert_eq!(document.links, [("/rules/x/".to_owned(), 1)]);
        assert_eq!(document.html, [1, 1]);
        let html = document.html("/docs/", Clone::clone);
        assert!(html.contains("href=\"/docs/rules/x/\""), "{html}");
        assert!(
            html.contains("href=\"https://rocm.docs.amd.com/\""),
            "{html}"
        );
        assert!(html.contains("&lt;b&gt;no"), "{html}");
    }

    #[test]
    fn fences_keep_their_place_inside_a_list_and_know_their_line() {
        let document = parse("- one\n\n  ```python file=a.py\n  ```\n- two\n");
        let html = document.html("/", Clone::clone);
        assert!(html.contains("[3:python file=a.py]"), "{html}");
        assert_eq!(html.matches("<li>").count(), html.matches("</li>").count());
    }

    #[test]
    fn admonitions_and_tables_have_their_boxes() {
        let html = parse("> [!WARNING]\n> Hot.\n\n| a |\n|---|\n| 1 |\n").html("/", Clone::clone);
        assert!(
            html.contains("<aside class=\"admonition warning\">"),
            "{html}"
        );
        assert!(html.contains("</aside>"), "{html}");
        assert!(html.contains("<div class=\"scroll\""), "{html}");
        assert!(html.contains("</table>\n</div>"), "{html}");
    }
}
