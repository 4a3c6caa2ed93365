//! The content folder: parts and lessons, reference tables and the glossary, parsed and checked once.
//!
//! Without I/O: the input is text, the result a [`Content`], or a [`ContentError`] with the place and what to do.

pub(crate) mod block;
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
pub(crate) mod transcript;
pub(crate) mod written;

pub use error::{ContentError, Mistake};
pub use ops::Ops;
pub(crate) use order::Kind;
pub use order::ReadingPath;

use block::Block;
use document::{Document, Extensions};
use glossary::Glossary;
use hipward_analyzer::RULES;
use reference::{RULE_COLUMN, Reference};
use results::Results;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use source::{Files, Folder};

/// A parsed content folder.
#[derive(Clone, Debug, Default)]
pub struct Content {
    pub(crate) parts: Vec<Part>,
    pub(crate) references: Vec<Reference>,
    pub(crate) glossary: Option<Glossary>,
    pub(crate) results: Results,
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
    /// What a lesson of this part is called elsewhere: `port/device-abstraction`.
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
    /// The one idea of the page.
    #[serde(default)]
    pub(crate) teaches: String,
    /// Reading paths that the page is on.
    #[serde(default)]
    pub(crate) paths: Vec<ReadingPath>,
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
    /// Parses a content folder, given as paths (below it, with `/`) and texts.
    pub fn parse(
        files: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Content, ContentError> {
        let files: Files = files.into_iter().collect();
        let results = match files.get("results.csv") {
            Some(csv) => {
                Results::parse(csv).map_err(|(mistake, line)| mistake.at("results.csv", line))?
            }
            None => Results::default(),
        };
        let glossary_path = format!("reference/{}.toml", glossary::SLUG);
        let glossary = match files.get(&glossary_path) {
            Some(text) => Some(Glossary::parse(&glossary_path, text)?),
            None => None,
        };
        let shared = Shared {
            files: &files,
            results: &results,
            glossary: glossary.as_ref(),
        };
        let mut parts: Vec<Part> = Vec::new();
        for (path, text) in &files {
            let Some(folder) = path.strip_suffix("/lesson.md") else {
                continue;
            };
            let (part_folder, lesson_folder) = folder
                .split_once('/')
                .ok_or_else(|| Mistake::NoNumber(folder.to_owned()).at(path, 1))?;
            let slug = without_number(part_folder, path)?;
            if parts.last().is_none_or(|part| part.slug != slug) {
                if parts.iter().any(|part| part.slug == slug) {
                    return Err(Mistake::Twice(slug).at(path, 1));
                }
                parts.push(Part::parse(&files, part_folder, slug)?);
            }
            let lesson_slug = without_number(lesson_folder, path)?;
            let lesson = Lesson::parse(&shared, path, lesson_slug, text)?;
            // The line above leaves at least one part.
            if let Some(part) = parts.last_mut() {
                if part.lessons.iter().any(|other| other.slug == lesson.slug) {
                    return Err(Mistake::Twice(lesson.slug).at(path, 1));
                }
                part.lessons.push(lesson);
            }
        }
        let mut references = Vec::new();
        for (path, text) in &files {
            let name = path
                .strip_prefix("reference/")
                .and_then(|name| name.strip_suffix(".toml"));
            if let Some(slug) = name.filter(|slug| ![glossary::SLUG, "coverage"].contains(slug)) {
                references.push(Reference::parse(path, slug, text)?);
            }
        }
        let content = Content {
            parts,
            references,
            glossary,
            results,
        };
        content.check_references()?;
        Ok(content)
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
    fn check_references(&self) -> Result<(), ContentError> {
        for (_, lesson) in self.lessons() {
            for wanted in &lesson.meta.prerequisites {
                if self.lesson_at(wanted).is_none() {
                    return Err(Mistake::NoLesson(wanted.clone()).at(&lesson.path, 1));
                }
            }
            for (link, line) in &lesson.body.links {
                if !self.has_page(link) {
                    return Err(Mistake::DeadLink(link.clone()).at(&lesson.path, *line));
                }
            }
        }
        for term in self.glossary.iter().flat_map(|glossary| &glossary.terms) {
            let link = term.link.iter().find(|link| link.starts_with('/'));
            if let Some(link) = link.filter(|link| !self.has_page(link)) {
                let path = format!("reference/{}.toml", glossary::SLUG);
                return Err(Mistake::DeadLink(link.clone()).at(&path, 1));
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
            let unknown = table.rows.iter().map(|row| &row[column]).find(|name| {
                !name.is_empty() && !RULES.iter().any(|rule| rule.name == name.as_str())
            });
            if let Some(name) = unknown {
                let path = format!("reference/{}.toml", table.slug);
                return Err(Mistake::NoRule(name.clone()).at(&path, 1));
            }
        }
        Ok(())
    }

    fn has_page(&self, link: &str) -> bool {
        let path = link.split(['#', '?']).next().unwrap_or_default();
        let segments: Vec<&str> = path.split('/').filter(|s| !s.is_empty()).collect();
        match segments.as_slice() {
            []
            | ["playground" | "benchmark" | "isa" | "rules" | "ops" | "models" | "reference"] => {
                true
            }
            ["reference", glossary::SLUG] => self.glossary.is_some(),
            ["reference", slug] => self.reference(slug).is_some(),
            ["ops", _] => true,
            ["learn", path] => ReadingPath::from_slug(path).is_some_and(|path| self.is_on(path)),
            ["rules", name] => RULES.iter().any(|rule| rule.name == *name),
            ["learn", part, lesson] => self.lesson(part, lesson).is_some(),
            _ => false,
        }
    }
}

impl Part {
    fn parse(files: &Files, folder: &str, slug: String) -> Result<Self, ContentError> {
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
}

/// What the parsing of each lesson refers to.
struct Shared<'a> {
    files: &'a Files,
    results: &'a Results,
    glossary: Option<&'a Glossary>,
}

impl Lesson {
    fn parse(
        shared: &Shared<'_>,
        path: &str,
        slug: String,
        text: &str,
    ) -> Result<Self, ContentError> {
        let (front, markdown) = text
            .strip_prefix("+++\n")
            .and_then(|rest| rest.split_once("\n+++\n"))
            .ok_or_else(|| Mistake::NoFrontMatter.at(path, 1))?;
        let meta = read_toml(front, path, 2)?;
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
        let mut body = Document::parse(markdown, extensions, |fence| block::read(&fence, &around))?;
        if let Some(line) = body.titles.first() {
            return Err(Mistake::SecondTitle.at(path, line + offset));
        }
        if let Some(line) = body.html.first() {
            return Err(Mistake::Html.at(path, line + offset));
        }
        if let Some((reason, line)) = body.bad_math.first() {
            return Err(Mistake::Math(reason.clone()).at(path, line + offset));
        }
        for (_, line) in &mut body.links {
            *line += offset;
        }
        Ok(Lesson {
            path: path.to_owned(),
            slug,
            meta,
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
) -> Result<T, ContentError> {
    toml::from_str(text).map_err(|error| {
        let lines_before = error
            .span()
            .and_then(|span| text.get(..span.start))
            .map_or(0, |before| before.matches('\n').count());
        Mistake::Toml(error.message().to_owned()).at(file, first_line + lines_before)
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
