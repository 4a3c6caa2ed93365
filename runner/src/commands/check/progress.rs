//! A progress bar on standard error, where a person sees it.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressStyle};

/// Fewer files are done before a bar is read.
const WORTH_A_BAR: u64 = 50;

/// A bar over so many files; a hidden one where nobody would look at it.
pub(super) fn bar(files: u64, quiet: bool) -> ProgressBar {
    if quiet || files < WORTH_A_BAR || !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(files);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} files, {eta} left") {
        bar.set_style(style);
    }
    bar
}
