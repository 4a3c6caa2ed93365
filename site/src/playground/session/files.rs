//! Opens files and folders.

use super::Session;
use crate::browser::focus::keep_focus;
use crate::playground::folder::{self, Dropped, Folder, FolderEvent};
use crate::playground::project::Project;
use leptos::ev;
use leptos::prelude::*;
use leptos::task::spawn_local;

impl Session {
    fn with_folder(self, action: impl FnOnce(&Folder)) {
        self.folder.with_value(|folder| {
            if let Some(folder) = folder {
                action(folder);
            }
        });
    }

    /// Opens the files of an input for files: one in the editor, several like a folder.
    pub(crate) fn open_files(self, files: &[web_sys::File]) {
        match files {
            [file] => self.open_file(file.clone()),
            files => self.open_folder(files),
        }
    }

    /// Opens the files of an input for folders.
    pub(crate) fn open_folder(self, files: &[web_sys::File]) {
        if !files.is_empty() {
            self.take("ofInput", files.iter().collect());
        }
    }

    /// Opens a file or a folder that was dropped.
    pub(crate) fn drop(self, event: &ev::DragEvent) {
        match folder::take_drop(event) {
            Some(Dropped::File(file)) => self.open_file(file),
            Some(Dropped::Entries(entries)) => self.take("ofDrop", entries),
            None => {}
        }
    }

    fn take(self, how: &'static str, items: js_sys::Array) {
        if let Some(folder) = self.folder.get_value() {
            spawn_local(async move { folder.take(how, items.into()).await });
        }
    }

    pub(super) fn check_folder(self) {
        let target = self.state.target.get_untracked();
        self.with_folder(|folder| folder.check_for(&target));
    }

    pub(super) fn folder_event(self, event: FolderEvent) {
        match event {
            FolderEvent::Opened(name) => {
                self.state.clear_messages();
                self.state.project.set(Some(Project::named(name)));
                self.check_folder();
            }
            FolderEvent::Progress(progress) => {
                self.state.project.update(|project| {
                    if let Some(project) = project {
                        project.progress = *progress;
                    }
                });
                self.open_first_file();
            }
            FolderEvent::Text(text) => {
                self.load(text, false);
                self.editor.forget_history();
                if self.reveals.get_value() {
                    self.editor.reveal();
                }
            }
            FolderEvent::Notice(sentence) => self.state.notice.set(sentence),
            FolderEvent::Error(sentence) => self.state.fail(sentence),
        }
    }

    /// The path of the file in the editor, in the open folder; empty for a text from elsewhere.
    pub(crate) fn open_path(self) -> String {
        let file = self.state.document.with(|document| document.file.clone());
        self.state.project.with(|project| {
            project
                .as_ref()
                .map_or_else(String::new, |project| project.open_path(&file).to_owned())
        })
    }

    /// Opens the file with the worst findings once the folder is checked, so that the editor shows a file of it.
    fn open_first_file(self) {
        let mut first = None;
        self.state.project.update_untracked(|project| {
            first = project.as_mut().and_then(Project::first_file);
        });
        if let Some(path) = first {
            self.open_in_editor(&path, false);
        }
    }

    /// Opens a file of the folder in the editor.
    pub(crate) fn open_project_file(self, path: &str) {
        self.open_in_editor(path, true);
    }

    /// `reveals`: whether to scroll to the editor.
    fn open_in_editor(self, path: &str, reveals: bool) {
        self.reveals.set_value(reveals);
        let left = untrack(|| self.open_path());
        let shown = self
            .state
            .project
            .with_untracked(|project| Some(project.as_ref()?.shown(path)));
        let Some(shown) = shown else { return };
        self.state.language.set(None);
        self.set_file(shown);
        self.with_folder(|folder| folder.open(path, &left));
    }

    /// Saves the fixed files of the folder as a `patch` or a `zip`, or its porting `plan`.
    pub(crate) fn download(self, form: &'static str) {
        self.state.error.set(String::new());
        if form != "plan" {
            self.state.notice.set("Applying the fixes.".to_owned());
        }
        let left = untrack(|| self.open_path());
        let target = self.state.target.get_untracked();
        self.with_folder(|folder| folder.download_for(form, &target, &left));
    }

    /// Closes the folder. The text in the editor stays.
    pub(crate) fn close_folder(self) {
        self.with_folder(Folder::close);
        keep_focus(|| self.state.project.set(None));
    }
}
