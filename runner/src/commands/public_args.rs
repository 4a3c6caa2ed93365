//! Options of a site that others visit, the same for `hipward serve` and `hipward build`: its public origin, and the links in the
//! footer of each page.

use crate::web::addresses;
use hipward_site::PublicSite;

#[derive(Clone, Debug, clap::Args)]
pub(super) struct PublicArgs {
    /// Public origin of the site, such as https://docs.example: adds sitemap.xml, robots.txt and canonical addresses
    #[arg(long, value_name = "ORIGIN", value_parser = addresses::origin)]
    public_origin: Option<String>,
    /// Link to this address as the source of the site, in the footer of each page
    #[arg(long, value_name = "URL", value_parser = addresses::link)]
    source_url: Option<String>,
    /// Link to this address for questions and corrections, in the footer of each page; https or mailto
    #[arg(long, value_name = "URL", value_parser = addresses::link)]
    feedback_url: Option<String>,
}

impl PublicArgs {
    /// The public origin, if it was named.
    pub(super) fn origin(&self) -> Option<&str> {
        self.public_origin.as_deref()
    }
}

impl From<PublicArgs> for PublicSite {
    fn from(args: PublicArgs) -> Self {
        PublicSite {
            origin: args.public_origin,
            source: args.source_url,
            feedback: args.feedback_url,
        }
    }
}
