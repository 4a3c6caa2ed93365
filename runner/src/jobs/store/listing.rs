//! Lists of jobs: the newest that match a filter, and the results of one program over time.

use super::{
    Store,
    error::Result,
    log::stored_name,
    positions::{Queued, positions},
    queries::{event, summary_at},
    sql::{Row, Sql, Value, values},
};
use hipward_protocol::{Event, JobState, JobSummary, JobView, ListedJob, Outcome};

/// Maximum number of words of a search that are used.
const MAX_WORDS: usize = 8;
/// The columns of a list.
const COLUMNS: &str = "id, outcomes, result, on_device, owner, state, rank, turn, number, device";
/// Maximum number of results in a history.
const MAX_RUNS: usize = 60;

/// The condition for jobs in a list. A job must match every field that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobFilter {
    /// Each word must be in the title, the result, a label, the id, the hash of the code, the device or the owner's name.
    pub(crate) search: String,
    /// The state.
    pub(crate) state: Option<JobState>,
    /// The device that the job was leased to last.
    pub(crate) device: Option<String>,
    /// An outcome of one of the job's variants.
    pub(crate) outcome: Option<Outcome>,
    /// One of the job's labels.
    pub(crate) label: Option<String>,
    /// The title.
    pub(crate) title: Option<String>,
    /// SHA-256 of the code.
    pub(crate) code_sha256: Option<String>,
    /// The owner. The inner None is the operator's own token.
    pub(crate) owner: Option<Option<String>>,
}

/// A job with its result.
#[derive(Clone, Debug)]
pub(crate) struct PastRun {
    /// The job.
    pub(crate) job: JobSummary,
    /// Its event log, folded without output and samples.
    pub(crate) view: JobView,
}

impl JobFilter {
    /// The condition in SQL, which begins with `where` or is empty, and its parameters.
    fn sql(&self) -> Result<(String, Vec<Value>)> {
        const TEXT: &str = "lower(coalesce(title, '') || ' ' || coalesce(result, '') || ' ' || coalesce(labels, '') || ' ' || id
            || ' ' || code_sha256 || ' ' || coalesce(on_device, '') || ' ' || coalesce(owner, ''))";
        let mut conditions: Vec<String> = Vec::new();
        let mut params: Vec<Value> = Vec::new();
        let mut add = |condition: &str, value: Value| {
            params.push(value);
            conditions.push(condition.replace('?', &format!("?{}", params.len())));
        };
        for word in self.search.split_whitespace().take(MAX_WORDS) {
            let pattern = format!("%{}%", escaped(word));
            add(&format!(r"{TEXT} like lower(?) escape '\'"), pattern.into());
        }
        if let Some(state) = &self.state {
            add("state = ?", stored_name(state)?.into());
        }
        if let Some(outcome) = &self.outcome {
            let pattern = format!("% {} %", stored_name(outcome)?);
            add("outcomes like ?", pattern.into());
        }
        if let Some(label) = &self.label {
            let quoted = serde_json::to_string(label)?;
            // Both databases distinguish upper and lower case here, unlike in `like`.
            add("replace(labels, ?, '') <> labels", quoted.into());
        }
        for (condition, value) in [
            ("on_device = ?", &self.device),
            ("title = ?", &self.title),
            ("code_sha256 = ?", &self.code_sha256),
        ] {
            if let Some(value) = value {
                add(condition, value.into());
            }
        }
        match &self.owner {
            Some(Some(owner)) => add("owner = ?", owner.into()),
            Some(None) => conditions.push("owner is null".to_owned()),
            None => {}
        }
        let sql = match conditions.is_empty() {
            true => String::new(),
            false => format!("where {}", conditions.join(" and ")),
        };
        Ok((sql, params))
    }
}

/// A text in a pattern of `like`, with `\` as the escape character.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// The jobs of a list, from the rows of `select` [`COLUMNS`].
fn listed(tx: &dyn Sql, rows: &[Row]) -> Result<Vec<ListedJob>> {
    let is_queued = |row: &&Row| row.get::<String>(5).is_ok_and(|state| state == "queued");
    let queued = rows.iter().filter(is_queued);
    let queued = queued.map(|row| Ok((row.get(0)?, Queued::read(row, 6)?)));
    let positions = positions(tx, queued.collect::<Result<Vec<_>>>()?)?;
    let mut listed = Vec::with_capacity(rows.len());
    for row in rows {
        let id: String = row.get(0)?;
        let Some(job) = summary_at(tx, &id, positions.get(&id).copied())? else {
            continue;
        };
        let has_verdict = row.get::<Option<String>>(1)?.is_some();
        let result: Option<String> = row.get(2)?;
        listed.push(ListedJob {
            job,
            headline: result.filter(|_| has_verdict),
            device: row.get(3)?,
            owner: row.get(4)?,
        });
    }
    Ok(listed)
}

impl Store {
    /// Up to `limit` jobs that match, the newest first.
    pub(crate) fn list(&self, filter: &JobFilter, limit: usize) -> Result<Vec<ListedJob>> {
        let (condition, mut params) = filter.sql()?;
        params.push(limit.into());
        let query = format!(
            "select {COLUMNS} from jobs {condition} order by number desc limit ?{}",
            params.len()
        );
        self.read(|tx| listed(tx, &tx.query(&query, &params)?))
    }

    /// A job as in a list.
    pub(crate) fn listed(&self, id: &str) -> Result<Option<ListedJob>> {
        let query = format!("select {COLUMNS} from jobs where id = ?1");
        self.read(|tx| Ok(listed(tx, &tx.query(&query, values![id])?)?.pop()))
    }

    /// The devices that jobs have been leased to, by id.
    pub(crate) fn used_devices(&self) -> Result<Vec<String>> {
        let rows = self.read(|tx| {
            tx.query(
                "select distinct on_device from jobs where on_device is not null order by on_device limit 200",
                &[],
            )
        })?;
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// The devices that run jobs at present, of all servers and hosts.
    pub(crate) fn leased_devices(&self) -> Result<Vec<String>> {
        let rows = self.read(|tx| {
            tx.query(
                "select on_device from jobs where state = 'running' and on_device is not null",
                &[],
            )
        })?;
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// The newest jobs with a verdict that match, the oldest first.
    pub(crate) fn history(&self, filter: &JobFilter) -> Result<Vec<PastRun>> {
        let done = JobFilter {
            state: Some(JobState::Done),
            ..filter.clone()
        };
        let mut runs = Vec::new();
        for listed in self.list(&done, MAX_RUNS)?.into_iter().rev() {
            let events = self.results(&listed.job.id)?;
            runs.push(PastRun {
                job: listed.job,
                view: JobView::from_events(&events),
            });
        }
        Ok(runs)
    }

    /// A job with its result, in any state.
    pub(crate) fn run(&self, id: &str) -> Result<Option<PastRun>> {
        let Some(job) = self.summary(id)? else {
            return Ok(None);
        };
        let events = self.results(id)?;
        Ok(Some(PastRun {
            job,
            view: JobView::from_events(&events),
        }))
    }

    /// The events of a job without output and samples.
    fn results(&self, id: &str) -> Result<Vec<Event>> {
        let rows = self.read(|tx| {
            tx.query(
                r#"select seq, attempt, at, body from events where job = ?1
                       and body not like '{"type":"log"%' and body not like '{"type":"samples"%' order by seq"#,
                values![id],
            )
        })?;
        rows.iter().map(event).collect()
    }
}
