//! A site: content, rules and assets under one base path, and the addresses of its pages.

use crate::content::block::{self, Block, Code};
use crate::content::document::{Document, Extensions};
use crate::content::{Content, Lesson, Ops, Part, ReadingPath};
use crate::page::CONTENT_SECURITY_POLICY;
use hipward_analyzer::{RULES, RuleMeta, TeamRules};
use std::collections::BTreeMap;
use std::convert::Infallible;
use thiserror::Error;

/// The files that pages load, by their logical names (`site.css`).
#[derive(Clone, Debug, Default)]
pub struct Assets(BTreeMap<String, String>);

/// A manifest that cannot be parsed.
#[derive(Debug, Error)]
#[error("the asset manifest is not an object of names ({0}); build the assets again")]
pub struct AssetsError(#[from] serde_json::Error);

impl Assets {
    /// Reads the manifest that the asset bundle writes: logical name → hashed name.
    pub fn from_manifest(json: &str) -> Result<Self, AssetsError> {
        Ok(Assets(serde_json::from_str(json)?))
    }
}

/// The address that stands for a site's own runner in [`Site::with_runners`].
pub const OWN_RUNNER: &str = "";

/// Path of the team's rules, below the base of the site.
pub const TEAM_RULES: &str = "api/v1/rules";

/// Path of the stream of content changes, below the base of the site. The script of such a site has the same
/// address with the extension `.js`.
pub const CONTENT_CHANGES: &str = "content-changes";

/// Everything that pages are rendered from.
#[derive(Clone, Debug)]
pub struct Site {
    pub(crate) content: Content,
    pub(crate) rules: Vec<RulePage>,
    pub(crate) ops: Ops,
    assets: Assets,
    base: String,
    /// See [`Site::with_runners`].
    pub(crate) runners: Vec<String>,
    pub(crate) public: PublicSite,
    pub(crate) team_rules: Option<TeamRules>,
    /// Whether the header has a link to the server's sign-in.
    pub(crate) signs_in: bool,
    /// When the content was loaded, in milliseconds since 1970, if its folder is watched.
    pub(crate) content_version: Option<u64>,
}

/// What the operator of a public site states about it. Without an address, its link is left out.
#[derive(Clone, Debug, Default)]
pub struct PublicSite {
    /// Where readers find the site, such as `https://docs.example`. The base of the site is not part of it.
    pub origin: Option<String>,
    /// Where the source of the site is.
    pub source: Option<String>,
    /// Where readers ask questions and report errors.
    pub feedback: Option<String>,
}

/// A rule and its page.
#[derive(Clone, Debug)]
pub(crate) struct RulePage {
    pub(crate) meta: &'static RuleMeta,
    pub(crate) doc: Document<Code>,
}

/// A page of the site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// `/`
    Home,
    /// `/learn/`
    Learn,
    /// `/learn/newcomer/`
    ReadingPath(ReadingPath),
    /// `/learn/<part>/<lesson>/`
    Lesson {
        /// The part's folder name without its number.
        part: String,
        /// The lesson's, likewise.
        lesson: String,
    },
    /// `/playground/`
    Playground,
    /// `/benchmark/`
    Benchmark,
    /// `/isa/`
    Isa,
    /// `/jobs/`
    Jobs,
    /// `/fleet/`; needs [`PageData::Fleet`](crate::PageData::Fleet).
    Fleet,
    /// `/jobs/approvals/`; needs [`PageData::Approvals`](crate::PageData::Approvals).
    Approvals,
    /// `/jobs/compare/`; needs [`PageData::Compare`](crate::PageData::Compare).
    Compare,
    /// `/jobs/history/`; needs [`PageData::History`](crate::PageData::History).
    History,
    /// `/jobs/remote/`, for jobs of other runners; only on a site with such runners.
    RemoteJob,
    /// `/jobs/<id>/`; needs [`PageData::Job`](crate::PageData::Job).
    Job(String),
    /// `/rules/`
    Rules,
    /// `/rules/<name>/`
    Rule(String),
    /// `/ops/`
    Ops,
    /// `/ops/<name>/`
    Op(String),
    /// `/models/`
    Models,
    /// `/reference/`
    References,
    /// `/reference/<name>/`
    Reference(String),
    /// All other addresses, and `404.html` of a static host.
    NotFound,
}

impl Route {
    pub(crate) fn lesson(part: &Part, lesson: &Lesson) -> Route {
        Route::Lesson {
            part: part.slug.clone(),
            lesson: lesson.slug.clone(),
        }
    }

