//! The kinds of pages, and the reading paths through them.

use serde::Deserialize;

/// The kind of all pages of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Teaches one idea, with an exercise.
    #[default]
    Tutorial,
    /// Steps for a task.
    HowTo,
    /// Background.
    Explanation,
}

impl Kind {
    /// In the order of navigation.
    pub(crate) const ALL: [Kind; 3] = [Kind::Tutorial, Kind::HowTo, Kind::Explanation];

    /// The name of one page.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Tutorial => "Tutorial",
            Kind::HowTo => "How-to guide",
            Kind::Explanation => "Explanation",
        }
    }

    /// The heading of a group of parts.
    pub(crate) fn group(self) -> &'static str {
        match self {
            Kind::Tutorial => "Tutorial",
            Kind::HowTo => "How-to guides",
            Kind::Explanation => "Explanations",
        }
    }

    /// Purpose of the pages.
    pub(crate) fn summary(self) -> &'static str {
        match self {
            Kind::Tutorial => "One idea a page, in the order of the work, with exercises.",
            Kind::HowTo => "Steps for one task each.",
            Kind::Explanation => "Background to read away from the keyboard.",
        }
    }

    /// The fragment of the group.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Kind::Tutorial => "tutorial",
            Kind::HowTo => "how-to",
            Kind::Explanation => "explanation",
        }
    }
}

/// A selection of pages for one group of readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadingPath {
    /// Someone who ports a first program.
    Newcomer,
    /// Someone who writes kernels.
    Kernel,
    /// Someone who leads a port.
    Team,
}

impl ReadingPath {
    /// In the order of navigation.
    pub(crate) const ALL: [ReadingPath; 3] = [
        ReadingPath::Newcomer,
        ReadingPath::Kernel,
        ReadingPath::Team,
    ];

    /// The word in front matter and address.
    pub(crate) fn slug(self) -> &'static str {
        match self {
            ReadingPath::Newcomer => "newcomer",
            ReadingPath::Kernel => "kernel",
            ReadingPath::Team => "team",
        }
    }

    pub(crate) fn from_slug(slug: &str) -> Option<ReadingPath> {
        ReadingPath::ALL
            .into_iter()
            .find(|path| path.slug() == slug)
    }

    /// The group of readers.
    pub(crate) fn title(self) -> &'static str {
        match self {
            ReadingPath::Newcomer => "Newcomer",
            ReadingPath::Kernel => "Kernel engineer",
            ReadingPath::Team => "Team lead",
        }
    }

    /// The goal of the path.
    pub(crate) fn summary(self) -> &'static str {
        match self {
            ReadingPath::Newcomer => {
                "You have a PyTorch program for NVIDIA GPUs. At the end it runs on AMD GPUs, its results are verified, and its speed is measured."
            }
            ReadingPath::Kernel => {
                "You write kernels. At the end you can count bytes, write Triton and HIP kernels for AMD GPUs, and read their machine code."
            }
            ReadingPath::Team => {
                "You lead a port. At the end you can plan it, check every change for regressions, and share one GPU host."
            }
        }
    }
}
