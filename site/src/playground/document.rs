//! The text in the editor, and the text that it is compared with.

/// The document of the editor.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    /// The text in the editor.
    pub(super) text: String,
    /// The text before the first fix, which changes are shown against.
    pub(super) before: String,
    /// Whether the reader wrote or chose the text, so that it is stored for the next visit. A link's text is not.
    pub(super) is_own: bool,
    /// Whether a fix was applied to `before`.
    pub(super) is_fixed: bool,
    /// The name of the file that the text came from; empty for none.
    pub(super) file: String,
}

impl Document {
    /// Replaces the document with a file, a link's text, or the example.
    pub(super) fn load(&mut self, text: String) {
        self.is_own = false;
        self.is_fixed = false;
        self.before.clone_from(&text);
        self.text = text;
    }

    /// The reader typed or pasted. `before` stays the pasted text until a fix was applied; a new paste starts over.
    pub(super) fn edit(&mut self, text: String) {
        let is_new_paste = is_new_paste(&self.text, &text);
        if !self.is_fixed || is_new_paste {
            self.is_fixed = false;
            self.before.clone_from(&text);
        }
        if is_new_paste {
            self.file.clear();
        }
        self.is_own = true;
        self.text = text;
    }

    /// A fix was applied.
    pub(super) fn apply(&mut self, text: String) {
        self.is_fixed = true;
        self.is_own = true;
        self.text = text;
    }

    /// Changes are shown from the current text on.
    pub(super) fn restart_comparison(&mut self) {
        self.before.clone_from(&self.text);
        self.is_fixed = false;
    }
}

/// Whether almost nothing of the old text is left at either end.
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
    fn changes_are_shown_against_the_paste_until_the_next_paste() {
        let mut document = Document::default();
        document.edit(PASTE.to_owned());
        document.apply("import torch\nx = torch.ones(4)\n".to_owned());
        document.edit("import torch\nx = torch.ones(5)\n".to_owned());
        assert_eq!(document.before, PASTE);
        document.edit("class Model:\n    pass\n".to_owned());
        assert_eq!(document.before, "class Model:\n    pass\n");
    }

    #[test]
    fn typing_before_the_first_fix_is_part_of_the_paste() {
        let mut document = Document::default();
        document.edit(PASTE.to_owned());
        document.edit(format!("{PASTE}y = x\n"));
        assert_eq!(document.before, document.text);
    }
}
