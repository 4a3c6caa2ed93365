//! The content folder: parts and lessons, reference tables and the glossary, parsed and checked once.
//!
//! No I/O and no HTML pages here: text goes in, [`Content`] comes out, or [`ContentErrors`]
//! with file, line and what to do.

pub(crate) mod block;
pub(crate) mod claims;
pub(crate) mod csv;
pub(crate) mod document;
mod error;
pub(crate) mod figure;
pub(crate) mod glossary;
mod gpu_table;
pub(crate) mod highlight;
mod math;
pub(crate) mod models;
pub(crate) mod ops;
mod order;
pub(crate) mod question;
pub(crate) mod reference;
pub(crate) mod results;
mod source;
mod toml_mistakes;
pub(crate) mod transcript;
mod units;
pub(crate) mod written;

pub use error::{ContentError, ContentErrors, Mistake};
pub use ops::Ops;
pub(crate) use order::Kind;
pub use order::ReadingPath;

use block::Block;
use claims::Claims;
use document::{Document, Extensions};
use glossary::Glossary;
use hipward_analyzer::RULES;
use reference::{RULE_COLUMN, Reference};
use results::Results;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use source::{Files, Folder};
use std::convert::Infallible;

/// A parsed content folder.
#[derive(Clone, Debug, Default)]
pub struct Content {
    pub(crate) parts: Vec<Part>,
    pub(crate) references: Vec<Reference>,
    pub(crate) glossary: Option<Glossary>,
    pub(crate) claims: Option<Claims>,
    pub(crate) results: Results,
    /// Lessons, as `part/lesson`, and reference tables, as `reference/table`, that could not be parsed. Links to
    /// them are not broken.
    unparsed: Vec<String>,
}

/// A group of lessons.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) slug: String,
    pub(crate) title: String,
    pub(crate) summary: String,
    pub(crate) kind: Kind,
    pub(crate) lessons: Vec<Lesson>,
}

impl Part {
    /// Address of a lesson of this part: `port/device-abstraction`.
    pub(crate) fn address(&self, lesson: &Lesson) -> String {
        format!("{}/{}", self.slug, lesson.slug)
    }
}

/// One lesson.
#[derive(Clone, Debug)]
pub(crate) struct Lesson {
    /// Its file, for error messages.
    path: String,
    pub(crate) slug: String,
    pub(crate) meta: FrontMatter,
    pub(crate) body: Document<Block>,
    /// Names and texts of the files that readers can download.
    pub(crate) files: Vec<(String, String)>,
}

/// The TOML at the top of a lesson.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FrontMatter {
    pub(crate) title: String,
    pub(crate) summary: String,
    /// Reading time.
    pub(crate) minutes: u32,
    /// What the reader can do afterwards.
    pub(crate) goal: String,
    /// Lessons to read before, as `part/lesson`.
    #[serde(default)]
    pub(crate) prerequisites: Vec<String>,
    /// Versions that the page was checked with.
    #[serde(default)]
    pub(crate) checked: Vec<String>,
    /// Day of the last check: `2026-11-23`.
    #[serde(default)]
    pub(crate) checked_on: String,
    /// The one idea of the page.
    #[serde(default)]
    pub(crate) teaches: String,
    /// Reading paths that the page is on.
    #[serde(default)]
    pub(crate) paths: Vec<ReadingPath>,
    /// Words and phrases that readers search for and for which this page is the best answer.
    #[serde(default)]
    pub(crate) keywords: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartFile {
    title: String,
    summary: String,
    #[serde(default)]
    kind: Kind,
}