    /// The path below the base: `/rules/pynvml/`.
    pub fn path(&self) -> String {
        match self {
            Route::Home => "/".to_owned(),
            Route::Learn => "/learn/".to_owned(),
            Route::ReadingPath(path) => format!("/learn/{}/", path.slug()),
            Route::Lesson { part, lesson } => format!("/learn/{part}/{lesson}/"),
            Route::Playground => "/playground/".to_owned(),
            Route::Benchmark => "/benchmark/".to_owned(),
            Route::Isa => "/isa/".to_owned(),
            Route::Jobs => "/jobs/".to_owned(),
            Route::Fleet => "/fleet/".to_owned(),
            Route::Approvals => "/jobs/approvals/".to_owned(),
            Route::Compare => "/jobs/compare/".to_owned(),
            Route::History => "/jobs/history/".to_owned(),
            Route::RemoteJob => "/jobs/remote/".to_owned(),
            Route::Job(id) => format!("/jobs/{id}/"),
            Route::Rules => "/rules/".to_owned(),
            Route::Rule(name) => format!("/rules/{name}/"),
            Route::Ops => "/ops/".to_owned(),
            Route::Op(name) => format!("/ops/{name}/"),
            Route::Models => "/models/".to_owned(),
            Route::References => "/reference/".to_owned(),
            Route::Reference(slug) => format!("/reference/{slug}/"),
            Route::NotFound => "/404.html".to_owned(),
        }
    }

    /// The file of a static site: `rules/pynvml/index.html`.
    pub fn file(&self) -> String {
        let path = self.path();
        let path = path.trim_start_matches('/');
        if path.is_empty() || path.ends_with('/') {
            format!("{path}index.html")
        } else {
            path.to_owned()
        }
    }
}

impl Site {
    /// Puts a site together. `base` is the path it is served under: `/`, or `/docs/`.
    pub fn new(content: Content, ops: Ops, assets: Assets, base: &str) -> Site {
        let rules = RULES
            .iter()
            .map(|meta| RulePage {
                meta,
                doc: rule_document(meta),
            })
            .collect();
        let base = match base.trim_matches('/') {
            "" => "/".to_owned(),
            inner => format!("/{inner}/"),
        };
        Site {
            content,
            rules,
            ops,
            assets,
            base,
            runners: Vec::new(),
            public: PublicSite::default(),
            team_rules: None,
            signs_in: false,
            content_version: None,
        }
    }

    /// The same site with a script on each page that shows when the content was loaded, and reloads the page when
    /// [`CONTENT_CHANGES`] announces another version. `version` is a time in milliseconds since 1970.
    pub fn with_watched_content(self, version: u64) -> Site {
        Site {
            content_version: Some(version),
            ..self
        }
    }

    /// The same site with benchmarks on these runners, each with its address, such as `https://gpu.example/`. [`OWN_RUNNER`]
    /// is the server of the site. Without any, benchmarks run on the server of the site.
    pub fn with_runners(self, runners: Vec<String>) -> Site {
        Site { runners, ..self }
    }

    /// The same site with a public origin and links in the footer of each page.
    pub fn with_public_site(self, public: PublicSite) -> Site {
        Site { public, ..self }
    }

    /// The same site with a link to the server's sign-in in the header of each page, or without.
    pub fn with_sign_in(self, signs_in: bool) -> Site {
        Site { signs_in, ..self }
    }

    /// The `Content-Security-Policy` that pages are served with: they may send requests to the site's runners.
    pub fn security_policy(&self) -> String {
        let mut sources = "connect-src 'self'".to_owned();
        for runner in self.runners.iter().filter(|runner| *runner != OWN_RUNNER) {
            sources.push(' ');
            sources.push_str(runner);
        }
        CONTENT_SECURITY_POLICY.replace("connect-src 'self'", &sources)
    }

    /// The same site with a team's own rules: its list of rules shows them, its playground asks [`TEAM_RULES`] for them.
    pub fn with_team_rules(self, rules: TeamRules) -> Site {
        Site {
            team_rules: Some(rules),
            ..self
        }
    }

    /// The path that every address of this site begins with; ends with a slash.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Every static page. The one for unknown addresses, [`Route::NotFound`], is not among them.
    pub fn routes(&self) -> Vec<Route> {
        let mut routes = vec![
            Route::Home,
            Route::Learn,
            Route::Playground,
            Route::Benchmark,
            Route::Jobs,
            Route::Isa,
            Route::Rules,
            Route::Ops,
            Route::Models,
            Route::References,
        ];
        if !self.runners.is_empty() {
            routes.push(Route::RemoteJob);
        }
        let lessons = self.content.lessons();
        routes.extend(lessons.map(|(part, lesson)| Route::lesson(part, lesson)));
        routes.extend(
            self.rules
                .iter()
                .map(|rule| Route::Rule(rule.meta.name.to_owned())),
        );
        let ops = self.ops.list.iter();
        routes.extend(ops.map(|op| Route::Op(op.name.clone())));
        let paths = ReadingPath::ALL.into_iter();
        routes.extend(
            paths
                .filter(|path| self.content.is_on(*path))
                .map(Route::ReadingPath),
        );
        let references = self.content.reference_slugs();
        routes.extend(references.map(|slug| Route::Reference(slug.to_owned())));
        routes
    }

