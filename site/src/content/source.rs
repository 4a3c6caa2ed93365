//! The files beside a lesson: whole, or the region between two marker lines.

use super::Mistake;
use std::collections::BTreeMap;

/// The text files of a content folder, by path.
pub(crate) type Files = BTreeMap<String, String>;

/// One lesson's view of the files: names are relative to its folder.
pub(crate) struct Folder<'a> {
    pub(crate) files: &'a Files,
    pub(crate) path: &'a str,
}

impl Folder<'_> {
    /// Text of a file as shown to readers: without the line that says how it is tested and without
    /// marker lines.
    pub(crate) fn whole(&self, name: &str) -> Result<String, Mistake> {
        let kept = self.lines(name)?.filter(|line| marker(line).is_none());
        Ok(tidy(kept))
    }

    /// A file as it is.
    pub(crate) fn text(&self, name: &str) -> Result<&str, Mistake> {
        self.files
            .get(&format!("{}/{name}", self.path))
            .map(String::as_str)
            .ok_or_else(|| Mistake::NoFile(name.to_owned()))
    }

    /// A file without the line that states how it is tested. Markers are retained.
    pub(crate) fn program(&self, name: &str) -> Result<String, Mistake> {
        Ok(without_test_line(self.text(name)?).to_owned())
    }

    /// The files of a lesson that readers can download, as names and texts. The page itself, the answers of exercises
    /// and scripts that draw figures are not among them.
    pub(crate) fn downloads(&self) -> Vec<(String, String)> {
        let prefix = format!("{}/", self.path);
        self.files
            .range(prefix.clone()..)
            .map_while(|(path, text)| Some((path.strip_prefix(&prefix)?, text)))
            .filter(|(name, text)| self.is_download(name, text))
            .map(|(name, text)| (name.to_owned(), without_test_line(text).to_owned()))
            .collect()
    }

    fn is_download(&self, name: &str, text: &str) -> bool {
        if name == "lesson.md" || name.ends_with(".svg") || text.starts_with("# test: figure ") {
            return false;
        }
        match name.split_once('/') {
            Some((folder, file)) => {
                let is_exercise = self
                    .files
                    .contains_key(&format!("{}/{folder}/judge.py", self.path));
                !is_exercise || matches!(file, "start.py" | "start.hip" | "judge.py")
            }
            None => true,
        }
    }

    /// The region of a file between `# anchor: name` and `# end: name`, moved to the left edge.
    pub(crate) fn region(&self, name: &str, anchor: &str) -> Result<String, Mistake> {
        let missing = || Mistake::NoAnchor {
            file: name.to_owned(),
            anchor: anchor.to_owned(),
        };
        let lines: Vec<&str> = self.lines(name)?.collect();
        let find = |kind| {
            lines
                .iter()
                .position(|line| marker(line) == Some((kind, anchor)))
        };
        let (Some(start), Some(end)) = (find("anchor"), find("end")) else {
            return Err(missing());
        };
        let inside = lines.get(start + 1..end).ok_or_else(missing)?;
        Ok(tidy(
            inside.iter().copied().filter(|line| marker(line).is_none()),
        ))
    }

    fn lines(&self, name: &str) -> Result<impl Iterator<Item = &str>, Mistake> {
        Ok(without_test_line(self.text(name)?).lines())
    }
}

fn without_test_line(text: &str) -> &str {
    match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("# test:") => rest,
        _ => text,
    }
}

/// `# anchor: name` → `("anchor", "name")`, in the comment style of any language.
fn marker(line: &str) -> Option<(&str, &str)> {
    let comment = line.trim();
    let body = comment
        .strip_prefix('#')
        .or_else(|| comment.strip_prefix("//"))?;
    let (kind, name) = body.trim_start().split_once(": ")?;
    matches!(kind, "anchor" | "end").then_some((kind, name.trim()))
}

/// Common indentation removed, no blank lines at either end, one line feed after the last line.
fn tidy<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<&str> = lines.collect();
    let indentation = lines
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let mut text = String::new();
    for line in lines {
        text.push_str(line.get(indentation..).unwrap_or_default());
        text.push('\n');
    }
    let mut text = text.trim_matches('\n').to_owned();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(text: &str) -> Files {
        Files::from([("01-a/01-b/code.py".to_owned(), text.to_owned())])
    }

    #[test]
    fn a_file_is_shown_without_its_test_line_and_markers() {
        let files = files("# test: run\n\nimport torch\n# anchor: x\ny = 1\n# end: x\n");
        let folder = Folder {
            files: &files,
            path: "01-a/01-b",
        };
        assert_eq!(folder.whole("code.py"), Ok("import torch\ny = 1\n".into()));
    }

    #[test]
    fn a_region_is_moved_to_the_left_edge() {
        let files =
            files("class A:\n    # anchor: f\n    def f(self):\n        return 1\n    # end: f\n");
        let folder = Folder {
            files: &files,
            path: "01-a/01-b",
        };
        assert_eq!(
            folder.region("code.py", "f"),
            Ok("def f(self):\n    return 1\n".into())
        );
        assert!(matches!(
            folder.region("code.py", "g"),
            Err(Mistake::NoAnchor { .. })
        ));
        assert_eq!(
            folder.whole("other.py"),
            Err(Mistake::NoFile("other.py".into()))
        );
    }
}
