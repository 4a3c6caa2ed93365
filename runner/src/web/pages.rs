//! The one place that knows the site crate: content in, pages out.

use super::assets;
use hipward_protocol::{Capabilities, JobSummary, JobView};
use hipward_site::{
    Assets, AssetsError, CONTENT_SECURITY_POLICY, Content, ContentError, JobPage, Ops, PageData,
    Route, Site, benchmark_markdown, render_page,
};
use ignore::WalkBuilder;
use rust_embed::RustEmbed;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../content"]
#[exclude = "*cache*"]
struct OwnContent;

#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../kernels"]
#[include = "hipward_kernels/ops/*"]
#[include = "results/*.csv"]
#[exclude = "*cache*"]
struct OwnKernels;

/// The policy that pages are served with.
pub(crate) const SECURITY_POLICY: &str = CONTENT_SECURITY_POLICY;

/// Why there is no site.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PagesError {
    /// A content file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The content has a mistake.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The bundle's manifest has a mistake.
    #[error(transparent)]
    Assets(#[from] AssetsError),
}

/// All pages.
#[derive(Debug)]
pub(crate) struct Pages(Site);

/// A job as its page, its `benchmark.md` and its JSON report show it.
#[derive(Debug)]
pub(crate) struct Job {
    /// What was asked for.
    pub(crate) summary: JobSummary,
    /// Its log, folded.
    pub(crate) view: JobView,
    /// The snippet.
    pub(crate) code: String,
}

/// A page of the static site.
#[derive(Debug)]
pub(crate) struct StaticPage {
    /// Where it goes, below the output folder.
    pub(crate) file: String,
    /// Complete HTML.
    pub(crate) html: String,
}

impl Pages {
    /// The site of a content folder, or of our own content, served under `base`.
    pub(crate) fn load(content: Option<&Path>, base: &str) -> Result<Self, PagesError> {
        let files = match content {
            Some(folder) => read_folder(folder)?,
            None => texts::<OwnContent>(),
        };
        let content = Content::parse(files)?;
        let assets = Assets::from_manifest(&assets::manifest())?;
        let ops = Ops::parse(texts::<OwnKernels>());
        Ok(Pages(Site::new(content, ops, assets, base)))
    }

    /// The page at a path, if it is one that needs no job: its proper path, and its HTML.
    pub(crate) fn page(&self, path: &str, capabilities: &Capabilities) -> Option<(String, String)> {
        let route = self.0.resolve(path)?;
        let data = match route {
            Route::Job(_) | Route::NotFound => return None,
            Route::Benchmark => PageData::Benchmark(Some(capabilities.clone())),
            _ => PageData::None,
        };
        Some((route.path(), render_page(&self.0, &route, &data)))
    }

    /// A job's page.
    pub(crate) fn job(&self, job: Job) -> String {
        let route = Route::Job(job.summary.id.clone());
        render_page(&self.0, &route, &PageData::Job(Box::new(job.into())))
    }

    /// The page for addresses that lead nowhere.
    pub(crate) fn not_found(&self) -> String {
        render_page(&self.0, &Route::NotFound, &PageData::None)
    }

    /// Every page of the static site, which has no runner, and the one for unknown addresses.
    pub(crate) fn all(&self) -> Vec<StaticPage> {
        let mut routes = self.0.routes();
        routes.push(Route::NotFound);
        let page = |route: Route| StaticPage {
            file: route.file(),
            html: render_page(&self.0, &route, &PageData::None),
        };
        routes.into_iter().map(page).collect()
    }
}

impl Job {
    /// `benchmark.md`
    pub(crate) fn markdown(self) -> String {
        benchmark_markdown(&self.into())
    }
}

impl From<Job> for JobPage {
    fn from(job: Job) -> Self {
        JobPage {
            summary: job.summary,
            view: job.view,
            code: job.code,
        }
    }
}

/// The text files that this binary carries of a folder.
fn texts<Folder: RustEmbed>() -> Vec<(String, String)> {
    let texts = Folder::iter().filter_map(|path| {
        let text = String::from_utf8(Folder::get(&path)?.data.into_owned()).ok()?;
        Some((path.into_owned(), text))
    });
    texts.collect()
}

/// Every text file below a folder. Others, pictures for example, are not content.
fn read_folder(folder: &Path) -> Result<Vec<(String, String)>, PagesError> {
    let mut files = Vec::new();
    for entry in WalkBuilder::new(folder).require_git(false).build() {
        let entry = entry.map_err(|error| PagesError::Read {
            path: folder.to_owned(),
            source: error
                .into_io_error()
                .unwrap_or_else(|| io::Error::other("cannot be walked")),
        })?;
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path();
        let bytes = fs::read(path).map_err(|source| PagesError::Read {
            path: path.to_owned(),
            source,
        })?;
        if let (Ok(text), Ok(below)) = (String::from_utf8(bytes), path.strip_prefix(folder)) {
            files.push((below.to_string_lossy().into_owned(), text));
        }
    }
    Ok(files)
}
