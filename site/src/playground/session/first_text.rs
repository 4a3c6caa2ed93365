//! The text that the editor shows first: from the address, the history or an earlier visit; and where it is stored.

use super::{PLAIN_KEY, Session, TEXT_LIMIT};
use crate::browser::{location, share, storage};
use crate::playground::fragment::Fragment;
use crate::playground::state::Task;
use js_sys::Date;
use leptos::prelude::*;

const TEXT_KEY: &str = "playground.text";

impl Session {
    /// Loads the text of this place in the history, of the address, typed before this ran, or of the last visit.
    pub(super) async fn load_first_text(self) {
        let plain = storage::stored(PLAIN_KEY).as_deref() == Some("yes");
        if !self.load_fragment(&location::fragment()).await {
            let typed = self.editor.text();
            let stored = storage::stored(TEXT_KEY).filter(|stored| !stored.trim().is_empty());
            let text = match stored {
                Some(stored) if typed == self.editor.example() => stored,
                _ => typed,
            };
            // A link that could not be read is still reported.
            let error = self.state.error.get_untracked();
            self.load(text, false);
            self.state.error.set(error);
        }
        self.show_editor(plain).await;
    }

    /// Loads the text of a fragment. Returns false if it has none.
    pub(super) async fn load_fragment(self, fragment: &str) -> bool {
        let fragment = Fragment::parse(fragment);
        if let Some(target) = fragment.target {
            self.retarget(|old| *old = target);
        }
        if fragment.language.is_some() {
            self.read_as(fragment.language);
        }
        let stored = location::state_text();
        let is_own = stored.is_some();
        let text = match (fragment.code, stored.or(fragment.text)) {
            (Some(packed), None) => match share::unpack(&packed).await {
                Ok(text) => Some(text),
                Err(sentence) => {
                    self.state.fail(sentence);
                    return false;
                }
            },
            (_, text) => text,
        };
        let Some(text) = text else {
            return false;
        };
        self.set_file(String::new());
        self.load(text, is_own);
        let task = fragment.task.zip(fragment.exercise);
        let lesson = fragment.lesson.map_or_else(String::new, |lesson| {
            format!("{}learn/{lesson}/", self.base.get_value())
        });
        self.state.task.set(task.map(|(text, exercise)| Task {
            text,
            exercise,
            judgement: None,
            lesson,
        }));
        true
    }

    /// Stores the text for the next visit. The text of an exercise is stored for its entry in the history only, so that it
    /// does not replace the reader's own code.
    pub(super) fn store_text(self) {
        self.state.document.with_untracked(|document| {
            if document.is_own && document.text.len() <= TEXT_LIMIT {
                if self.state.task.with_untracked(Option::is_none) {
                    storage::store(TEXT_KEY, &document.text);
                }
                location::set_state_text(&document.text);
                self.stored.set_value(Date::now());
            }
        });
    }
}
