//! The files of lessons, for download: each by itself, and all of one lesson as a zip archive. And the recorded launches,
//! which the page for machine code fetches when a kernel is run.

use crate::content::{Lesson, Part};
use crate::isa::LAUNCHES;
use crate::{Route, Site};
use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::result::ZipResult;
use zip::write::SimpleFileOptions;

/// The folder of the files, below the address of the lesson.
const FOLDER: &str = "files";

impl Site {
    /// Paths of all downloads, below the base: `learn/port/lanes/files/mask/start.py` and `learn/port/lanes/files/lanes.zip`.
    pub fn downloads(&self) -> Vec<String> {
        self.content
            .lessons()
            .flat_map(|(part, lesson)| {
                let folder = folder(part, lesson);
                let names = lesson.files.iter().map(|(name, _)| name.clone());
                let archive = (!lesson.files.is_empty()).then(|| archive_name(lesson));
                names
                    .chain(archive)
                    .map(move |name| format!("{folder}{name}"))
            })
            .chain(self.ops.launches.iter().map(|_| LAUNCHES.to_owned()))
            .collect()
    }

    /// The content of the download at a path below the base.
    pub fn download(&self, path: &str) -> Option<Vec<u8>> {
        if path.trim_start_matches('/') == LAUNCHES {
            let launches = self.ops.launches.as_ref()?;
            return Some(launches.json.clone().into_bytes());
        }
        let mut segments = path.trim_start_matches('/').splitn(5, '/');
        let mut next = || segments.next();
        let (Some("learn"), part, lesson, Some(FOLDER), name) =
            (next(), next()?, next()?, next(), next()?)
        else {
            return None;
        };
        let (_, lesson) = self.content.lesson(part, lesson)?;
        match lesson.files.iter().find(|(file, _)| file == name) {
            Some((_, text)) => Some(text.clone().into_bytes()),
            None if name == archive_name(lesson) && !lesson.files.is_empty() => {
                archive(lesson).ok()
            }
            None => None,
        }
    }
}

/// The address of a file of a lesson.
pub(crate) fn file_href(site: &Site, part: &Part, lesson: &Lesson, name: &str) -> String {
    site.below(&format!("{}{name}", folder(part, lesson)))
}

/// The address of the archive of a lesson.
pub(crate) fn archive_href(site: &Site, part: &Part, lesson: &Lesson) -> String {
    file_href(site, part, lesson, &archive_name(lesson))
}

fn folder(part: &Part, lesson: &Lesson) -> String {
    let page = Route::lesson(part, lesson).path();
    format!("{}{FOLDER}/", page.trim_start_matches('/'))
}

fn archive_name(lesson: &Lesson) -> String {
    format!("{}.zip", lesson.slug)
}

/// The files of a lesson in a folder of its name. The same lesson gives the same bytes.
fn archive(lesson: &Lesson) -> ZipResult<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, text) in &lesson.files {
        zip.start_file(format!("{}/{name}", lesson.slug), options)?;
        zip.write_all(text.as_bytes())?;
    }
    Ok(zip.finish()?.into_inner())
}
