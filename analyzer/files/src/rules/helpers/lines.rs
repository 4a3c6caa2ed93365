//! Lines as parts of messages.

use crate::checker::FileChecker;
use crate::facts::Requirement;

/// ` Also in lines 12, 34`: where these requirements are, the first of them, without the line of `reported`. Empty if there are none.
pub(crate) fn also_in<'a>(
    cx: &FileChecker<'_>,
    reported: &Requirement<'_>,
    requirements: impl Iterator<Item = &'a Requirement<'a>>,
) -> String {
    const MAX: usize = 20;
    let line = |found: &Requirement<'_>| {
        let before = cx.source.get(..found.name.range().start);
        1 + before.map_or(0, |before| before.matches('\n').count())
    };
    let own = line(reported);
    let mut lines: Vec<usize> = requirements.map(line).filter(|line| *line != own).collect();
    lines.dedup();
    lines.truncate(MAX);
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    match &*lines {
        [] => String::new(),
        [only] => format!(" Also in line {only}"),
        _ => format!(" Also in lines {}", lines.join(", ")),
    }
}
