//! What the playground knows.

use super::fragment::write_target;
use super::project::Project;
use hipward_analyzer_core::{DiffLine, Judgement, Language, Report, Target};

/// Everything that the page shows.
#[derive(Default)]
pub(super) struct State {
    /// What stands in the editor.
    pub(super) text: String,
    /// What stood there before the first fix: the paste.
    pub(super) before: String,
    /// A person wrote or chose it, so that it is worth keeping; a link's text can be had again.
    pub(super) own: bool,
    /// True once a fix was applied to `before`.
    pub(super) fixed: bool,
    pub(super) target: Target,
    /// How the text is to be read; as what it reads like when nothing is said.
    pub(super) language: Option<Language>,
    /// The name of the file that the text came from.
    pub(super) file: String,
    /// The folder that is open.
    pub(super) project: Option<Project>,
    /// The newest report, and whether it is about `text` as it is now.
    pub(super) report: Option<Report>,
    pub(super) fresh: bool,
    /// From `before` to `text`.
    pub(super) diff: Vec<DiffLine>,
    pub(super) task: Option<Task>,
    /// What did not work, in a sentence.
    pub(super) trouble: String,
    /// What did, likewise.
    pub(super) notice: String,
    pub(super) runner: Runner,
}

/// What a lesson asks for.
pub(super) struct Task {
    pub(super) text: String,
    /// Its conditions as JSON, for the analyzer.
    pub(super) exercise: String,
    /// How far the newest text that was judged is; none before the first answer.
    pub(super) judgement: Option<Judgement>,
}

/// Whether there is somebody to send a benchmark to.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) enum Runner {
    #[default]
    Asking,
    Absent,
    NotReady,
    Ready,
    Sending,
}

impl State {
    /// Replaces everything: a file, a link, the example.
    pub(super) fn load(&mut self, text: String) {
        self.own = false;
        self.fixed = false;
        self.task = None;
        self.before.clone_from(&text);
        self.diff.clear();
        self.set_text(text);
    }

    /// What the analyzer is told beside the text.
    pub(super) fn settings(&self) -> String {
        let language = self.language.map(Language::name).unwrap_or_default();
        let mut settings = write_target(&self.target);
        settings.push(',');
        settings.push_str(language);
        if !self.file.is_empty() {
            settings.push(',');
            settings.push_str(&self.file);
        }
        settings
    }

    /// A person typed or pasted. What is compared with stays the paste itself until a fix was
    /// applied; a wholly new paste starts over.
    pub(super) fn edit(&mut self, text: String) {
        if !self.fixed || is_new_paste(&self.text, &text) {
            self.fixed = false;
            self.before.clone_from(&text);
        }
        if is_new_paste(&self.text, &text) {
            self.file.clear();
        }
        self.own = true;
        self.set_text(text);
    }

    /// A fix was applied.
    pub(super) fn apply(&mut self, text: String) {
        self.fixed = true;
        self.own = true;
        self.set_text(text);
    }

    fn set_text(&mut self, text: String) {
        self.text = text;
        self.fresh = false;
        self.trouble.clear();
        self.notice.clear();
    }
}

/// True when next to nothing of the old text is left at either end.
fn is_new_paste(old: &str, new: &str) -> bool {
    let same = |(a, b): &(u8, u8)| a == b;
    let front = old.bytes().zip(new.bytes()).take_while(same).count();
    let back = old.bytes().rev().zip(new.bytes().rev());
    let back = back.take_while(same).count();
    (front + back) * 5 < old.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASTE: &str = "import torch\nx = torch.ones(3)\n";

    #[test]
    fn the_paste_is_compared_with_until_another_one_comes() {
        let mut state = State::default();
        state.edit(PASTE.to_owned());
        state.apply("import torch\nx = torch.ones(4)\n".to_owned());
        state.edit("import torch\nx = torch.ones(5)\n".to_owned());
        assert_eq!(state.before, PASTE);
        state.edit("class Model:\n    pass\n".to_owned());
        assert_eq!(state.before, "class Model:\n    pass\n");
    }

    #[test]
    fn typing_before_any_fix_is_part_of_the_paste() {
        let mut state = State::default();
        state.edit(PASTE.to_owned());
        state.edit(format!("{PASTE}y = x\n"));
        assert_eq!(state.before, state.text);
    }
}
