//! The newest releases of libraries that the requirements of a project allow, as `transformers 4.36`. Rules about what a later
//! release removed do not apply then.

use super::{FileSource, MAX_NEIGHBOURS, join};
use hipward_analyzer_core::Language;
use hipward_analyzer_python::rules::releases::removed_library_api::LIMITED;

/// A folder that projects have for requirements files.
const FOLDER: &str = "requirements";

/// Adds the limits in the files of a folder, each once.
pub(super) fn add(files: &dyn FileSource, folder: &str, found: &mut Vec<String>) {
    let below = join(folder, FOLDER);
    for place in [folder, &below] {
        let names = files.names(place);
        if names.len() > MAX_NEIGHBOURS {
            continue;
        }
        for name in names.iter() {
            let path = join(place, name);
            let Some(language) = language(&path) else {
                continue;
            };
            let text = files.text(&path);
            let limits = text.map_or_else(Vec::new, |text| {
                hipward_analyzer_files::release_limits(&text, language)
            });
            for (library, newest) in limits {
                let limit = format!("{library} {newest}");
                if LIMITED.contains(&&*library) && !found.contains(&limit) {
                    found.push(limit);
                }
            }
        }
    }
}

/// The language of a file with requirements. Lock files only repeat the others; a document may name other releases.
fn language(path: &str) -> Option<Language> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match Language::of_path(path)? {
        Language::Pyproject if name.ends_with(".lock") => None,
        Language::Yaml if !name.starts_with("env") && !name.starts_with("conda") => None,
        language @ (Language::Requirements | Language::Pyproject | Language::Yaml) => {
            Some(language)
        }
        _ => None,
    }
}
