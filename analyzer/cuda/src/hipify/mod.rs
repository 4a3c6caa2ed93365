//! The roc libraries and MIOpen, which `[target] libraries = "roc"` selects in place of hipBLAS and its siblings.
//!
//! `names.txt` has a line for each CUDA name: its counterpart, or `-` if MIOpen has none, and the changes of a call's
//! arguments. `analyzer/renew-hipify-names` generates it from HIPIFY. Arguments count from 0:
//!
//! * `8=x`: `x` replaces the argument;
//! * `9+x,y`: `x` and `y` are inserted before the argument, or appended if there are not as many;
//! * `7*8`: a copy of argument 7 is inserted before argument 8;
//! * `2-3>5`: arguments 2 to 3 move before argument 5, or to the end if there are not as many;
//! * `4~`: the argument is removed;
//! * `5@f`: the argument becomes `f(argument)`.
//!
//! The browser module does not have the table.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::{Source, Tokens};
use hipward_analyzer_core::diagnostic::Replacement;

/// The browser module has no setting that needs the table.
pub(crate) const IS_COMPLETE: bool = cfg!(not(target_family = "wasm"));

const NAMES: &str = if IS_COMPLETE {
    include_str!("names.txt")
} else {
    ""
};

/// An upper limit for the text of a call, which is copied; keeps the time for nested calls linear.
const MAX_LENGTH: usize = 4_000;

static TABLE: LazyLock<HashMap<&str, (&str, &str)>> = LazyLock::new(|| {
    let line = |line: &'static str| {
        let (cuda, rest) = line.split_once(' ')?;
        Some((cuda, rest.split_once(' ').unwrap_or((rest, ""))))
    };
    NAMES.lines().skip(1).filter_map(line).collect()
});

/// The entry of a CUDA name or header.
pub(crate) enum RocName {
    /// The name in AMD's library, and the changes of the arguments of a call.
    Known(&'static str, &'static str),
    /// MIOpen has no counterpart.
    Unsupported,
}

/// The entry of `cuda`; `None` if it is not a name of a library that has a roc counterpart.
pub(crate) fn roc_name(cuda: &str) -> Option<RocName> {
    let entry = if IS_COMPLETE { TABLE.get(cuda) } else { None };
    entry.map(|(roc, changes)| match *roc {
        "-" => RocName::Unsupported,
        roc => RocName::Known(roc, changes),
    })
}

/// The replacement for a header of such a library.
pub(crate) fn roc_header(cuda: &str) -> Option<&'static str> {
    let entry = if IS_COMPLETE && cuda.ends_with(".h") {
        TABLE.get(cuda)
    } else {
        None
    };
    entry.map(|(roc, _)| *roc)
}

/// The edits of the arguments of the call at `at`; `None` if the call does not have the arguments that `changes` name.
pub(crate) fn rewrite(source: &Source<'_>, at: u32, changes: &str) -> Option<Vec<Replacement>> {
    if !IS_COMPLETE || changes.is_empty() {
        return Some(Vec::new());
    }
    let call = source.call(at)?;
    if source.span(call.clone()).len() > MAX_LENGTH {
        return None;
    }
    let arguments = source.arguments(&call);
    let count = arguments.len();
    let text = |tokens: &Tokens| source.slice(tokens.clone()).to_owned();
    let mut kept: Vec<Option<String>> = arguments.iter().map(|it| Some(text(it))).collect();
    let mut before: Vec<Vec<String>> = vec![Vec::new(); count + 1];
    for change in changes.split(' ') {
        let mark = change.find(|c: char| !c.is_ascii_digit())?;
        let index: usize = change[..mark].parse().ok()?;
        let (sign, rest) = change[mark..].split_at(1);
        if sign == "+" {
            before[index.min(count)].extend(rest.split(',').map(str::to_owned));
            continue;
        }
        let argument = text(arguments.get(index)?);
        match sign {
            "=" => kept[index] = Some(rest.to_owned()),
            "~" => kept[index] = None,
            "@" => kept[index] = Some(format!("{rest}({argument})")),
            "*" => before[rest.parse::<usize>().ok()?.min(count)].push(argument),
            _ => {
                let (last, to) = rest.split_once('>')?;
                let (last, to) = (last.parse::<usize>().ok()?, to.parse::<usize>().ok()?);
                let moved = arguments.get(index..=last)?;
                before[to.min(count)].extend(moved.iter().map(text));
                kept[index..=last].fill(None);
            }
        }
    }
    replacement(source, &arguments, kept, before)
}

