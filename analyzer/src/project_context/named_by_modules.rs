//! The sources that Python modules anywhere in a project name, for extensions whose `load(**arguments)` is in another module than
//! the list of their sources.

use super::builds::{How, of_python, source_strings};
use super::patterns::Pattern;
use super::{FileSource, MAX_NEIGHBOURS, join};

/// Levels of folders below the root of a project in which modules are read.
const LEVELS: usize = 4;

/// Ways to compile a `.cu` file without hipify. What a module with them names may be compiled so.
const OTHER_COMPILERS: [&str; 5] = ["nvcc\"", "nvcc'", "nvrtc", "RawModule", "SourceModule"];

/// The sources, if a module of the project builds extensions with hipify; otherwise none.
pub(super) fn read(files: &dyn FileSource, root: &str) -> Vec<Pattern> {
    let mut found = Found::default();
    found.add_below(files, root, LEVELS);
    match found.builds {
        true => found.sources,
        false => Vec::new(),
    }
}

#[derive(Default)]
struct Found {
    builds: bool,
    sources: Vec<Pattern>,
}

impl Found {
    fn add_below(&mut self, files: &dyn FileSource, folder: &str, levels: usize) {
        let names = files.names(folder);
        if names.len() > MAX_NEIGHBOURS {
            return;
        }
        for name in names.iter() {
            let path = join(folder, name);
            if name.ends_with(".py") {
                self.add(files.text(&path).as_deref().unwrap_or_default());
            } else if levels > 0 && !name.contains('.') {
                self.add_below(files, &path, levels - 1);
            }
        }
    }

    fn add(&mut self, text: &str) {
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if !self.builds && has(&["cpp_extension"]) {
            let builds = of_python(text, false);
            self.builds = builds.iter().any(|build| build.how == How::Hipified);
        }
        if has(&[".cu\"", ".cu'"]) && !has(&OTHER_COMPILERS) {
            let sources = source_strings(text).into_iter();
            self.sources.extend(sources.filter(Pattern::has_stem));
        }
    }
}