    /// Where a part of the course is: `/learn/#port` for `/learn/port/`, which is no page.
    pub fn part_address(&self, path: &str) -> Option<String> {
        let slug = path.strip_prefix("/learn/")?.trim_end_matches('/');
        let part = self.content.parts.iter().find(|part| part.slug == slug)?;
        Some(format!("{}#{}", Route::Learn.path(), part.slug))
    }

    /// The page at a path below the base, with or without its final slash.
    pub fn resolve(&self, path: &str) -> Option<Route> {
        let segments: Vec<&str> = path.split('/').filter(|s| !s.is_empty()).collect();
        match segments.as_slice() {
            [] => Some(Route::Home),
            ["learn"] => Some(Route::Learn),
            ["playground"] => Some(Route::Playground),
            ["benchmark"] => Some(Route::Benchmark),
            ["isa"] => Some(Route::Isa),
            ["rules"] => Some(Route::Rules),
            ["rules", name] => self.rule(name).map(|_| Route::Rule((*name).to_owned())),
            ["ops"] => Some(Route::Ops),
            ["ops", name] => self.ops.get(name).map(|_| Route::Op((*name).to_owned())),
            ["models"] => Some(Route::Models),
            ["reference"] => Some(Route::References),
            ["reference", slug] => {
                let found = self.content.reference_slugs().find(|one| one == slug)?;
                Some(Route::Reference(found.to_owned()))
            }
            ["jobs"] => Some(Route::Jobs),
            ["fleet"] => Some(Route::Fleet),
            ["jobs", "approvals"] => Some(Route::Approvals),
            ["jobs", "compare"] => Some(Route::Compare),
            ["jobs", "history"] => Some(Route::History),
            ["jobs", "remote"] if !self.runners.is_empty() => Some(Route::RemoteJob),
            ["jobs", id] => Some(Route::Job((*id).to_owned())),
            ["learn", path] => ReadingPath::from_slug(path)
                .filter(|path| self.content.is_on(*path))
                .map(Route::ReadingPath),
            ["learn", part, lesson] => {
                let (part, lesson) = self.content.lesson(part, lesson)?;
                Some(Route::lesson(part, lesson))
            }
            _ => None,
        }
    }

    /// The first lesson, if there is one.
    pub(crate) fn first_lesson(&self) -> Option<Route> {
        let (part, lesson) = self.content.lessons().next()?;
        Some(Route::lesson(part, lesson))
    }

    /// The address of a route.
    pub(crate) fn href(&self, route: &Route) -> String {
        self.below(&route.path())
    }

    /// The address of a path that is written from the root.
    pub(crate) fn below(&self, path: &str) -> String {
        format!("{}{}", self.base, path.trim_start_matches('/'))
    }

    /// The address of an asset, if it was built.
    pub(crate) fn asset(&self, name: &str) -> Option<String> {
        let hashed = self.assets.0.get(name)?;
        Some(self.below(&format!("/assets/{hashed}")))
    }

    /// Addresses of the assets that scripts load by themselves, as JSON for the page.
    pub(crate) fn script_assets(&self) -> String {
        let mut addresses: BTreeMap<&str, String> = self
            .assets
            .0
            .keys()
            .filter(|name| name.ends_with(".js") || name.ends_with(".wasm"))
            .filter_map(|name| Some((name.as_str(), self.asset(name)?)))
            .collect();
        if self.team_rules.is_some() {
            addresses.insert("team-rules", format!("{}{TEAM_RULES}", self.base));
        }
        // A map of strings always serializes; `<` cannot end the script element.
        serde_json::to_string(&addresses)
            .unwrap_or_default()
            .replace('<', "\\u003c")
    }

    pub(crate) fn rule(&self, name: &str) -> Option<&RulePage> {
        self.rules.iter().find(|rule| rule.meta.name == name)
    }

    /// Whether code is that of a benchmark block, except for white space around it.
    pub fn is_benchmark(&self, code: &str) -> bool {
        let benchmarks = self.benchmarks();
        let mut codes = benchmarks.iter().map(|(_, bench)| bench.code.trim());
        codes.any(|known| known == code.trim())
    }

    /// The benchmark blocks of all lessons, with an id each.
    pub(crate) fn benchmarks(&self) -> Vec<(String, &block::Bench)> {
        self.content
            .lessons()
            .flat_map(|(_, lesson)| {
                lesson.body.blocks().filter_map(move |block| match block {
                    Block::Bench(bench) => Some((bench_id(&lesson.slug, bench), bench)),
                    _ => None,
                })
            })
            .collect()
    }
}

/// The id of a benchmark block: `fused-rmsnorm.llama-block`.
pub(crate) fn bench_id(lesson: &str, bench: &block::Bench) -> String {
    let stem = bench.file.split('.').next().unwrap_or_default();
    format!("{lesson}.{}", crate::content::document::slug(stem))
}

fn rule_document(meta: &RuleMeta) -> Document<Code> {
    Document::parse(
        &hipward_analyzer::rule_page(meta),
        Extensions::default(),
        |fence| Ok::<_, Infallible>(block::plain(&fence)),
    )
    .unwrap_or_else(|never| match never {})
}
