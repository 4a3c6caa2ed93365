//! Markdown to a [`Document`]: prose as parser events, code fences as their reader returns them, and headings.
//! Formulas become MathML, and the first use of each glossary term becomes a link.
//!
//! This module is independent of lessons, rules, files and addresses.

use super::glossary::TermLinker;
use super::math::mathml;
use super::units::unbroken;
use crate::escape::escape;
use pulldown_cmark::{
    BlockQuoteKind, CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag,
    TagEnd, html,
};
use std::{borrow::Cow, collections::BTreeMap};

/// A page's body.
#[derive(Clone, Debug)]
pub(crate) struct Document<B> {
    parts: Vec<Part<B>>,
    /// Headings of level two and three, in order.
    pub(crate) headings: Vec<Heading>,
    /// Internal links (`/rules/…`) with their lines.
    pub(crate) links: Vec<(String, usize)>,
    /// Links that run a program when they are followed, such as `javascript:`, with their lines.
    pub(crate) bad_links: Vec<(String, usize)>,
    /// Lines with an HTML element or a `#` heading, which a lesson must not have.
    pub(crate) html: Vec<usize>,
    /// See [`Document::html`].
    pub(crate) titles: Vec<usize>,
    /// Formulas that cannot be converted: the reason, and the line.
    pub(crate) bad_math: Vec<(String, usize)>,
}

#[derive(Clone, Debug)]
enum Part<B> {
    Prose(Vec<Event<'static>>),
    Heading {
        level: HeadingLevel,
        heading: Heading,
        inside: Vec<Event<'static>>,
    },
    Block(B),
}

/// What a document may contain besides plain Markdown.
#[derive(Default)]
pub(crate) struct Extensions<'a> {
    /// Whether `$…$` and `$$…$$` are formulas.
    pub(crate) math: bool,
    /// Links glossary terms.
    pub(crate) terms: Option<TermLinker<'a>>,
}

/// The text below a heading, for the search. The first section of a page has no heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    /// The fragment; empty for the first section.
    pub(crate) id: String,
    pub(crate) title: String,
    /// Words, separated by single spaces.
    pub(crate) text: String,
}

impl Section {
    /// Adds a text, with one space for any white space.
    pub(crate) fn push(&mut self, text: &str) {
        for character in text.chars() {
            if !character.is_whitespace() {
                self.text.push(character);
            } else if !self.text.is_empty() && !self.text.ends_with(' ') {
                self.text.push(' ');
            }
        }
    }
}

/// An entry of the table of contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    /// 1 to 6.
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
    /// Parses Markdown; `read_fence` returns a block for each code fence.
    pub(crate) fn parse<E>(
        markdown: &str,
        mut extensions: Extensions<'_>,
        mut read_fence: impl FnMut(Fence<'_>) -> Result<B, E>,
    ) -> Result<Self, E> {
        let mut options =
            Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_GFM;
        options.set(Options::ENABLE_MATH, extensions.math);
        // Links and the head of a table contain no links to the glossary.
        let mut without_terms = 0_usize;
        let lines = LineIndex::new(markdown);
        let mut reader = Reader {
            document: Document {
                parts: Vec::new(),
                headings: Vec::new(),
                links: Vec::new(),
                bad_links: Vec::new(),
                html: Vec::new(),
                titles: Vec::new(),
                bad_math: Vec::new(),
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
                    let inside: Vec<Event<'static>> = events
                        .by_ref()
                        .map(|(event, _)| event.into_static())
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
                    } else if !is_safe_link(&dest_url) {
                        reader.document.bad_links.push((dest_url.to_string(), line));
                    }
                    without_terms += 1;
                    reader.push(Event::Start(Tag::Link {
                        link_type,
                        dest_url,
                        title,
                        id,
                    }));
                }
                Event::Start(Tag::TableHead) => {
                    without_terms += 1;
                    reader.push(event);
                }
                Event::End(TagEnd::Link | TagEnd::TableHead) => {
                    without_terms = without_terms.saturating_sub(1);
                    reader.push(event);
                }
                Event::Text(text) if without_terms == 0 => {
                    reader.text(&text, extensions.terms.as_mut());
                }
                Event::InlineMath(latex) => reader.math(&latex, false, line),
                Event::DisplayMath(latex) => reader.math(&latex, true, line),
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
                    html::push_html(&mut out, events.iter().map(|event| written(event, base)));
                }
                Part::Heading {
                    level,
                    heading: Heading { id, .. },
                    inside,
                } => {
                    // A heading is its own link.
                    out.push_str(&format!(
                        "<{level} id=\"{id}\"><a class=\"anchor\" href=\"#{id}\">"
                    ));
                    html::push_html(&mut out, inside.iter().map(|event| written(event, base)));
                    out.push_str(&format!("</a></{level}>\n"));
                }
                Part::Block(block) => out.push_str(&render_block(block)),
            }
        }
        out
    }

    /// The text of each section, for the search. Formulas are left out; `block_text` returns the text of a block.
    pub(crate) fn sections(&self, mut block_text: impl FnMut(&B) -> String) -> Vec<Section> {
        let mut sections = vec![Section::default()];
        for part in &self.parts {
            if let Part::Heading { heading, .. } = part
                && matches!(heading.level, 2 | 3)
            {
                sections.push(Section {
                    id: heading.id.clone(),
                    title: heading.text.clone(),
                    text: String::new(),
                });
                continue;
            }
            // The list is never empty.
            let Some(section) = sections.last_mut() else {
                continue;
            };
            match part {
                Part::Prose(events) => push_text(section, events),
                Part::Heading { inside, .. } => push_text(section, inside),
                Part::Block(block) => {
                    section.push(" ");
                    section.push(&block_text(block));
                    section.push(" ");
                }
            }
        }
        sections.retain(|section| !(section.title.is_empty() && section.text.is_empty()));
        sections
    }

    /// The blocks, in order.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &B> {
        self.parts.iter().filter_map(|part| match part {
            Part::Block(block) => Some(block),
            Part::Prose(_) | Part::Heading { .. } => None,
        })
    }
}