/// One edit from the first changed argument to the last. A comment between them prevents it.
fn replacement(
    source: &Source<'_>,
    arguments: &[Tokens],
    kept: Vec<Option<String>>,
    mut before: Vec<Vec<String>>,
) -> Option<Vec<Replacement>> {
    let old: Vec<String> = arguments
        .iter()
        .map(|it| source.slice(it.clone()).to_owned())
        .collect();
    let mut new = Vec::new();
    for (index, argument) in kept.into_iter().enumerate() {
        new.append(&mut before[index]);
        new.extend(argument);
    }
    new.append(before.last_mut()?);
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - same;
    let same_end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(rest)
        .take_while(|(a, b)| a == b)
        .count();
    // One argument on each side is in the edit, so that it includes the commas.
    let first = same.saturating_sub(1);
    let end_of = |count: usize| count.saturating_sub(same_end.saturating_sub(1));
    let span = source
        .span(arguments.get(first)?.start..arguments.get(end_of(old.len()).checked_sub(1)?)?.end);
    let is_plain = |tokens: &[Tokens]| {
        tokens.windows(2).all(|pair| {
            let gap = source.span(pair[0].clone()).end..source.span(pair[1].clone()).start;
            let gap = source.text.get(gap).unwrap_or_default();
            gap.trim() == ","
        })
    };
    if !is_plain(&arguments[first..end_of(old.len())]) {
        return None;
    }
    Some(vec![(span, new[first..end_of(new.len())].join(", "))])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(changes: &str, call: &str) -> String {
        let source = Source::new(call);
        let mut text = call.to_owned();
        for (span, with) in rewrite(&source, 0, changes).unwrap_or_default() {
            text.replace_range(span, &with);
        }
        text
    }

    #[test]
    fn changes_apply_to_the_arguments_of_a_call() {
        for (changes, wanted) in [
            ("", "f(a, b, c, d)"),
            ("1=x", "f(a, x, c, d)"),
            ("1~", "f(a, c, d)"),
            ("0~", "f(b, c, d)"),
            ("3~", "f(a, b, c)"),
            ("2+x", "f(a, b, x, c, d)"),
            ("9+x", "f(a, b, c, d, x)"),
            ("1+x,y", "f(a, x, y, b, c, d)"),
            ("3=x 4+y", "f(a, b, c, x, y)"),
            ("1*2", "f(a, b, b, c, d)"),
            ("1-1>2 2-2>1", "f(a, c, b, d)"),
            ("1-2>9", "f(a, d, b, c)"),
            ("2-3>1", "f(a, c, d, b)"),
            ("1@g", "f(a, g(b), c, d)"),
            ("0~ 2~", "f(b, d)"),
            // The call has no such argument.
            ("7=x", "f(a, b, c, d)"),
        ] {
            assert_eq!(called(changes, "f(a, b, c, d)"), wanted, "{changes}");
        }
        assert_eq!(called("1~", "f(a, /* why */ b, c)"), "f(a, /* why */ b, c)");
    }

    #[test]
    fn table_states_its_release_and_has_valid_changes() {
        assert!(NAMES.starts_with("# HIPIFY for ROCm "));
        assert!(TABLE.len() > 2_000);
        let source =
            Source::new("f(a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a)");
        for (cuda, (_, changes)) in TABLE.iter() {
            assert!(
                rewrite(&source, 0, changes).is_some(),
                "{cuda} has an invalid change: {changes}"
            );
        }
    }
}
