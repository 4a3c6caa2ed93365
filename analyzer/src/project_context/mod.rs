//! The project context of a file: whether its build runs hipify or a header defines HIP names, the first-party modules
//! of its project, and whether AMD hosts use the file.
//!
//! The caller provides access to the files ([`FileSource`]): on a disk, or in a request. Independent of the rules.

mod amd_sibling;
mod builds;
mod by_path;
mod false_on_amd;
mod first_party_modules;
mod folder_cache;
mod hip_alias_header;
mod imports_torch;
mod in_memory;
mod included_requirements;
mod named_by_modules;
mod optional_modules;
mod patterns;
mod release_limits;
mod saved_arguments;
mod unbuilt;
mod unset_switches;

use std::borrow::Cow;
use std::sync::Arc;

use crate::analysis::Options;
use builds::{Build, Cmake, How};
use false_on_amd::Module;
use folder_cache::FolderCache;
use hip_alias_header::Header;
use hipward_analyzer_core::Language;
use hipward_analyzer_core::words::listed;
use patterns::{Pattern, is_source};

pub(crate) use in_memory::InMemoryFiles;
pub use included_requirements::included_requirements;

/// Files below one root. Paths are relative to it, with `/` between their parts; the root itself is empty.
pub trait FileSource {
    /// The names of the files and folders in a folder. Many files ask for those of the same folders.
    fn names(&self, folder: &str) -> Arc<Vec<String>>;

    /// Whether a file or folder exists.
    fn exists(&self, path: &str) -> bool;

    /// The content of a file, if it can be read.
    fn text(&self, path: &str) -> Option<Cow<'_, str>>;
}

/// The maximum number of files in a folder in which those that include a header are searched: each header reads them all.
const MAX_NEIGHBOURS: usize = 500;

/// Results about files, cached by folder because many files share them.
#[derive(Debug, Default)]
pub struct ProjectContext<F> {
    files: F,
    builds: FolderCache<Arc<Vec<Build>>>,
    named_by_modules: FolderCache<Arc<Vec<Pattern>>>,
    first_party_modules: FolderCache<Arc<Vec<String>>>,
    false_on_amd: FolderCache<Arc<String>>,
    gate_modules: FolderCache<Arc<Vec<Module>>>,
    optional_modules: FolderCache<Arc<String>>,
    unmarked: FolderCache<Arc<Vec<String>>>,
    headers: FolderCache<Arc<Header>>,
    named_switches: FolderCache<Arc<unset_switches::Named>>,
    saved_with_arguments: FolderCache<Arc<Vec<String>>>,
    release_limits: FolderCache<Arc<Vec<String>>>,
    imports_torch: FolderCache<bool>,
}

/// What a C++ file gets from the headers of its project.
#[derive(Debug, Default)]
pub struct HeaderContext {
    /// Whether one of them defines CUDA names as HIP names, and PyTorch's hipify does not convert the file.
    pub has_hip_names: bool,
    /// The macros that they define for AMD, separated by spaces.
    pub amd_macros: String,
}

impl<F: FileSource> ProjectContext<F> {
    /// Creates an empty cache.
    pub fn new(files: F) -> Self {
        ProjectContext {
            files,
            builds: FolderCache::default(),
            named_by_modules: FolderCache::default(),
            first_party_modules: FolderCache::default(),
            false_on_amd: FolderCache::default(),
            gate_modules: FolderCache::default(),
            optional_modules: FolderCache::default(),
            unmarked: FolderCache::default(),
            headers: FolderCache::default(),
            named_switches: FolderCache::default(),
            saved_with_arguments: FolderCache::default(),
            release_limits: FolderCache::default(),
            imports_torch: FolderCache::default(),
        }
    }

    /// The files that results are searched in.
    pub fn files(&self) -> &F {
        &self.files
    }