fn push_text(section: &mut Section, events: &[Event<'_>]) {
    for event in events {
        match event {
            Event::Text(text) | Event::Code(text) => section.push(text),
            Event::SoftBreak | Event::HardBreak | Event::Html(_) => section.push(" "),
            Event::End(
                TagEnd::Paragraph
                | TagEnd::Item
                | TagEnd::TableCell
                | TagEnd::BlockQuote(_)
                | TagEnd::Heading(_),
            ) => section.push(" "),
            _ => {}
        }
    }
}

/// One line of Markdown as HTML without a paragraph around it: code, emphasis, links.
pub(crate) fn inline(markdown: &str, base: &str) -> String {
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_MATH;
    let events = Parser::new_ext(markdown, options)
        .filter(|event| {
            !matches!(
                event,
                Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph)
            )
        })
        .map(|event| match event {
            Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
            Event::InlineMath(latex) => formula(latex, false),
            Event::DisplayMath(latex) => formula(latex, true),
            event => written(&event, base).into_static(),
        });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

/// A formula, or its source if it cannot be converted.
fn formula(latex: CowStr<'_>, is_display: bool) -> Event<'_> {
    match mathml(&latex, is_display) {
        Ok(html) => Event::InlineHtml(html.into()),
        Err(_) => Event::Code(latex),
    }
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

    /// A text, with links to the glossary entries of the terms that it uses first.
    fn text(&mut self, text: &str, mut terms: Option<&mut TermLinker<'_>>) {
        let mut rest = text;
        while let Some(used) = terms.as_mut().and_then(|terms| terms.next(rest)) {
            let (Some(before), Some(word), Some(after)) = (
                rest.get(..used.start),
                rest.get(used.start..used.end),
                rest.get(used.end..),
            ) else {
                break;
            };
            if !before.is_empty() {
                self.push(Event::Text(before.into()));
            }
            self.push(Event::Start(Tag::Link {
                link_type: LinkType::Inline,
                dest_url: used.href.into(),
                title: used.definition.into(),
                id: "".into(),
            }));
            self.push(Event::Text(word.into()));
            self.push(Event::End(TagEnd::Link));
            rest = after;
        }
        self.push(Event::Text(rest.into()));
    }

    fn math(&mut self, latex: &str, is_display: bool, line: usize) {
        match mathml(latex, is_display) {
            Ok(html) => self.push_static(Event::InlineHtml(html.into())),
            Err(reason) => self.document.bad_math.push((reason, line)),
        }
    }

    /// A heading gets an id.
    fn heading(&mut self, level: HeadingLevel, inside: Vec<Event<'static>>) {
        let text: String = inside
            .iter()
            .filter_map(|event| match event {
                Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
                _ => None,
            })
            .collect();
        let id = self.unique(slug(&text));
        let heading = Heading {
            level: level as u8,
            id,
            text,
        };
        if matches!(level, HeadingLevel::H2 | HeadingLevel::H3) {
            self.document.headings.push(heading.clone());
        }
        self.document.parts.push(Part::Heading {
            level,
            heading,
            inside,
        });
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

/// The same of ASCII letters and digits only, and empty for a text without them. js/search-index.js computes it too.
pub(crate) fn ascii_slug(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
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

/// Whether a link leads to a page, a place on the same page, or a mail address.
fn is_safe_link(target: &str) -> bool {
    match target.split_once(':') {
        // A colon after a slash, a question mark or a hash is a part of the path.
        Some((scheme, _)) if !scheme.contains(['/', '?', '#']) => {
            let known = ["https", "http", "mailto"];
            known.iter().any(|known| scheme.eq_ignore_ascii_case(known))
        }
        _ => true,
    }
}

/// An event as it is written: internal links are written from the root, and a site may live below one.
fn written<'a>(event: &Event<'a>, base: &str) -> Event<'a> {
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
        Event::Text(text) => Event::Text(match unbroken(text) {
            Cow::Borrowed(_) => text.clone(),
            Cow::Owned(text) => text.into(),
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
        Document::parse(markdown, Extensions::default(), |fence| {
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
    fn links_that_run_programs_are_found() {
        for link in ["javascript:alert(1)", "JavaScript:x", "data:text/html,x"] {
            assert!(!is_safe_link(link), "{link}");
        }
        for link in [
            "https://a.example/b:c",
            "mailto:a@b.example",
            "#a:b",
            "/a:b",
            "a/b:c",
            "page",
        ] {
            assert!(is_safe_link(link), "{link}");
        }
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
