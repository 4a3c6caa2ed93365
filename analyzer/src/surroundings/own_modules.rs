//! Which modules a file's own project holds: what flash-attn's repository imports as `flash_attn` is what it is made of.
//!
//! As import sorters do: a module is the project's when it lies at the project's root or in a usual source folder below it,
//! or when the project's `setup.py` names it as an extension that it builds.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::by_folder::ByFolder;

/// Where projects keep their packages.
const SOURCE_FOLDERS: [&str; 3] = ["", "src", "python"];

/// What was found so far, by folder.
#[derive(Debug, Default)]
pub(super) struct OwnModules(ByFolder<Arc<[String]>>);

impl OwnModules {
    /// The modules of every project that holds `file`, up to its repository's root.
    pub(super) fn of_file(&self, file: &Path) -> Arc<[String]> {
        let folder = fs::canonicalize(file)
            .ok()
            .and_then(|file| Some(file.parent()?.to_owned()));
        folder.map_or_else(Arc::default, |folder| self.of_folder(&folder))
    }

    fn of_folder(&self, folder: &Path) -> Arc<[String]> {
        self.0.answer(folder, || {
            let is_repository = folder.join(".git").exists();
            let is_project = is_repository
                || ["setup.py", "pyproject.toml", "setup.cfg"]
                    .iter()
                    .any(|name| folder.join(name).exists());
            let above = folder.parent().filter(|_| !is_repository);
            let mut found = above.map_or_else(Vec::new, |above| self.of_folder(above).to_vec());
            if is_project {
                found.extend(modules(folder));
            }
            found.into()
        })
    }
}

/// The modules of the project whose root is `folder`.
fn modules(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for place in SOURCE_FOLDERS {
        for entry in fs::read_dir(folder.join(place))
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = entry.path();
            let is_module = path.join("__init__.py").exists()
                || path.extension().is_some_and(|extension| extension == "py");
            found.extend(
                path.file_stem()
                    .filter(|_| is_module)
                    .map(|name| name.to_string_lossy().into_owned()),
            );
        }
    }
    if let Ok(setup) = fs::read_to_string(folder.join("setup.py")) {
        found.extend(extensions(&setup).map(str::to_owned));
    }
    found
}

/// `name="amp_C"` of a `setup.py`.
fn extensions(setup: &str) -> impl Iterator<Item = &str> {
    setup.split("name=").skip(1).filter_map(|rest| {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        rest.get(1..)?.split(quote).next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_belongs_to_the_projects_that_hold_the_file_within_its_repository() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for part in [
            "a/.git",
            "a/flash_attn",
            "a/src/inner",
            "a/docs",
            "a/hopper",
            "a/tests",
            "b",
        ] {
            fs::create_dir_all(path(part)).expect("a folder");
        }
        for (name, text) in [
            ("b.py", ""),
            ("a/flash_attn/__init__.py", ""),
            ("a/src/inner/__init__.py", ""),
            (
                "a/setup.py",
                "CUDAExtension(name=\"flash_attn_2_cuda\", sources=[])",
            ),
            ("a/hopper/setup.py", "setup(name='flash_attn_3')"),
            ("a/hopper/flash_attn_interface.py", ""),
            ("a/tests/test_it.py", ""),
        ] {
            fs::write(path(name), text).expect("a file");
        }
        let modules = OwnModules::default();
        let of = |name: &str| {
            let mut modules = modules.of_file(&path(name)).to_vec();
            modules.sort();
            modules
        };
        let root = ["flash_attn", "flash_attn_2_cuda", "inner", "setup"];
        assert_eq!(of("a/tests/test_it.py"), root);
        let hopper = of("a/hopper/setup.py");
        assert!(root.iter().all(|name| hopper.contains(&(*name).to_owned())));
        assert!(hopper.contains(&"flash_attn_interface".to_owned()));
        assert!(hopper.contains(&"flash_attn_3".to_owned()));
        assert_eq!(of("b.py"), [""; 0]);
    }
}