    /// Whether hipify converts a C++ file when it is built, as in a PyTorch extension. `None` if no build file answers
    /// this.
    ///
    /// The nearest folder with a build file that names the source decides. Otherwise it is the nearest folder with a build
    /// that applies to all files below it. If only one of several builds runs hipify, the names stay CUDA's for it, except
    /// in a source that none of them names. A `setup.py` above them that lists the source by its path counts more than a
    /// CMake file, which is there for development.
    pub fn pytorch_extension(&self, path: &str) -> Option<bool> {
        let mut general = None;
        for here in self.folders_around(path) {
            let builds = self.builds(here);
            let mut named = builds
                .iter()
                .filter(|build| build.names(below(path, here)))
                .peekable();
            let is_for_headers =
                |build: &Build| build.how == How::Hipified && build.speaks_for(path);
            if named.peek().is_some() {
                return Some(
                    named.any(|build| {
                        build.how == How::Hipified
                            || build.cmake == Some(Cmake::Part) && self.is_hipified_above(here)
                    }) || !is_source(path) && builds.iter().any(is_for_headers)
                        || self.is_listed_above(path, here),
                );
            }
            let mut speaks = builds
                .iter()
                .filter(|build| build.speaks_for(path))
                .peekable();
            if general.is_none() && speaks.peek().is_some() {
                general = Some(match is_source(path) {
                    true => speaks.all(|build| build.how == How::Hipified),
                    false => builds.iter().any(is_for_headers),
                });
            }
        }
        match general {
            Some(is_hipified) => Some(is_hipified || self.is_listed_above(path, path)),
            None => {
                let is_hipified = self.is_loaded_beside(path)
                    || self.is_included(path)
                    || self.is_moved(path)
                    || self.is_named_by_module(path);
                is_hipified.then_some(true)
            }
        }
    }

    /// Whether a source that a build with hipify lists includes the source: hipify follows it.
    fn is_included(&self, path: &str) -> bool {
        is_source(path)
            && self.folders_around(path).any(|here| {
                let mut listed = self.hipified_sources(here).into_iter().take(MAX_NEIGHBOURS);
                listed.any(|source| self.includes(&source, path))
            })
    }

    /// Whether a build with hipify lists a source of this name in a folder where it is not.
    fn is_moved(&self, path: &str) -> bool {
        let name = path.rsplit('/').next();
        is_source(path)
            && self.folders_around(path).any(|here| {
                let mut listed = self.hipified_sources(here).into_iter();
                listed
                    .any(|source| source.rsplit('/').next() == name && !self.files.exists(&source))
            })
    }

    /// The sources that builds with hipify in a folder list by their path.
    fn hipified_sources(&self, here: &str) -> Vec<String> {
        let builds = self.builds(here);
        let hipified = builds.iter().filter(|build| build.how == How::Hipified);
        let listed = hipified.flat_map(|build| build.sources.iter().filter_map(Pattern::path));
        listed.map(|source| join(here, source)).collect()
    }

    /// Whether the builds that name a C++ source do so only in code that does not run on AMD, or all device code beside a
    /// header.
    fn is_not_for_amd(&self, path: &str) -> bool {
        if !is_source(path) {
            let folder = parent(path).unwrap_or_default();
            let names = self.files.names(folder);
            let mut sources = names.iter().filter(|name| name.ends_with(".cu")).peekable();
            return sources.peek().is_some()
                && sources.all(|name| self.is_not_for_amd(&join(folder, name)));
        }
        self.folders_around(path)
            .find_map(|here| {
                let builds = self.builds(here);
                let mut named = builds
                    .iter()
                    .filter(|build| build.names(below(path, here)))
                    .peekable();
                named.peek()?;
                let is_left_out = named.clone().any(|build| build.how == How::NotForAmd);
                Some(is_left_out && named.all(|build| build.how != How::AsItStands))
            })
            .unwrap_or(false)
    }

    /// Whether a build above a folder runs hipify and lists the source by its path, or sources around the header.
    fn is_listed_above(&self, path: &str, folder: &str) -> bool {
        self.folders_above(folder).any(|here| {
            self.builds(here).iter().any(|build| {
                build.how == How::Hipified
                    && build
                        .sources
                        .iter()
                        .any(|source| source.is_path_of(below(path, here)))
            })
        })
    }