impl Content {
    /// Parses a content folder, passed as paths (below it, with `/`) and texts.
    ///
    /// # Errors
    ///
    /// All errors of the folder.
    pub fn parse(
        files: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Content, ContentErrors> {
        match Content::parse_with_errors(files) {
            (content, errors) if errors.is_empty() => Ok(content),
            (_, errors) => Err(ContentErrors(errors)),
        }
    }

    /// Parses a content folder. Returns what could be parsed, and all errors in the order of files and lines.
    pub fn parse_with_errors(
        files: impl IntoIterator<Item = (String, String)>,
    ) -> (Content, Vec<ContentError>) {
        let files: Files = files.into_iter().collect();
        let mut content = Content::default();
        let mut errors = Vec::new();
        if let Some(csv) = files.get("results.csv") {
            match Results::parse(csv) {
                Ok(results) => content.results = results,
                Err((mistake, line)) => errors.push(mistake.at("results.csv", line)),
            }
        }
        let results_are_valid = errors.is_empty();
        let glossary = format!("reference/{}.toml", glossary::SLUG);
        if let Some(text) = files.get(&glossary) {
            let parsed = Glossary::parse(&glossary, text);
            content.glossary = content.parsed(glossary::SLUG, parsed, &mut errors);
        }
        for (path, text) in &files {
            if let Some(folder) = path.strip_suffix("/lesson.md")
                && let Err(found) = content.add_lesson(&files, path, folder, text, &mut errors)
            {
                errors.extend(found);
            }
            let name = path
                .strip_prefix("reference/")
                .and_then(|name| name.strip_suffix(".toml"));
            match name {
                // The glossary was parsed before the lessons, which link to it.
                None | Some(glossary::SLUG | "coverage") => {}
                Some(claims::SLUG) => {
                    let parsed = Claims::parse(path, text);
                    content.claims = content.parsed(claims::SLUG, parsed, &mut errors);
                }
                Some(slug) => {
                    let parsed = Reference::parse(path, slug, text);
                    let table = content.parsed(slug, parsed, &mut errors);
                    content.references.extend(table);
                }
            }
        }
        content.check_references(&mut errors);
        // They follow from the error in the results file.
        errors.retain(|error| results_are_valid || !matches!(error.mistake, Mistake::NoResult(_)));
        errors.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        (content, errors)
    }

    /// Parses one lesson, and its part before the first lesson of it. Errors that leave the lesson usable are added
    /// to `errors`.
    fn add_lesson(
        &mut self,
        files: &Files,
        path: &str,
        folder: &str,
        text: &str,
        errors: &mut Vec<ContentError>,
    ) -> Result<(), Vec<ContentError>> {
        let (part_folder, lesson_folder) = folder
            .split_once('/')
            .ok_or_else(|| Mistake::NoNumber(folder.to_owned()).at(path, 1))?;
        let slug = without_number(part_folder, path)?;
        if self.parts.last().is_none_or(|part| part.slug != slug) {
            if self.parts.iter().any(|part| part.slug == slug) {
                return Err(Mistake::Twice(slug).at(path, 1).into());
            }
            let part = Part::parse(files, part_folder, slug.clone()).unwrap_or_else(|found| {
                errors.extend(found);
                Part::untitled(slug)
            });
            self.parts.push(part);
        }
        let slug = without_number(lesson_folder, path)?;
        // The lines above leave at least one part.
        let Some(part) = self.parts.last_mut() else {
            return Ok(());
        };
        if part.lessons.iter().any(|other| other.slug == slug) {
            return Err(Mistake::Twice(slug).at(path, 1).into());
        }
        let shared = Shared {
            files,
            results: &self.results,
            glossary: self.glossary.as_ref(),
        };
        match Lesson::parse(&shared, path, slug.clone(), text, errors) {
            Ok(lesson) => part.lessons.push(lesson),
            Err(found) => {
                self.unparsed.push(format!("{}/{slug}", part.slug));
                return Err(found);
            }
        }
        Ok(())
    }

    /// Every lesson with its part, in reading order.
    pub(crate) fn lessons(&self) -> impl Iterator<Item = (&Part, &Lesson)> {
        self.parts
            .iter()
            .flat_map(|part| part.lessons.iter().map(move |lesson| (part, lesson)))
    }

    /// A lesson by the two names in its address.
    pub(crate) fn lesson(&self, part: &str, lesson: &str) -> Option<(&Part, &Lesson)> {
        self.lessons()
            .find(|(p, l)| p.slug == part && l.slug == lesson)
    }

    /// A lesson by `part/lesson`.
    pub(crate) fn lesson_at(&self, reference: &str) -> Option<(&Part, &Lesson)> {
        let (part, lesson) = reference.split_once('/')?;
        self.lesson(part, lesson)
    }

    /// A parsed reference page. If it has an error, this is reported, and links to the page are not.
    fn parsed<T>(
        &mut self,
        slug: &str,
        parsed: Result<T, Vec<ContentError>>,
        errors: &mut Vec<ContentError>,
    ) -> Option<T> {
        parsed
            .inspect_err(|_| self.unparsed.push(format!("reference/{slug}")))
            .map_err(|found| errors.extend(found))
            .ok()
    }

    /// The names of the reference pages.
    pub(crate) fn reference_slugs(&self) -> impl Iterator<Item = &str> {
        let glossary = self.glossary.iter().map(|_| glossary::SLUG);
        let claims = self.claims.iter().map(|_| claims::SLUG);
        let tables = self.references.iter().map(|table| table.slug.as_str());
        glossary.chain(claims).chain(tables)
    }

    /// Whether a reading path has a page.
    pub(crate) fn is_on(&self, path: ReadingPath) -> bool {
        self.lessons()
            .any(|(_, lesson)| lesson.meta.paths.contains(&path))
    }

    /// A reference table by the name in its address.
    pub(crate) fn reference(&self, slug: &str) -> Option<&Reference> {
        self.references.iter().find(|table| table.slug == slug)
    }

    /// References between pages can only be checked once all pages are known.
    fn check_references(&self, errors: &mut Vec<ContentError>) {
        for (_, lesson) in self.lessons() {
            for wanted in &lesson.meta.prerequisites {
                if self.lesson_at(wanted).is_none() && !self.unparsed.contains(wanted) {
                    errors.push(Mistake::NoLesson(wanted.clone()).at(&lesson.path, 1));
                }
            }
            for (link, line) in &lesson.body.links {
                if !self.has_page(link) {
                    errors.push(Mistake::DeadLink(link.clone()).at(&lesson.path, *line));
                }
            }
        }
        for term in self.glossary.iter().flat_map(|glossary| &glossary.terms) {
            let link = term.link.iter().find(|link| link.starts_with('/'));
            if let Some(link) = link.filter(|link| !self.has_page(link)) {
                let path = format!("reference/{}.toml", glossary::SLUG);
                errors.push(Mistake::DeadLink(link.clone()).at(&path, 1));
            }
        }
        for claim in self.claims.iter().flat_map(|claims| &claims.list) {
            let link = format!("/learn/{}/", claim.lesson);
            if !self.has_page(&link) {
                let path = format!("reference/{}.toml", claims::SLUG);
                errors.push(Mistake::DeadLink(link).at(&path, 1));
            }
        }
        for table in &self.references {
            let Some(column) = table
                .columns
                .iter()
                .position(|column| column == RULE_COLUMN)
            else {
                continue;
            };
            let path = format!("reference/{}.toml", table.slug);
            for name in table.rows.iter().map(|row| &row[column]) {
                if !name.is_empty() && !RULES.iter().any(|rule| rule.name == name.as_str()) {
                    errors.push(Mistake::NoRule(name.clone()).at(&path, 1));
                }
            }
        }
    }

    fn has_page(&self, link: &str) -> bool {
        let path = link.split(['#', '?']).next().unwrap_or_default();
        let segments: Vec<&str> = path.split('/').filter(|s| !s.is_empty()).collect();
        match segments.as_slice() {
            []
            | ["playground" | "benchmark" | "isa" | "rules" | "ops" | "models" | "reference"] => {
                true
            }
            ["reference", slug] => {
                self.reference_slugs().any(|one| one == *slug)
                    || self.unparsed.contains(&format!("reference/{slug}"))
            }
            // The ops are parsed separately; a test of the whole site follows these links.
            ["ops", _] => true,
            ["learn", path] => ReadingPath::from_slug(path).is_some_and(|path| self.is_on(path)),
            ["rules", name] => RULES.iter().any(|rule| rule.name == *name),
            ["learn", part, lesson] => {
                self.lesson(part, lesson).is_some()
                    || self.unparsed.contains(&format!("{part}/{lesson}"))
            }
            _ => false,
        }
    }
}

impl Part {
    fn parse(files: &Files, folder: &str, slug: String) -> Result<Self, Vec<ContentError>> {
        let path = format!("{folder}/part.toml");
        let text = files
            .get(&path)
            .ok_or_else(|| Mistake::NoPart.at(&path, 1))?;
        let file: PartFile = read_toml(text, &path, 1)?;
        Ok(Part {
            slug,
            title: file.title,
            summary: file.summary,
            kind: file.kind,
            lessons: Vec::new(),
        })
    }

