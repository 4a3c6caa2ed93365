//! What can happen in the playground. JavaScript says it as two strings, an act and an argument:
//! from a button's `data-act` and `data-arg`, a select's value, an edit, a file.

use hipward_analyzer_core::{Arch, Language, Version};

/// Something happened.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// The text was edited.
    Edit(String),
    /// The next text comes from a file of this name.
    File(String),
    /// A file was opened.
    Open(String),
    /// A folder of this name was opened.
    Folder(String),
    /// How far the check of the folder is, or what came of it, as JSON.
    Project(String),
    /// Open the file of the project at this place in its list.
    OpenFile(usize),
    /// Its text.
    Opened(String),
    /// Save the folder's fixed files, as a patch or a zip.
    Download(String),
    /// Close the folder.
    CloseProject,
    /// Something was done, in a sentence.
    Notice(String),
    /// Something could not be done, in a sentence.
    Trouble(String),
    /// The address has a new fragment.
    Fragment(String),
    /// Back to the example.
    Reset,
    /// Apply one finding's fix.
    Fix(u32),
    /// Apply every fix that keeps behaviour.
    FixSafe,
    /// Add what the benchmark contract asks for.
    Skeleton,
    /// Compare with the text as it is now.
    Compare,
    /// Move the caret to a range.
    Go(String),
    /// Make a link.
    Share,
    /// Text area or editor.
    Plain(bool),
    /// Judge for another architecture, …
    Arch(Arch),
    /// … ROCm, …
    Rocm(Version),
    /// … PyTorch …
    Torch(Version),
    /// … or Python.
    Python(Version),
    /// Read the text as a language; as what it reads like when there is none.
    Language(Option<Language>),
    /// The page is left.
    Leave,
    /// Send to the runner.
    Benchmark,
    /// Take the kernel to the machine code's page.
    Isa,
}

impl Message {
    /// Reads an act and its argument; `None` for what is not an act.
    pub(super) fn parse(act: &str, argument: String) -> Option<Message> {
        let version = |text: String| Version::try_from(text).ok();
        Some(match act {
            "edit" => Message::Edit(argument),
            "file" => Message::File(argument),
            "open" => Message::Open(argument),
            "folder" => Message::Folder(argument),
            "project" => Message::Project(argument),
            "open-file" => Message::OpenFile(argument.parse().ok()?),
            "opened" => Message::Opened(argument),
            "download" => Message::Download(argument),
            "close-project" => Message::CloseProject,
            "notice" => Message::Notice(argument),
            "trouble" => Message::Trouble(argument),
            "fragment" => Message::Fragment(argument),
            "reset" => Message::Reset,
            "fix" => Message::Fix(argument.parse().ok()?),
            "fix-safe" => Message::FixSafe,
            "skeleton" => Message::Skeleton,
            "compare" => Message::Compare,
            "go" => Message::Go(argument),
            "share" => Message::Share,
            "plain" => Message::Plain(argument == "true"),
            "arch" => Message::Arch(Arch::ALL.into_iter().find(|arch| arch.name() == argument)?),
            "rocm" => Message::Rocm(version(argument)?),
            "torch" => Message::Torch(version(argument)?),
            "python" => Message::Python(version(argument)?),
            "language" => Message::Language(Language::of_name(&argument)),
            "leave" => Message::Leave,
            "benchmark" => Message::Benchmark,
            "isa" => Message::Isa,
            _ => return None,
        })
    }
}
