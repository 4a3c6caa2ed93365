//! Which rules run: picked by name, id, or the beginning of an id.

use crate::rules::{RULES, RuleMeta, rule};

/// Which rules to run: all but the ignored ones, or only the selected ones.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    select: Vec<&'static str>,
    ignore: Vec<&'static str>,
}

/// A rule was asked for that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no rule `{asked}`")]
pub struct UnknownRule {
    /// What was asked for.
    pub asked: String,
}

impl UnknownRule {
    /// The rule whose name or id is close to what was asked for.
    pub fn nearest(&self) -> Option<&'static RuleMeta> {
        let wanted = self.asked.to_ascii_lowercase();
        RULES
            .iter()
            .copied()
            .map(|rule| {
                let by_name = edit_distance(&wanted, rule.name);
                let by_id = edit_distance(&wanted, &rule.id.to_ascii_lowercase());
                (by_name.min(by_id), rule)
            })
            .min_by_key(|(distance, _)| *distance)
            // A third of what was typed may be wrong; beyond that a guess is no help.
            .filter(|(distance, _)| distance * 3 <= wanted.len())
            .map(|(_, rule)| rule)
    }
}

/// How many characters have to be added, removed or changed to get from `a` to `b`.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

impl Selection {
    /// Rules by id, name, or the beginning of an id (`HW1`); an empty `select` is all of them.
    ///
    /// # Errors
    /// When a name matches no rule.
    pub fn new<T: AsRef<str>>(select: &[T], ignore: &[T]) -> Result<Self, UnknownRule> {
        let expand = |names: &[T]| {
            let mut ids = Vec::new();
            for name in names {
                let name = name.as_ref().trim();
                let before = ids.len();
                ids.extend(rule(name).map(|rule| rule.id));
                let is_prefix = name.len() > 2
                    && name
                        .get(..2)
                        .is_some_and(|hw| hw.eq_ignore_ascii_case("HW"));
                if ids.len() == before && is_prefix {
                    let prefix = name.to_ascii_uppercase();
                    ids.extend(
                        RULES
                            .iter()
                            .filter(|rule| rule.id.starts_with(&prefix) && !rule.on_request)
                            .map(|rule| rule.id),
                    );
                }
                if ids.len() == before {
                    return Err(UnknownRule {
                        asked: name.to_owned(),
                    });
                }
            }
            Ok(ids)
        };
        Ok(Selection {
            select: expand(select)?,
            ignore: expand(ignore)?,
        })
    }

    pub(crate) fn includes(&self, rule: &RuleMeta) -> bool {
        let by_name = self.select.contains(&rule.id);
        (by_name || (self.select.is_empty() && !rule.on_request)) && !self.ignore.contains(&rule.id)
    }
}