    /// Whether a module in a folder beside the source's loads it as an extension: `src/model.py` for `cuda/x.cu`, with the
    /// path from the folder of both.
    fn is_loaded_beside(&self, path: &str) -> bool {
        let both = parent(path).and_then(|folder| above(&self.files, folder));
        let Some(both) = both.filter(|_| is_source(path)) else {
            return false;
        };
        let from_there = below(path, both);
        self.files
            .names(both)
            .iter()
            .filter(|name| !name.contains('.'))
            .any(|name| {
                self.builds(&join(both, name))
                    .iter()
                    .any(|build| build.how == How::Hipified && build.names(from_there))
            })
    }

    /// Whether the modules of its project build extensions and name the source, or a source in a folder around the header.
    fn is_named_by_module(&self, path: &str) -> bool {
        let mut around = self.folders_around(path);
        let Some(root) = around.find(|here| first_party_modules::is_project(&self.files, here))
        else {
            return false;
        };
        let named = self
            .named_by_modules
            .answer(root, || Arc::new(named_by_modules::read(&self.files, root)));
        let is_named = |path: &str| named.iter().any(|source| source.fits(below(path, root)));
        if is_source(path) {
            return is_named(path);
        }
        self.folders_around(path)
            .take_while(|here| here.len() >= root.len())
            .any(|here| {
                let names = self.files.names(here);
                names.iter().any(|name| is_named(&join(here, name)))
            })
    }

    /// Whether the CMake project that contains a folder runs hipify.
    fn is_hipified_above(&self, folder: &str) -> bool {
        self.folders_above(folder)
            .find_map(|here| {
                let builds = self.builds(here);
                let project = builds.iter().find(|build| build.cmake.is_some())?;
                let is_hipified = project.how == How::Hipified;
                (is_hipified || project.cmake == Some(Cmake::Whole)).then_some(is_hipified)
            })
            .unwrap_or(false)
    }

    /// The folder of a file, and those that contain it.
    fn folders_around<'p>(&'p self, path: &'p str) -> impl Iterator<Item = &'p str> {
        std::iter::successors(parent(path), |here| above(&self.files, here))
    }

    /// The folders that contain a folder, up to the root of its repository.
    fn folders_above<'p>(&'p self, folder: &'p str) -> impl Iterator<Item = &'p str> {
        std::iter::successors(above(&self.files, folder), |here| above(&self.files, here))
    }

    fn builds(&self, folder: &str) -> Arc<Vec<Build>> {
        self.builds
            .answer(folder, || Arc::new(builds::read(&self.files, folder)))
    }

    /// What `add` finds in the folders above a folder, up to the root of its repository, and in the folder.
    fn collected(
        &self,
        cache: &FolderCache<Arc<Vec<String>>>,
        add: fn(&dyn FileSource, &str, &mut Vec<String>),
        folder: &str,
    ) -> Arc<Vec<String>> {
        cache.answer(folder, || {
            let above = above(&self.files, folder);
            let mut found =
                above.map_or_else(Vec::new, |above| self.collected(cache, add, above).to_vec());
            add(&self.files, folder, &mut found);
            Arc::new(found)
        })
    }

    /// The modules of every project that contains a folder, up to the root of its repository.
    pub fn first_party_modules(&self, folder: &str) -> Arc<Vec<String>> {
        self.collected(&self.first_party_modules, first_party_modules::add, folder)
    }

    /// The functions and constants that files in a folder may import from modules around them and that are false on AMD,
    /// separated by spaces.
    pub fn false_on_amd(&self, folder: &str) -> Arc<String> {
        self.false_on_amd.answer(folder, || {
            let above = above(&self.files, folder).map(|above| self.false_on_amd(above));
            let above = above.as_deref().map_or("", String::as_str);
            let mut found = above.split_whitespace().map(str::to_owned).collect();
            let modules = |folder: &str| {
                let read = || Arc::new(false_on_amd::modules(&self.files, folder));
                self.gate_modules.answer(folder, read)
            };
            false_on_amd::add(&self.files, folder, &modules, &mut found);
            Arc::new(found.join(" "))
        })
    }

