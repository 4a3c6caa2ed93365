//! The first-party modules of a file's project: `flash_attn` is a first-party module in flash-attn's repository.
//!
//! As in import sorters, a module is first-party if it is at the root of the project or in a usual source folder below
//! it, or if the project's `setup.py` names it as an extension.

use super::{FileSource, is_repository, join};

/// FileSource at the root of a project.
const MARKS: [&str; 3] = ["setup.py", "pyproject.toml", "setup.cfg"];

/// Folders for the packages of a project.
pub(super) const SOURCE_FOLDERS: [&str; 3] = ["", "src", "python"];

/// Adds the modules of the project with the root `folder`, if it is the root of a project.
pub(super) fn add(files: &dyn FileSource, folder: &str, found: &mut Vec<String>) {
    if !is_project(files, folder) {
        return;
    }
    for place in SOURCE_FOLDERS {
        let place = join(folder, place);
        for name in files.names(&place).iter() {
            if let Some(module) = name.strip_suffix(".py") {
                found.push(module.to_owned());
            } else if is_package(files, &join(&place, name)) {
                found.push(name.clone());
            }
        }
    }
    if let Some(setup) = files.text(&join(folder, "setup.py")) {
        found.extend(extensions(&setup).map(str::to_owned));
    }
}

/// Whether a folder is the root of a project.
pub(super) fn is_project(files: &dyn FileSource, folder: &str) -> bool {
    is_repository(files, folder) || MARKS.iter().any(|name| files.exists(&join(folder, name)))
}

/// Whether a folder is a package, or a namespace of packages; not another project.
fn is_package(files: &dyn FileSource, folder: &str) -> bool {
    let has = |folder: &str, name: &str| files.exists(&join(folder, name));
    let packages = |name: &String| has(&join(folder, name), "__init__.py");
    has(folder, "__init__.py")
        || !MARKS.iter().any(|mark| has(folder, mark)) && files.names(folder).iter().any(packages)
}

/// `name="amp_C"` of a `setup.py`.
fn extensions(setup: &str) -> impl Iterator<Item = &str> {
    setup.split("name=").skip(1).filter_map(|rest| {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        rest.get(1..)?.split(quote).next()
    })
}
