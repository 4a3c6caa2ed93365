//! Links to the text, and other pages that open with it.

use super::Session;
use crate::browser::{api, json, location, script, share};
use crate::playground::fragment::share_fragment;
use crate::playground::state::Runner;
use gloo_net::http::Method;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::{Deserialize, Serialize};

/// The request for a job.
#[derive(Serialize)]
struct NewJob {
    code: String,
}

/// The job that was created, as far as the page needs it.
#[derive(Deserialize)]
struct Job {
    id: String,
}

impl Session {
    /// Puts a link to the text into the address bar and the clipboard.
    pub(crate) fn share(self) {
        spawn_local(async move {
            let packed = match share::pack(&self.document_text()).await {
                Ok(packed) => packed,
                Err(sentence) => return self.state.fail(sentence),
            };
            let language = self
                .state
                .report
                .with_untracked(|report| report.as_ref().map(|report| report.language));
            let target = self.state.target.get_untracked();
            location::replace_fragment(&share_fragment(&packed, &target, language));
            let copied = script::copy_text(&location::address()).await;
            let notice = if copied.is_truthy() {
                "Link copied. It contains the code itself; nothing was uploaded."
            } else {
                "The link is in the address bar. It contains the code itself."
            };
            self.state.notice.set(notice.to_owned());
        });
    }

    /// Opens the kernel on the page for machine code.
    pub(crate) fn show_machine_code(self, language: &'static str) {
        spawn_local(async move {
            match share::pack(&self.document_text()).await {
                Ok(packed) => {
                    let arch = self
                        .state
                        .target
                        .with_untracked(|target| target.arch.name());
                    let base = self.base.get_value();
                    self.navigate(&format!(
                        "{base}isa/#code={packed}&language={language}&arch={arch}"
                    ));
                }
                Err(sentence) => self.state.fail(sentence),
            }
        });
    }

    /// Sends the text as a job and opens its page.
    pub(crate) fn benchmark(self) {
        self.state.runner.set(Runner::Sending);
        spawn_local(async move {
            let stays = match self.submit().await {
                Ok(address) => self.navigate(&address),
                Err(sentence) => {
                    self.state.fail(sentence);
                    true
                }
            };
            // While the page is being left, the button stays disabled.
            if stays {
                self.state.runner.set(Runner::Ready);
            }
        });
    }

    /// Sends the text as a job; returns the address of its page.
    async fn submit(self) -> Result<String, String> {
        let runner = self.runner.get_value();
        let request = NewJob {
            code: self.document_text(),
        };
        let body = serde_json::to_string(&request).map_err(|error| error.to_string())?;
        let answer = api::send(Method::POST, &format!("{runner}api/v1/jobs"), Some(&body)).await?;
        let job = json::parse::<Job>(&answer).ok_or(api::OLD_PAGE)?;
        Ok(script::job_page(&runner, &job.id))
    }

    /// Opens another page of the site: in a new tab while a folder is open, because the browser forgets the folder when its
    /// page is left. Returns whether this page stays.
    fn navigate(self, address: &str) -> bool {
        let opens_tab = self.state.project.with_untracked(Option::is_some);
        self.state.clear_messages();
        if !location::open(address, opens_tab) {
            self.state.unopened.set(address.to_owned());
        } else if opens_tab {
            let notice = "The page opened in a new tab. Your folder stays open here.";
            self.state.notice.set(notice.to_owned());
        }
        opens_tab
    }
}