    /// The keys of the checkpoints that modules of the project around a folder save together with the parsed arguments of
    /// their command line.
    pub fn saved_with_arguments(&self, folder: &str) -> Arc<Vec<String>> {
        self.saved_with_arguments.answer(folder, || {
            if first_party_modules::is_project(&self.files, folder) {
                return Arc::new(saved_arguments::keys(&self.files, folder));
            }
            let above = above(&self.files, folder);
            above.map_or_else(Arc::default, |above| self.saved_with_arguments(above))
        })
    }

    /// The newest releases of other libraries that the requirements in a folder and in those above it allow.
    pub fn release_limits(&self, folder: &str) -> Arc<Vec<String>> {
        self.collected(&self.release_limits, release_limits::add, folder)
    }

    /// Whether Python modules in a folder, one level below it, or in the folder above import PyTorch.
    pub fn imports_torch(&self, folder: &str) -> bool {
        self.imports_torch.answer(folder, || {
            imports_torch::below(&self.files, folder, 1)
                || above(&self.files, folder)
                    .is_some_and(|above| imports_torch::below(&self.files, above, 0))
        })
    }

    /// Sets the project context in the options for a file of `options.language`.
    pub fn fill_options(&self, path: &str, options: &mut Options) {
        let folder = parent(path).unwrap_or_default();
        // Each value requires reading files, so only the necessary ones are determined.
        let (is_cpp, is_python) = match options.language {
            Some(Language::CudaCpp) => (true, false),
            Some(Language::Python | Language::Notebook) => (false, true),
            _ => (false, false),
        };
        options.pytorch_extension = match is_cpp {
            true => self.pytorch_extension(path),
            false => None,
        };
        let headers = match is_cpp {
            true => self.header_context(path),
            false => HeaderContext::default(),
        };
        options.has_hip_names = headers.has_hip_names;
        options.amd_macros = headers.amd_macros;
        options.unset_switches = match is_cpp {
            true => self.unset_switches(path),
            false => String::new(),
        };
        options.first_party_modules = match is_python {
            true => self.first_party_modules(folder).to_vec(),
            false => Vec::new(),
        };
        options.false_on_amd = match is_python {
            true => self.false_on_amd(folder).as_str().to_owned(),
            false => String::new(),
        };
        options.saved_with_arguments = match is_python {
            true => self.saved_with_arguments(folder).to_vec(),
            false => Vec::new(),
        };
        options.release_limits = match is_python {
            true => self.release_limits(folder).to_vec(),
            false => Vec::new(),
        };
        let has_requirements = matches!(
            options.language,
            Some(Language::Requirements | Language::Pyproject | Language::Yaml)
        );
        options.imports_torch = has_requirements && self.imports_torch(folder);
        options.is_optional_module = self.is_optional_module(path);
        options.is_unused_on_amd = self.is_unused_on_amd(path, options.language);
    }

    /// What a C++ file gets from the project's headers. A header also gets the macros that all files of its folder that
    /// include it have.
    pub fn header_context(&self, path: &str) -> HeaderContext {
        let own = self.included(path);
        let folder = parent(path).unwrap_or_default();
        let mut of_all = None;
        let names = match is_source(path) {
            true => Arc::default(),
            false => self.files.names(folder),
        };
        for name in names.iter().filter(|_| names.len() <= MAX_NEIGHBOURS) {
            let file = join(folder, name);
            if file != path && self.includes(&file, path) {
                let its = self.included(&file).amd_macros;
                of_all = Some(match of_all {
                    Some(all) => hip_alias_header::common(all, &its),
                    None => its,
                });
            }
        }
        HeaderContext {
            has_hip_names: own.is_shim && self.pytorch_extension(path) != Some(true),
            amd_macros: of_all.unwrap_or(own.amd_macros),
        }
    }

