//! Links to the text, and other pages that open with it.

use super::Session;
use crate::browser::location::{self, Destination};
use crate::browser::{api, json, script, share};
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
        self.navigate(async move {
            let packed = share::pack(&self.document_text()).await?;
            let arch = self
                .state
                .target
                .with_untracked(|target| target.arch.name());
            let base = self.base.get_value();
            Ok(format!(
                "{base}isa/#code={packed}&language={language}&arch={arch}"
            ))
        });
    }

    /// Sends the text as a job and opens its page.
    pub(crate) fn benchmark(self) {
        self.state.runner.set(Runner::Sending);
        self.navigate(self.submit());
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

    /// Opens another page: in a new tab while a folder is open, because the browser forgets the folder when its page is left.
    fn navigate(self, address: impl Future<Output = Result<String, String>> + 'static) {
        let destination = match self.state.project.with_untracked(Option::is_some) {
            true => Destination::new_tab("Preparing the page."),
            false => Destination::Here,
        };
        spawn_local(async move {
            match address.await {
                Ok(address) => {
                    destination.open(&address);
                    let notice = match destination {
                        // The button stays disabled while the page is being left.
                        Destination::Here => return,
                        Destination::Tab(_) => {
                            "The page opened in a new tab. Your folder stays open here.".to_owned()
                        }
                        Destination::Blocked => format!(
                            "The browser blocked the new tab. Allow pop-ups, or open {} in a tab of your own.",
                            location::absolute(&address)
                        ),
                    };
                    self.state.notice.set(notice);
                }
                Err(sentence) => {
                    destination.close();
                    self.state.fail(sentence);
                }
            }
            if self.state.runner.get_untracked() == Runner::Sending {
                self.state.runner.set(Runner::Ready);
            }
        });
    }
}
