//! `--source-url` and `--feedback-url`: links in the footer of each page, the same for `hipward serve` and `hipward build`.

use crate::web::addresses;
use hipward_site::FooterLinks;

#[derive(Clone, Debug, clap::Args)]
pub(super) struct LinkArgs {
    /// Link to this address as the source of the site, in the footer of each page
    #[arg(long, value_name = "URL", value_parser = addresses::link)]
    source_url: Option<String>,
    /// Link to this address for questions and corrections, in the footer of each page; https or mailto
    #[arg(long, value_name = "URL", value_parser = addresses::link)]
    feedback_url: Option<String>,
}

impl From<LinkArgs> for FooterLinks {
    fn from(args: LinkArgs) -> Self {
        FooterLinks {
            source: args.source_url,
            feedback: args.feedback_url,
        }
    }
}
