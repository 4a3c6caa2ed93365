//! C++ sources that no build of the project uses: a program beside an extension, the rest of an older version, and the examples
//! of a library that the project contains.

use super::builds::How;
use super::first_party_modules::is_project;
use super::patterns::{Pattern, is_source};
use super::{FileSource, MAX_NEIGHBOURS, ProjectContext, above, below, join, parent};
use hipward_analyzer_core::words::listed;

/// A header of CUTLASS, by which a copy of it is recognized.
const CUTLASS: &str = "include/cutlass/cutlass.h";

/// Folders of programs that show, test or time a library.
const PROGRAMS: &str = "example examples sample samples benchmark benchmarks test tests";

/// Folders of code that a project keeps without using it.
const SET_ASIDE: &str = "stash attic archive archived deprecated obsolete unused";

impl<F: FileSource> ProjectContext<F> {
    /// Whether no build of the project uses the C++ file at `path`.
    pub(super) fn is_unbuilt(&self, path: &str) -> bool {
        self.is_unlisted(path)
            || self.is_example_of_contained_library(path)
            || self.is_in_copy_of_cutlass(path)
            || self.is_set_aside(path)
    }

    /// Whether it is a file of a copy of CUTLASS in another project. CUTLASS has no version for AMD: what counts are the project's
    /// own sources that include it.
    fn is_in_copy_of_cutlass(&self, path: &str) -> bool {
        self.folders_around(path).any(|folder| {
            above(&self.files, folder).is_some() && self.files.exists(&join(folder, CUTLASS))
        })
    }

    /// Whether it is in a folder of its project for unused code, and no build names it.
    fn is_set_aside(&self, path: &str) -> bool {
        let root = self
            .folders_around(path)
            .find(|here| is_project(&self.files, here));
        root.is_some_and(|root| {
            below(path, root)
                .split('/')
                .any(|part| listed(SET_ASIDE, part))
        }) && !self
            .folders_around(path)
            .any(|here| self.names_in(here, path))
    }

    /// Whether a build in a folder names the file at `path`.
    fn names_in(&self, here: &str, path: &str) -> bool {
        let builds = self.builds(here);
        builds.iter().any(|build| build.names(below(path, here)))
    }

    /// Whether builds list sources of its folder by their paths, and neither a build nor an `#include` names this one.
    fn is_unlisted(&self, path: &str) -> bool {
        if !is_source(path) {
            return false;
        }
        let folder = parent(path).unwrap_or_default();
        let names = self.files.names(folder);
        if names.len() > MAX_NEIGHBOURS {
            return false;
        }
        let mut has_listed_neighbour = false;
        for here in self.folders_around(path) {
            for build in self.builds(here).iter() {
                // A CMake project that lists device code by paths compiles no other.
                let is_list = build.cmake.is_some()
                    && build.how == How::AsItStands
                    && (build.sources.iter()).any(|it| it.is_device_code() && it.path().is_some());
                if build.is_general && !is_list || build.names(below(path, here)) {
                    return false;
                }
                let is_listed = |name: &String| {
                    let neighbour = join(folder, name);
                    let mut sources = build.sources.iter().filter(|it| it.path().is_some());
                    sources.any(|source| source.fits(below(&neighbour, here)))
                };
                has_listed_neighbour = has_listed_neighbour || names.iter().any(is_listed);
            }
        }
        has_listed_neighbour
            && !self.is_loaded_beside(path)
            && !self.is_included(path)
            && !names
                .iter()
                .any(|name| self.includes(&join(folder, name), path))
    }

    /// Whether it is in a folder of programs below a folder with a licence of its own, and an extension's build above that
    /// folder does not name it.
    fn is_example_of_contained_library(&self, path: &str) -> bool {
        let has_license = |folder: &str| {
            let names = self.files.names(folder);
            names
                .iter()
                .any(|name| name.starts_with("LICENSE") || name.starts_with("COPYING"))
        };
        let lists = |folder: &str| {
            let builds = self.builds(folder);
            builds.iter().any(|build| {
                build.how == How::Hipified && build.sources.iter().any(Pattern::is_device_code)
            })
        };
        self.folders_around(path).any(|library| {
            let mut parts = below(path, library).split('/');
            parts.any(|part| listed(PROGRAMS, part))
                && has_license(library)
                && self.folders_above(library).any(lists)
                && !self
                    .folders_above(library)
                    .any(|here| self.names_in(here, path))
        })
    }
}
