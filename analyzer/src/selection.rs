//! Which rules run: picked by name, id, or the beginning of an id.

use crate::rules::{RULES, RuleMeta};
use crate::team::TeamRules;

/// Which rules to run: all but the ignored ones, or only the selected ones.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Ids, of built-in rules and of a team's.
    select: Vec<String>,
    ignore: Vec<String>,
}

/// A rule was asked for that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no rule `{asked}`")]
pub struct UnknownRule {
    /// What was asked for.
    pub asked: String,
}

impl UnknownRule {
    /// The name and id of the rule, built in or a team's, that is close to what was asked for.
    pub fn nearest<'t>(&self, team: &'t TeamRules) -> Option<(&'t str, &'t str)> {
        let wanted = self.asked.to_ascii_lowercase();
        let distance = |(name, id): &(&str, &str)| {
            let by_id = edit_distance(&wanted, &id.to_ascii_lowercase());
            edit_distance(&wanted, name).min(by_id)
        };
        let ours = RULES.iter().map(|rule| (rule.name, rule.id));
        let theirs = team
            .iter()
            .map(|rule| (rule.name.as_str(), rule.id.as_str()));
        ours.chain(theirs)
            .min_by_key(distance)
            // A third of what was typed may be wrong; beyond that a guess is no help.
            .filter(|nearest| distance(nearest) * 3 <= wanted.len())
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
        Selection::with_team(select, ignore, &TeamRules::default())
    }

    /// [`Selection::new`] among the built-in rules and a team's.
    ///
    /// # Errors
    /// When a name matches no rule.
    pub fn with_team<T: AsRef<str>>(
        select: &[T],
        ignore: &[T],
        team: &TeamRules,
    ) -> Result<Self, UnknownRule> {
        let mut selection = Selection::default();
        for asked in select {
            expand(asked.as_ref(), team, &mut selection.select)?;
        }
        selection.without(ignore, team)
    }

    /// This selection without some more rules.
    ///
    /// # Errors
    /// When a name matches no rule.
    pub fn without<T: AsRef<str>>(
        mut self,
        ignore: &[T],
        team: &TeamRules,
    ) -> Result<Self, UnknownRule> {
        for asked in ignore {
            expand(asked.as_ref(), team, &mut self.ignore)?;
        }
        Ok(self)
    }

    /// True for a built-in rule that is wanted.
    pub(crate) fn includes(&self, rule: &RuleMeta) -> bool {
        self.wants(rule.id, rule.on_request)
    }

    /// True for a rule that is wanted: one that runs on request only has to be named.
    pub(crate) fn wants(&self, id: &str, on_request: bool) -> bool {
        let among = |ids: &[String]| ids.iter().any(|known| known == id);
        let is_default = self.select.is_empty() && !on_request;
        (is_default || among(&self.select)) && !among(&self.ignore)
    }
}

/// Adds the ids that `asked` stands for: a rule's id or name, or the beginning of ids.
#[inline(never)]
fn expand(asked: &str, team: &TeamRules, ids: &mut Vec<String>) -> Result<(), UnknownRule> {
    let asked = asked.trim();
    let known = || {
        let ours = RULES
            .iter()
            .map(|rule| (rule.id, rule.name, rule.on_request));
        let theirs = team
            .iter()
            .map(|rule| (rule.id.as_str(), rule.name.as_str(), false));
        ours.chain(theirs)
    };
    let before = ids.len();
    if let Some((id, ..)) =
        known().find(|(id, name, _)| id.eq_ignore_ascii_case(asked) || *name == asked)
    {
        ids.push(id.to_owned());
    } else if asked.len() > 2 {
        // A family: `HW1`, or the letters that a team's ids begin with.
        for (id, _, on_request) in known() {
            let is_start = id
                .get(..asked.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(asked));
            if is_start && !on_request {
                ids.push(id.to_owned());
            }
        }
    }
    if ids.len() == before {
        return Err(UnknownRule {
            asked: asked.to_owned(),
        });
    }
    Ok(())
}
