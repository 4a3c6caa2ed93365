//! Measurements of whole models: the runs of `results/models.csv`, by study and by compared property.

use super::csv::Table;

/// Metrics that begin so are points of a loss curve.
const LOSS: &str = "loss before step ";

/// A script of the workshop, and the tables that it recorded.
#[derive(Clone, Debug)]
pub(crate) struct Study {
    /// `compare-versions`
    pub(crate) name: String,
    pub(crate) comparisons: Vec<Comparison>,
    /// Its rows, for their conditions.
    pub(crate) rows: Table,
}

/// Runs that differ in nothing but the version and, where a study sweeps it, the length.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) size: String,
    pub(crate) batch_size: String,
    pub(crate) precision: String,
    pub(crate) date: String,
    pub(crate) runs: Vec<Run>,
}

/// One model, measured.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) version: String,
    /// Tokens of a sequence.
    pub(crate) length: String,
    pub(crate) switches: String,
    pub(crate) figures: Vec<Figure>,
}

/// One number.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) metric: String,
    pub(crate) unit: String,
    pub(crate) value: String,
    /// The interval's ends; empty where there is none.
    pub(crate) low: String,
    pub(crate) high: String,
}

/// Reads the rows, in their order.
pub(crate) fn parse(table: &Table) -> Vec<Study> {
    let names = table.distinct("study").into_iter();
    names
        .map(|name| {
            let rows = table.matching("study", name);
            let mut comparisons: Vec<Comparison> = Vec::new();
            for row in 0..rows.len() {
                let field = |column: &str| rows.field(row, column).to_owned();
                let [size, batch_size, precision, date] =
                    ["size", "batch_size", "precision", "date"].map(field);
                let same = |old: &&mut Comparison| {
                    (&old.size, &old.batch_size, &old.precision, &old.date)
                        == (&size, &batch_size, &precision, &date)
                };
                let figure = Figure {
                    metric: field("metric"),
                    unit: field("unit"),
                    value: field("value"),
                    low: field("low"),
                    high: field("high"),
                };
                let (version, length) = (field("version"), field("sequence_length"));
                if let Some(comparison) = comparisons.iter_mut().find(same) {
                    comparison.add(version, length, field("switches"), figure);
                } else {
                    let mut comparison = Comparison {
                        size,
                        batch_size,
                        precision,
                        date,
                        runs: Vec::new(),
                    };
                    comparison.add(version, length, field("switches"), figure);
                    comparisons.push(comparison);
                }
            }
            Study {
                name: name.to_owned(),
                comparisons,
                rows,
            }
        })
        .collect()
}

impl Comparison {
    /// A metric that a run already has belongs to the same subject measured again.
    fn add(&mut self, version: String, length: String, switches: String, figure: Figure) {
        let same = |run: &&mut Run| {
            run.version == version && run.length == length && run.figure(&figure.metric).is_none()
        };
        if let Some(run) = self.runs.iter_mut().find(same) {
            run.figures.push(figure);
        } else {
            self.runs.push(Run {
                version,
                length,
                switches,
                figures: vec![figure],
            });
        }
    }

    /// Metrics with their units, in order; points of loss curves apart.
    pub(crate) fn metrics(&self, losses: bool) -> Vec<(&str, &str)> {
        let mut found = Vec::new();
        for figure in self.runs.iter().flat_map(|run| &run.figures) {
            let metric = (figure.metric.as_str(), figure.unit.as_str());
            if figure.metric.starts_with(LOSS) == losses && !found.contains(&metric) {
                found.push(metric);
            }
        }
        found
    }

    /// Properties that all runs share: `medium, batch 16, length 512, bfloat16`.
    pub(crate) fn setting(&self) -> String {
        let length = match self.common_length() {
            Some(length) => format!("length {length}, "),
            None => String::new(),
        };
        format!(
            "{}, batch {}, {length}{}",
            self.size, self.batch_size, self.precision
        )
    }

    /// Properties that distinguish a run: `v1`, or `v1, length 128`.
    pub(crate) fn label(&self, run: &Run) -> String {
        match self.common_length() {
            Some(_) => run.name(),
            None => format!("{}, length {}", run.name(), run.length),
        }
    }

    /// The length of all runs, if they have the same.
    pub(crate) fn common_length(&self) -> Option<&str> {
        let first = self.runs.first()?.length.as_str();
        let same = self.runs.iter().all(|run| run.length == first);
        same.then_some(first)
    }
}

/// A version in words: `v2 without compile` for `v2 -compile`.
pub(crate) fn in_words(version: &str) -> String {
    version.replace(" -", " without ")
}

impl Run {
    /// The version in words.
    pub(crate) fn name(&self) -> String {
        in_words(&self.version)
    }

    pub(crate) fn figure(&self, metric: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.metric == metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_grouped_by_what_they_share_and_a_repetition_is_a_run_of_its_own() {
        let head = "study,version,size,batch_size,sequence_length,precision,metric,unit,value,low,high,switches,date\n";
        let rows = "ablation,none,tiny,2,8,float32,step,ms,4,3,5,none,d1\n\
                    ablation,none,tiny,2,8,float32,loss before step 1,nats,7,,,none,d1\n\
                    ablation,qkv,tiny,2,8,float32,step,ms,2,1,3,qkv,d1\n\
                    ablation,none,tiny,2,8,float32,step,ms,4.1,3,5,none,d1\n\
                    ablation,none,tiny,2,8,float32,step,ms,9,8,9,none,d2\n\
                    lengths,v1,tiny,2,8,float32,step,ms,1,1,1,none,d1\n\
                    lengths,v1,tiny,2,16,float32,step,ms,2,2,2,none,d1\n";
        let studies = parse(&Table::parse(&format!("{head}{rows}")));
        let names: Vec<&str> = studies.iter().map(|study| study.name.as_str()).collect();
        assert_eq!(names, ["ablation", "lengths"]);
        let [first, second] = studies[0].comparisons.as_slice() else {
            panic!("two dates are two comparisons");
        };
        let versions: Vec<&str> = first.runs.iter().map(|run| run.version.as_str()).collect();
        assert_eq!(versions, ["none", "qkv", "none"]);
        assert_eq!(first.metrics(false), [("step", "ms")]);
        assert_eq!(first.metrics(true), [("loss before step 1", "nats")]);
        assert_eq!(first.setting(), "tiny, batch 2, length 8, float32");
        assert_eq!(second.runs.len(), 1);
        let lengths = &studies[1].comparisons[0];
        assert_eq!(lengths.setting(), "tiny, batch 2, float32");
        assert_eq!(lengths.label(&lengths.runs[1]), "v1, length 16");
    }
}