    /// The switches that a C++ file of a build asks for and that nothing in its project sets, separated by spaces: no build file names them,
    /// and neither the file, a header that it includes nor another file of its folder defines them.
    pub fn unset_switches(&self, path: &str) -> String {
        let asked = self.header(path);
        if asked.asked.is_empty() || self.pytorch_extension(path).is_none() {
            return String::new();
        }
        let folder = parent(path).unwrap_or_default();
        let names = self.files.names(folder);
        if names.len() > MAX_NEIGHBOURS {
            return String::new();
        }
        let mut defined = self.included(path).defined;
        for name in names.iter() {
            let file = join(folder, name);
            if Language::of_path(&file) == Some(Language::CudaCpp) {
                defined.push_str(&self.header(&file).defined);
            }
        }
        let is_set = |switch: &str| {
            listed(&defined, switch)
                || self.folders_around(path).any(|here| {
                    let find = || Arc::new(unset_switches::named(&self.files, here));
                    self.named_switches.answer(here, find).may_set(switch)
                })
        };
        let unset: Vec<&str> = asked
            .asked
            .split_whitespace()
            .filter(|switch| !is_set(switch))
            .collect();
        unset.join(" ")
    }

    /// Whether a C++ file includes the one at `path`.
    fn includes(&self, file: &str, path: &str) -> bool {
        Language::of_path(file) == Some(Language::CudaCpp)
            && self.header(file).includes.iter().any(|it| it == path)
    }

    fn header(&self, path: &str) -> Arc<Header> {
        let read = || Arc::new(hip_alias_header::read(&self.files, path));
        self.headers.answer(path, read)
    }

    fn included(&self, path: &str) -> Header {
        hip_alias_header::included(path, |path| self.header(path))
    }

    /// Whether the other files of its folder import a Python module, each time in a `try`.
    pub fn is_optional_module(&self, path: &str) -> bool {
        optional_modules::module_of(path).is_some_and(|module| {
            let folder = parent(path).unwrap_or_default();
            let find = || Arc::new(optional_modules::find(&self.files, folder));
            listed(&self.optional_modules.answer(folder, find), module)
        })
    }

    /// Whether AMD hosts do not use a file: an AMD version exists, it is for other hosts by its name, or no build lists it.
    pub fn is_unused_on_amd(&self, path: &str, language: Option<Language>) -> bool {
        let is_cpp = language == Some(Language::CudaCpp);
        if amd_sibling::is_renamed(&self.files, path)
            || is_cpp && (self.is_not_for_amd(path) || self.is_unbuilt(path))
        {
            return true;
        }
        let is_image = language == Some(Language::Dockerfile);
        if (is_image || language == Some(Language::Shell)) && amd_sibling::is_of_runner(path)
            || is_image && amd_sibling::has_docker_folder(&self.files, path)
        {
            return true;
        }
        let is_for_a_host =
            is_image || matches!(language, Some(Language::Requirements | Language::Yaml));
        if (is_for_a_host || language == Some(Language::Pyproject))
            && amd_sibling::is_for_others(&self.files, path)
        {
            return true;
        }
        let folder = parent(path).unwrap_or_default();
        let find = || Arc::new(amd_sibling::unmarked(&self.files, folder));
        is_for_a_host
            && self
                .unmarked
                .answer(folder, find)
                .iter()
                .any(|name| path.ends_with(name) && join(folder, name) == path)
    }
}

/// The parent folder, within the repository.
fn above<'p>(files: &dyn FileSource, folder: &'p str) -> Option<&'p str> {
    parent(folder).filter(|_| !is_repository(files, folder))
}

fn is_repository(files: &dyn FileSource, folder: &str) -> bool {
    files.exists(&join(folder, ".git"))
}

/// The folder that contains a path; `None` for the root.
pub(crate) fn parent(path: &str) -> Option<&str> {
    match path.rsplit_once('/') {
        Some((folder, _)) => Some(folder),
        None => Some("").filter(|_| !path.is_empty()),
    }
}

/// The path relative to a folder around it.
fn below<'p>(path: &'p str, folder: &str) -> &'p str {
    path[folder.len()..].trim_start_matches('/')
}

fn join(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("", only) | (only, "") => only.to_owned(),
        _ => [folder, name].join("/"),
    }
}

#[cfg(test)]
mod tests;
