//! Functions and constants of a project's Python modules that are false on AMD, because they need `torch.version.cuda`:
//! `utils.is_nvidia`. Other modules import them and use them as gates.

use std::sync::Arc;

use super::first_party_modules::{SOURCE_FOLDERS, is_project};
use super::{FileSource, join};
use hipward_analyzer_core::Target;
use hipward_analyzer_python::semantic::{Semantics, false_without_cuda};
use hipward_analyzer_python::syntax::{LastParse, parse};

/// Words in the names of modules that contain such functions. Not every module is read.
const MODULES: [&str; 12] = [
    "util", "device", "platform", "cuda", "gpu", "env", "compat", "common", "hardware", "version",
    "torch", "misc",
];

/// Adds those of the modules in a folder, in its `utils`, and in the packages below it, if it is the root of a project:
/// `acme.utils.is_nvidia` by the module's folder, and `.utils.is_nvidia` for imports that are relative to a folder around the
/// file. The nearest module of a name counts. `modules_of` is [`modules`], with a cache.
pub(super) fn add(
    files: &dyn FileSource,
    folder: &str,
    modules_of: &dyn Fn(&str) -> Arc<Vec<Module>>,
    found: &mut Vec<String>,
) {
    let is_root = is_project(files, folder);
    for place in SOURCE_FOLDERS.iter().filter(|_| is_root) {
        let place = join(folder, place);
        for name in files.names(&place).iter() {
            let package = join(&place, name);
            if files.exists(&join(&package, "__init__.py")) {
                for module in &*modules_of(&package) {
                    module.add_to(found, &module.package);
                }
            }
        }
    }
    for module in &*modules_of(folder) {
        found.retain(|known| {
            let rest = known
                .strip_prefix('.')
                .and_then(|known| known.strip_prefix(&*module.name));
            !rest.is_some_and(|rest| rest.starts_with('.'))
        });
        module.add_to(found, "");
        module.add_to(found, &module.package);
    }
}

/// A module with its names that are false on AMD.
#[derive(Debug)]
pub(super) struct Module {
    /// The name of its folder.
    package: String,
    name: String,
    names: Vec<String>,
}

impl Module {
    fn new(files: &dyn FileSource, folder: &str, name: &str, file: &str) -> Module {
        Module {
            package: folder.rsplit('/').next().unwrap_or(folder).to_owned(),
            name: name.to_owned(),
            names: names_in(files, &join(folder, file)),
        }
    }

    fn add_to(&self, found: &mut Vec<String>, package: &str) {
        for name in &self.names {
            let name = format!("{package}.{}.{name}", self.name);
            if !found.contains(&name) {
                found.push(name);
            }
        }
    }
}

/// The modules of a folder, and of its `utils`.
pub(super) fn modules(files: &dyn FileSource, folder: &str) -> Vec<Module> {
    let mut found = Vec::new();
    for name in files.names(folder).iter() {
        if name == "utils" {
            found.push(Module::new(files, folder, name, "utils/__init__.py"));
            let utils = join(folder, name);
            for name in files.names(&utils).iter() {
                found.extend(of_file(files, &utils, name));
            }
        } else {
            found.extend(of_file(files, folder, name));
        }
    }
    found
}

fn of_file(files: &dyn FileSource, folder: &str, file: &str) -> Option<Module> {
    let name = file.strip_suffix(".py")?;
    let may_have_gates = MODULES.iter().any(|word| name.contains(word));
    may_have_gates.then(|| Module::new(files, folder, name, file))
}

fn names_in(files: &dyn FileSource, path: &str) -> Vec<String> {
    let text = files
        .text(path)
        .filter(|text| text.contains("version.cuda"));
    let Some(text) = text else { return Vec::new() };
    let Some(tree) = parse(&text, &mut LastParse::default()) else {
        return Vec::new();
    };
    let semantics = Semantics::new(tree, Target::default());
    let names = false_without_cuda(&semantics);
    names.into_iter().map(str::to_owned).collect()
}
