//! Renders pages with the site crate. No other module uses that crate for pages.

use super::{assets, stored_body::StoredBody};
use crate::{
    config::{ConfigError, LoadedRules, load_rules},
    exercise::Exercises,
    jobs::Pending,
};
use axum::http::HeaderValue;
use hipward_analyzer::output::REPORT_SCHEMA;
use hipward_protocol::{Capabilities, Fleet, JobSummary, JobView};
use hipward_site::{
    ApprovalPage, Assets, AssetsError, Content, ContentError, ContentErrors, JobHistory, JobList,
    JobPage, Ops, PageData, PublicSite, Route, Site, TEAM_RULES, benchmark_markdown,
    render_content_errors, render_page, search,
};
use ignore::WalkBuilder;
use rust_embed::RustEmbed;
use serde_json::json;
use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../content"]
#[exclude = "*_cache/*"]
#[exclude = "*__pycache__/*"]
struct OwnContent;

#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../kernels"]
#[include = "hipward_kernels/ops/*"]
#[include = "hipward_kernels/attention/*"]
#[include = "hipward_kernels/linear/*"]
#[include = "hipward_kernels/projections/*"]
#[include = "hipward_kernels/quantization/*"]
#[include = "results/*.csv"]
#[include = "results/isa_example.json"]
#[include = "results/launches.json"]
#[exclude = "*cache*"]
struct OwnKernels;

pub(crate) use hipward_site::{
    CONTENT_CHANGES, CONTENT_WATCHER, ROBOTS, SEARCH_INDEX, SEARCH_TEXTS, SITEMAP,
};

/// The path of the JSON Schema of reports.
pub(crate) const REPORT_SCHEMA_PATH: &str = "schema/report.json";

