//! Which modules a file's own project holds: what flash-attn's repository imports as `flash_attn` is what it is made of.
//!
//! As import sorters do: a module is the project's when it lies at the project's root or in a usual source folder below it,
//! or when the project's `setup.py` names it as an extension that it builds.

use super::{FileSource, is_repository, join};

/// What stands at a project's root.
const MARKS: [&str; 3] = ["setup.py", "pyproject.toml", "setup.cfg"];

/// Where projects keep their packages.
const SOURCE_FOLDERS: [&str; 3] = ["", "src", "python"];

/// Adds the modules of the project whose root is `folder`, if it is one's.
pub(super) fn add(files: &dyn FileSource, folder: &str, found: &mut Vec<String>) {
    let is_project =
        is_repository(files, folder) || MARKS.iter().any(|name| files.exists(&join(folder, name)));
    if !is_project {
        return;
    }
    for place in SOURCE_FOLDERS {
        let place = join(folder, place);
        for name in files.names(&place) {
            if let Some(module) = name.strip_suffix(".py") {
                found.push(module.to_owned());
            } else if files.exists(&join(&join(&place, &name), "__init__.py")) {
                found.push(name);
            }
        }
    }
    if let Some(setup) = files.text(&join(folder, "setup.py")) {
        found.extend(extensions(&setup).map(str::to_owned));
    }
}

/// `name="amp_C"` of a `setup.py`.
fn extensions(setup: &str) -> impl Iterator<Item = &str> {
    setup.split("name=").skip(1).filter_map(|rest| {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        rest.get(1..)?.split(quote).next()
    })
}
