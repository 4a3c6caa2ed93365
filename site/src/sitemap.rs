//! Files for search engines and the canonical address of each page. They contain whole addresses, so only a site with a public
//! origin has them.

use crate::{Route, Site, escape::escape};

/// Path of the sitemap, below the base of the site. Its format is that of <https://www.sitemaps.org/protocol.html>.
pub const SITEMAP: &str = "sitemap.xml";

/// Path of the rules for crawlers, below the base of the site. Crawlers read them at the root of an origin only.
pub const ROBOTS: &str = "robots.txt";

impl Site {
    /// The sitemap: every page except those of jobs and of the fleet.
    pub fn sitemap(&self) -> Option<String> {
        self.public.origin.as_ref()?;
        let routes = self.routes();
        let addresses = routes.iter().filter_map(|route| self.public_address(route));
        let urls: String = addresses
            .map(|address| format!("<url><loc>{}</loc></url>\n", escape(&address)))
            .collect();
        Some(format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n{urls}</urlset>\n"
        ))
    }

    /// The rules for crawlers: all pages except those of jobs and of the fleet.
    pub fn robots(&self) -> Option<String> {
        let origin = self.public.origin.as_ref()?;
        (self.base() == "/").then(|| {
            format!(
                "User-agent: *\nDisallow: /api/\nDisallow: /fleet/\nDisallow: /jobs/\nSitemap: {origin}/{SITEMAP}\n"
            )
        })
    }

    /// The whole address of a page that search engines may list.
    pub(crate) fn public_address(&self, route: &Route) -> Option<String> {
        let listed = !matches!(
            route,
            Route::Approvals
                | Route::Compare
                | Route::History
                | Route::Fleet
                | Route::Job(_)
                | Route::Jobs
                | Route::NotFound
                | Route::RemoteJob
        );
        let origin = self.public.origin.as_ref()?;
        listed.then(|| format!("{origin}{}", self.href(route)))
    }
}