/// Errors of loading the site.
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
    /// The content has errors.
    #[error(transparent)]
    Content(#[from] ContentErrors),
    /// A team's rule has a mistake.
    #[error(transparent)]
    Rules(#[from] ConfigError),
    /// The bundle's manifest has a mistake.
    #[error(transparent)]
    Assets(#[from] AssetsError),
}

/// The pages of the site and their data files.
#[derive(Debug)]
pub(crate) struct Pages {
    site: Site,
    team_rules: Option<LoadedRules>,
    exercises: Exercises,
    /// Errors of a watched content folder. Others are not loaded if they have errors.
    content_errors: Vec<ContentError>,
    search_files: OnceLock<SearchFiles>,
    /// The pages that were rendered, by their canonical path.
    rendered: Mutex<HashMap<String, Rendered>>,
    security_policy: HeaderValue,
}

/// A rendered page, which is rendered again when the runner's capabilities change.
#[derive(Debug)]
struct Rendered {
    capabilities: Option<Capabilities>,
    page: Arc<StoredBody>,
    /// When the capabilities were those of the runner.
    checked: Instant,
}

/// Time for which a page is sent without another look at the runner's capabilities, which takes longer than sending it.
const CAPABILITIES_AGE: Duration = Duration::from_millis(250);

/// What the browser loads for a search.
#[derive(Debug)]
pub(crate) struct SearchFiles {
    /// Loaded before the first result.
    pub(crate) index: Arc<StoredBody>,
    /// Loaded for excerpts.
    pub(crate) texts: Arc<StoredBody>,
}

/// A job for its page, `benchmark.md` and the JSON report.
#[derive(Debug)]
pub(crate) struct Job {
    /// The request and the state.
    pub(crate) summary: JobSummary,
    /// Its event log, folded.
    pub(crate) view: JobView,
    /// The snippet.
    pub(crate) code: String,
}

/// A page of the static site.
#[derive(Debug)]
pub(crate) struct StaticPage {
    /// Its path below the output folder.
    pub(crate) file: String,
    /// Complete HTML.
    pub(crate) html: String,
}

/// Options of a site besides its content.
#[derive(Clone, Debug, Default)]
pub(crate) struct SiteOptions {
    /// Folder with a team's rules for the playground.
    pub(crate) rules: Option<PathBuf>,
    /// Path that the site is served under. Empty for `/`.
    pub(crate) base: String,
    /// Addresses of runners for the benchmarks; see [`Site::with_runners`].
    pub(crate) runners: Vec<String>,
    /// Its public origin and the links in the footer of each page.
    pub(crate) public: PublicSite,
    /// Whether readers can sign in with an identity provider.
    pub(crate) signs_in: bool,
}

impl Pages {
    /// Loads the site from a content folder, or from the embedded content.
    pub(crate) fn load(content: Option<&Path>, options: &SiteOptions) -> Result<Self, PagesError> {
        let files = content_files(content)?;
        let exercises = Exercises::find(&files);
        Self::new(Content::parse(files)?, exercises, Vec::new(), options)
    }

    /// Loads the site from a watched content folder. Errors in the content do not fail: the pages with errors show
    /// them instead. `version` is the time of the call in milliseconds since 1970.
    pub(super) fn load_watched(
        content: &Path,
        options: &SiteOptions,
        version: u64,
    ) -> Result<Self, PagesError> {
        let files = read_folder(content)?;
        let exercises = Exercises::find(&files);
        let (content, errors) = Content::parse_with_errors(files);
        let pages = Self::new(content, exercises, errors, options)?;
        Ok(Pages {
            site: pages.site.with_watched_content(version),
            ..pages
        })
    }

    fn new(
        content: Content,
        exercises: Exercises,
        content_errors: Vec<ContentError>,
        options: &SiteOptions,
    ) -> Result<Self, PagesError> {
        let assets = Assets::from_manifest(&assets::manifest())?;
        let ops = Ops::parse(texts::<OwnKernels>());
        let mut site = Site::new(content, ops, assets, &options.base)
            .with_runners(options.runners.clone())
            .with_public_site(options.public.clone())
            .with_sign_in(options.signs_in);
        let team_rules = options.rules.as_deref().map(load_rules).transpose()?;
        if let Some(team) = &team_rules {
            site = site.with_team_rules(team.rules.clone());
        }
        // Addresses of runners have ASCII characters only, so the policy is a valid header.
        let security_policy = HeaderValue::try_from(site.security_policy())
            .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"));
        Ok(Pages {
            security_policy,
            site,
            team_rules,
            exercises,
            content_errors,
            search_files: OnceLock::new(),
            rendered: Mutex::default(),
        })
    }

    /// The `Content-Security-Policy` that pages are served with.
    pub(crate) fn security_policy(&self) -> HeaderValue {
        self.security_policy.clone()
    }

    /// The exercises that are judged by running.
    pub(crate) fn exercises(&self) -> &Exercises {
        &self.exercises
    }

    /// The team's rules as JSON for the playground.
    pub(crate) fn team_rules(&self) -> String {
        let rules = self.team_rules.as_ref().map(|rules| &rules.json);
        json!({ "rules": rules.unwrap_or(&json!([])) }).to_string()
    }

    /// The files of the search as they are sent, if they were computed before.
    pub(crate) fn known_search_files(&self) -> Option<&SearchFiles> {
        self.search_files.get()
    }

    /// The files of the search as they are sent. The first call renders every page.
    pub(crate) fn search_files(&self) -> &SearchFiles {
        self.search_files.get_or_init(|| {
            let search = search(&self.site);
            SearchFiles {
                index: Arc::new(StoredBody::new(search.index)),
                texts: Arc::new(StoredBody::new(search.texts)),
            }
        })
    }

    /// Data files with their paths below the output folder.
    pub(crate) fn data(&self) -> Vec<(&'static str, String)> {
        let search = search(&self.site);
        let mut data = vec![
            (REPORT_SCHEMA_PATH, REPORT_SCHEMA.to_owned()),
            (SEARCH_INDEX, search.index),
            (SEARCH_TEXTS, search.texts),
        ];
        if self.team_rules.is_some() {
            data.push((TEAM_RULES, self.team_rules()));
        }
        data.extend(self.site.sitemap().map(|xml| (SITEMAP, xml)));
        data.extend(self.site.robots().map(|text| (ROBOTS, text)));
        data
    }

    /// The list of the public pages for search engines, if the site has a public origin.
    pub(crate) fn sitemap(&self) -> Option<String> {
        self.site.sitemap()
    }

    /// The rules for crawlers, if the site has a public origin.
    pub(crate) fn robots(&self) -> Option<String> {
        self.site.robots()
    }

    /// The files of lessons that readers can download, with their paths below the output folder.
    pub(crate) fn downloads(&self) -> Vec<(String, Vec<u8>)> {
        let paths = self.site.downloads().into_iter();
        paths
            .filter_map(|path| {
                let bytes = self.site.download(&path)?;
                Some((path, bytes))
            })
            .collect()
    }

    /// The download at a path.
    pub(crate) fn download(&self, path: &str) -> Option<Vec<u8>> {
        self.site.download(path)
    }

    /// Whether the page at a path shows what the runner can do.
    pub(crate) fn needs_runner(&self, path: &str) -> bool {
        matches!(self.site.resolve(path), Some(Route::Benchmark | Route::Isa))
    }

    /// Whether a path is that of the page for jobs of other runners.
    pub(crate) fn is_remote_job(&self, path: &str) -> bool {
        self.site.resolve(path) == Some(Route::RemoteJob)
    }

    /// The errors in the content. Empty unless the content folder is watched.
    pub(super) fn content_errors(&self) -> &[ContentError] {
        &self.content_errors
    }

    /// The page that replaces the one at a path, if that has errors in its content.
    pub(crate) fn content_error_page(&self, path: &str) -> Option<String> {
        let is_at = |error: &&ContentError| {
            error.page().trim_end_matches('/') == path.trim_end_matches('/')
        };
        let (own, others): (Vec<_>, Vec<_>) = self.content_errors.iter().partition(is_at);
        (!own.is_empty()).then(|| render_content_errors(&self.site, &own, &others))
    }

    /// The canonical path of the page at a path, if it is not a job's page.
    pub(crate) fn canonical_path(&self, path: &str) -> Option<String> {
        match self.site.resolve(path)? {
            Route::Approvals
            | Route::Compare
            | Route::Fleet
            | Route::History
            | Route::Job(_)
            | Route::NotFound => None,
            route => Some(route.path()),
        }
    }

    /// See [`Site::part_address`].
    pub(crate) fn part_address(&self, path: &str) -> Option<String> {
        self.site.part_address(path)
    }

    /// The page at a canonical path, if it was rendered before and shows the current capabilities of the runner,
    /// or those of a moment ago.
    pub(crate) fn fresh(&self, path: &str) -> Option<Arc<StoredBody>> {
        let rendered = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        let found = rendered.get(path)?;
        let is_fresh = found.capabilities.is_none() || found.checked.elapsed() < CAPABILITIES_AGE;
        is_fresh.then(|| found.page.clone())
    }

    /// The page at a canonical path, if it was rendered with these capabilities before.
    pub(crate) fn rendered(
        &self,
        path: &str,
        capabilities: Option<&Capabilities>,
    ) -> Option<Arc<StoredBody>> {
        let mut rendered = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        let found = rendered.get_mut(path)?;
        if found.capabilities.as_ref() != capabilities {
            return None;
        }
        found.checked = Instant::now();
        Some(found.page.clone())
    }

    /// Renders the page at a canonical path, which blocks for some milliseconds, and stores it for [`Pages::rendered`].
    pub(crate) fn render(
        &self,
        path: &str,
        capabilities: Option<Capabilities>,
    ) -> Option<Arc<StoredBody>> {
        let route = self.site.resolve(path)?;
        let data = match route {
            Route::Benchmark | Route::Isa => PageData::Runner(capabilities.clone()),
            _ => PageData::None,
        };
        let page = Arc::new(StoredBody::new(render_page(&self.site, &route, &data)));
        let rendered = Rendered {
            capabilities,
            page: page.clone(),
            checked: Instant::now(),
        };
        let mut known = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(path.to_owned(), rendered);
        Some(page)
    }

    /// A job's page.
    pub(crate) fn job(&self, job: Job) -> String {
        let route = Route::Job(job.summary.id.clone());
        render_page(&self.site, &route, &PageData::Job(Box::new(job.into())))
    }

    /// The list of jobs. `jobs` is None for a request that may not see the jobs of others.
    pub(crate) fn jobs(&self, jobs: Option<JobList>) -> String {
        render_page(&self.site, &Route::Jobs, &PageData::Jobs(jobs))
    }

    /// The results of one program over time. `history` is None for a request that may not see the jobs of others.
    pub(crate) fn history(&self, history: Option<JobHistory>) -> String {
        render_page(&self.site, &Route::History, &PageData::History(history))
    }

    /// The jobs that wait for approval. `pending` is None for a request that may not see them.
    pub(crate) fn approvals(&self, pending: Option<Vec<Pending>>) -> String {
        let approval = |pending: Pending| ApprovalPage {
            pending: pending.job,
            code: pending.code,
            approved_code: pending.approved_code,
        };
        let jobs = pending.map(|pending| pending.into_iter().map(approval).collect());
        render_page(&self.site, &Route::Approvals, &PageData::Approvals(jobs))
    }

    /// The hosts. `fleet` is None for a request that may not see the jobs of others.
    pub(crate) fn fleet(&self, fleet: Option<Fleet>) -> String {
        let data = PageData::Fleet(fleet.map(Box::new));
        render_page(&self.site, &Route::Fleet, &data)
    }

    /// Whether code is a benchmark of a page of the site.
    pub(crate) fn is_benchmark(&self, code: &str) -> bool {
        self.site.is_benchmark(code)
    }

    /// Jobs side by side.
    pub(crate) fn compare(&self, jobs: Vec<Job>) -> String {
        let jobs = jobs.into_iter().map(JobPage::from).collect();
        render_page(&self.site, &Route::Compare, &PageData::Compare(jobs))
    }

    /// The page for unknown addresses.
    pub(crate) fn not_found(&self) -> String {
        render_page(&self.site, &Route::NotFound, &PageData::None)
    }

    /// Every page of the static site, which has no runner, and the page for unknown addresses.
    pub(crate) fn all(&self) -> Vec<StaticPage> {
        let mut routes = self.site.routes();
        routes.push(Route::NotFound);
        let page = |route: Route| StaticPage {
            file: route.file(),
            html: render_page(&self.site, &route, &PageData::None),
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

/// The text files of a content folder, or of the embedded one.
pub(crate) fn content_files(folder: Option<&Path>) -> Result<Vec<(String, String)>, PagesError> {
    match folder {
        Some(folder) => read_folder(folder),
        None => Ok(texts::<OwnContent>()),
    }
}

/// The embedded text files of a folder.
fn texts<Folder: RustEmbed>() -> Vec<(String, String)> {
    let texts = Folder::iter().filter_map(|path| {
        let text = String::from_utf8(Folder::get(&path)?.data.into_owned()).ok()?;
        Some((path.into_owned(), text))
    });
    texts.collect()
}

/// Reads every text file below a folder. Other files, such as pictures, are not content.
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
