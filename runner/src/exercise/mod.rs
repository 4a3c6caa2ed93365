//! The exercises that are judged by running: the `write` blocks of the lessons and the folders they name.
//!
//! The judge itself is Python (`kernels/hipward_kernels/exercise`). The server runs it in a worker with the isolation of
//! a job, and `hipward try` runs it on this machine.

mod result;

pub(crate) use result::Judged;

use serde::Deserialize;
use std::collections::BTreeMap;

/// The exercises of a content folder.
#[derive(Debug, Default)]
pub(crate) struct Exercises(Vec<Exercise>);

/// One exercise.
#[derive(Debug)]
pub(crate) struct Exercise {
    /// Its lesson, as in the address of the page: `optimize/first-triton-kernel`.
    pub(crate) lesson: String,
    /// The name of its folder.
    pub(crate) id: String,
    /// The block in the lesson.
    pub(crate) block: WriteBlock,
    /// Its text files, by their path in its folder.
    pub(crate) files: BTreeMap<String, String>,
}

/// The parts of a `write` block that a terminal shows.
#[derive(Debug, Deserialize)]
pub(crate) struct WriteBlock {
    dir: String,
    /// Title.
    pub(crate) title: String,
    /// What to do, in one or two sentences.
    pub(crate) task: String,
    /// Hints, from a question to a line with one gap.
    #[serde(default)]
    pub(crate) hint: Vec<Hint>,
}

/// One hint.
#[derive(Debug, Deserialize)]
pub(crate) struct Hint {
    /// Markdown.
    pub(crate) text: String,
}

/// The last file name of an exercise's files.
const JUDGE: &str = "judge.py";

impl Exercises {
    /// Finds the exercises among the files of a content folder: each block of a lesson whose folder has a judge.
    pub(crate) fn find(files: &[(String, String)]) -> Self {
        let mut found = Vec::new();
        for (path, text) in files {
            let Some((folder, lesson)) = lesson(path) else {
                continue;
            };
            for block in blocks(text) {
                let below = format!("{folder}/{}/", block.dir);
                let files: BTreeMap<String, String> = files
                    .iter()
                    .filter_map(|(path, text)| {
                        Some((path.strip_prefix(&below)?.to_owned(), text.clone()))
                    })
                    .collect();
                if files.contains_key(JUDGE) {
                    found.push(Exercise {
                        lesson: lesson.clone(),
                        id: block.dir.clone(),
                        block,
                        files,
                    });
                }
            }
        }
        Exercises(found)
    }

    /// An exercise by its lesson (`part/lesson`) and its id.
    pub(crate) fn get(&self, lesson: &str, id: &str) -> Option<&Exercise> {
        self.0
            .iter()
            .find(|exercise| exercise.lesson == lesson && exercise.id == id)
    }

    /// The exercises that a name can mean: `part/lesson/id`, `lesson/id`, `part/lesson`, `lesson` or `id`.
    pub(crate) fn named(&self, name: &str) -> Vec<&Exercise> {
        let name = name.trim_matches('/');
        let means = |exercise: &&Exercise| {
            let address = exercise.address();
            let (_, slug) = exercise.lesson.split_once('/').unwrap_or_default();
            [address.as_str(), &exercise.lesson, slug, &exercise.id].contains(&name)
                || format!("{slug}/{}", exercise.id) == name
        };
        self.0.iter().filter(means).collect()
    }

    /// All of them, in the order of the lessons.
    pub(crate) fn all(&self) -> &[Exercise] {
        &self.0
    }
}

impl Exercise {
    /// `part/lesson/id`
    pub(crate) fn address(&self) -> String {
        format!("{}/{}", self.lesson, self.id)
    }

    /// Suffix of its programs: `hip` for kernels that the emulator executes, otherwise `py`.
    pub(crate) fn suffix(&self) -> &'static str {
        if self.files.contains_key("start.hip") {
            "hip"
        } else {
            "py"
        }
    }

    /// A file of its folder.
    pub(crate) fn file(&self, name: &str) -> Option<&str> {
        self.files.get(name).map(String::as_str)
    }
}

/// The folder of a lesson's file, and its name in addresses: both folder names without their numbers.
fn lesson(path: &str) -> Option<(&str, String)> {
    let folder = path.strip_suffix("/lesson.md")?;
    let (part, lesson) = folder.split_once('/')?;
    let slug = |name: &str| {
        let (number, slug) = name.split_once('-')?;
        number
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| slug.to_owned())
    };
    Some((folder, format!("{}/{}", slug(part)?, slug(lesson)?)))
}

/// The `write` blocks of a lesson. Invalid ones are left out: parsing the content reports them.
fn blocks(markdown: &str) -> Vec<WriteBlock> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in markdown.lines() {
        match &mut open {
            None if line.trim_end() == "```write" => open = Some(String::new()),
            Some(_) if line.trim_end() == "```" => {
                let text = open.take().unwrap_or_default();
                blocks.extend(toml::from_str::<WriteBlock>(&text).ok());
            }
            Some(text) => {
                text.push_str(line);
                text.push('\n');
            }
            None => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    const LESSON: &str = "\
Text.

```write
dir = \"rmsnorm\"
title = \"Write it\"
task = \"Fill the hole.\"
minutes = 15
[[hint]]
text = \"Which lanes?\"
```

```write
dir = \"absent\"
title = \"No folder\"
task = \"Nothing.\"
```
";

    fn exercises() -> Exercises {
        let files = [
            ("03-optimize/09-kernel/lesson.md", LESSON),
            ("03-optimize/09-kernel/rmsnorm/judge.py", "judge"),
            ("03-optimize/09-kernel/rmsnorm/wrong/a.py", "wrong"),
            ("03-optimize/10-other/rmsnorm/judge.py", "other"),
            ("reference/lesson.md", LESSON),
        ];
        Exercises::find(&files.map(|(path, text)| (path.to_owned(), text.to_owned())))
    }

    #[test]
    fn exercise_has_the_files_of_its_folder() {
        let exercises = exercises();
        assert_eq!(exercises.all().len(), 1);
        let exercise = exercises.get("optimize/kernel", "rmsnorm").expect("exists");
        assert_eq!(exercise.address(), "optimize/kernel/rmsnorm");
        assert_eq!(exercise.file("judge.py"), Some("judge"));
        assert_eq!(exercise.file("wrong/a.py"), Some("wrong"));
        assert_eq!(exercise.files.len(), 2);
        assert_eq!(exercise.block.hint[0].text, "Which lanes?");
    }

    #[test]
    fn exercise_is_found_by_each_of_its_names() {
        let exercises = exercises();
        for name in [
            "optimize/kernel/rmsnorm",
            "optimize/kernel",
            "kernel/rmsnorm",
            "kernel",
            "rmsnorm",
            "optimize/kernel/",
        ] {
            assert_eq!(exercises.named(name).len(), 1, "{name}");
        }
        for name in ["", "optimize", "other", "09-kernel"] {
            assert!(exercises.named(name).is_empty(), "{name}");
        }
    }
}