    /// A part whose `part.toml` is missing or invalid.
    fn untitled(slug: String) -> Self {
        Part {
            title: slug.clone(),
            slug,
            summary: String::new(),
            kind: Kind::default(),
            lessons: Vec::new(),
        }
    }
}

/// Context for parsing lessons.
struct Shared<'a> {
    files: &'a Files,
    results: &'a Results,
    glossary: Option<&'a Glossary>,
}

impl Lesson {
    /// Parses a lesson. Errors after the front matter are added to `errors`; those of the front matter are returned.
    fn parse(
        shared: &Shared<'_>,
        path: &str,
        slug: String,
        text: &str,
        errors: &mut Vec<ContentError>,
    ) -> Result<Self, Vec<ContentError>> {
        let (front, markdown) = text
            .strip_prefix("+++\n")
            .and_then(|rest| rest.split_once("\n+++\n"))
            .ok_or_else(|| Mistake::NoFrontMatter.at(path, 1))?;
        // Errors of the front matter and of the text are reported together.
        let meta = read_toml(front, path, 2);
        let offset = text[..text.len() - markdown.len()].matches('\n').count();
        let around = block::Around {
            folder: Folder {
                files: shared.files,
                path: path.trim_end_matches("/lesson.md"),
            },
            results: shared.results,
            path,
            offset,
        };
        let extensions = Extensions {
            math: true,
            terms: shared.glossary.map(Glossary::linker),
        };
        let mut body = Document::parse(markdown, extensions, |fence| {
            let block = block::read(&fence, &around).unwrap_or_else(|found| {
                errors.extend(found);
                Block::Code(block::plain(&fence))
            });
            Ok::<_, Infallible>(block)
        })
        .unwrap_or_else(|never| match never {});
        let titles = body.titles.iter().map(|line| (Mistake::SecondTitle, line));
        let html = body.html.iter().map(|line| (Mistake::Html, line));
        let links = body.bad_links.iter();
        let links = links.map(|(link, line)| (Mistake::LinkScheme(link.clone()), line));
        let math = body.bad_math.iter();
        let math = math.map(|(reason, line)| (Mistake::Math(reason.clone()), line));
        errors.extend(
            titles
                .chain(html)
                .chain(links)
                .chain(math)
                .map(|(mistake, line)| mistake.at(path, line + offset)),
        );
        for (_, line) in &mut body.links {
            *line += offset;
        }
        Ok(Lesson {
            path: path.to_owned(),
            slug,
            meta: meta?,
            body,
            files: around.folder.downloads(),
        })
    }
}

/// Reads TOML that begins on line `first_line` of `file`.
fn read_toml<T: DeserializeOwned>(
    text: &str,
    file: &str,
    first_line: usize,
) -> Result<T, Vec<ContentError>> {
    toml_mistakes::read(text).map_err(|mistakes| {
        let errors = mistakes
            .into_iter()
            .map(|found| Mistake::Toml(found.message).at(file, first_line + found.line));
        errors.collect()
    })
}

/// `01-port` → `(1, "port")`.
fn numbered(folder: &str) -> Option<(u32, &str)> {
    let (number, slug) = folder.split_once('-')?;
    Some((number.parse().ok()?, slug))
}

fn without_number(folder: &str, path: &str) -> Result<String, ContentError> {
    numbered(folder)
        .map(|(_, slug)| slug.to_owned())
        .ok_or_else(|| Mistake::NoNumber(folder.to_owned()).at(path, 1))
}

/// FNV-1a hash of a text, in hexadecimal.
fn fingerprint(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
