//! The rules that run: selected by name, id, or the first characters of an id.

/// The rules to run: all but the ignored ones, or only the selected ones.
#[derive(Clone, Debug, Default)]
pub struct RuleFilter {
    /// Ids of built-in rules and of a team's.
    select: Vec<String>,
    ignore: Vec<String>,
}

/// A rule that can be selected.
#[derive(Clone, Copy, Debug)]
pub struct KnownRule<'r> {
    pub id: &'r str,
    pub name: &'r str,
    /// True for a rule that runs only when it is selected by name.
    pub on_request: bool,
}

/// A selected or ignored rule that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no rule `{entered}`")]
pub struct UnknownRule {
    /// The name as it was entered.
    pub entered: String,
}

impl UnknownRule {
    /// The name and id of the rule among `known` that is closest to the one that was entered.
    pub fn nearest_of<'r>(
        &self,
        known: impl Iterator<Item = KnownRule<'r>>,
    ) -> Option<(&'r str, &'r str)> {
        let wanted = self.entered.to_ascii_lowercase();
        let distance = |rule: &KnownRule<'_>| {
            let by_id = edit_distance(&wanted, &rule.id.to_ascii_lowercase());
            edit_distance(&wanted, rule.name).min(by_id)
        };
        known
            .min_by_key(distance)
            // Up to a third of the characters may be wrong.
            .filter(|nearest| distance(nearest) * 3 <= wanted.len())
            .map(|nearest| (nearest.name, nearest.id))
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

impl RuleFilter {
    /// Rules of `known` by id, name, or the first characters of an id (`HW1`). An empty `select` is all of them.
    ///
    /// # Errors
    /// When a name matches no rule.
    pub fn new<T: AsRef<str>>(
        select: &[T],
        ignore: &[T],
        known: &[KnownRule<'_>],
    ) -> Result<Self, UnknownRule> {
        let mut filter = RuleFilter::default();
        for entered in select {
            expand(entered.as_ref(), known, &mut filter.select)?;
        }
        filter.without(ignore, known)
    }

    /// This filter without some more rules of `known`.
    ///
    /// # Errors
    /// When a name matches no rule.
    pub fn without<T: AsRef<str>>(
        mut self,
        ignore: &[T],
        known: &[KnownRule<'_>],
    ) -> Result<Self, UnknownRule> {
        for entered in ignore {
            expand(entered.as_ref(), known, &mut self.ignore)?;
        }
        Ok(self)
    }

    /// True if the rule with that id runs. One that runs only on request has to be selected.
    pub fn includes(&self, id: &str, on_request: bool) -> bool {
        let among = |ids: &[String]| ids.iter().any(|known| known == id);
        let is_default = self.select.is_empty() && !on_request;
        (is_default || among(&self.select)) && !among(&self.ignore)
    }
}

/// Adds the ids that `entered` selects: a rule's id or name, or the first characters of ids.
#[inline(never)]
fn expand(
    entered: &str,
    known: &[KnownRule<'_>],
    ids: &mut Vec<String>,
) -> Result<(), UnknownRule> {
    let entered = entered.trim();
    let before = ids.len();
    if let Some(rule) = known
        .iter()
        .find(|rule| rule.id.eq_ignore_ascii_case(entered) || rule.name == entered)
    {
        ids.push(rule.id.to_owned());
    } else if entered.len() > 2 {
        // A family: `HW1`, or the letters that a team's ids begin with.
        for rule in known {
            let is_start = rule
                .id
                .get(..entered.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(entered));
            if is_start && !rule.on_request {
                ids.push(rule.id.to_owned());
            }
        }
    }
    if ids.len() == before {
        return Err(UnknownRule {
            entered: entered.to_owned(),
        });
    }
    Ok(())
}
