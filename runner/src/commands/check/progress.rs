//! A progress bar on standard error, if that is a terminal.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressStyle};

/// With fewer files no bar is shown.
const WORTH_A_BAR: u64 = 50;

/// A bar for this many files. Hidden if standard error is not a terminal.
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
