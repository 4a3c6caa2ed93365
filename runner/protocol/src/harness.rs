//! The protocol between the runner and the harness: a job on standard input, lines on a private
//! pipe. The runner turns each line into events.

use crate::{Failure, Measurement, StopReason, VariantId};
use serde::{Deserialize, Serialize};

/// A line of the harness with the job's secret, which distinguishes it from text that a snippet writes
/// to the pipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HarnessMessage {
    /// [`HarnessJob::nonce`]. Absent before the job was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// The content.
    #[serde(flatten)]
    pub line: HarnessLine,
}

/// A line the harness writes on its private pipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(
    clippy::large_enum_variant,
    reason = "handled one at a time; a box would show in every match"
)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HarnessLine {
    /// PyTorch is imported; a job may be sent.
    Ready,
    /// The job was read; nothing of it has run yet.
    Accepted,
    /// Sampling of a variant ended. The runner then stores [`crate::EventBody::VariantDone`].
    Sampled {
        /// The variant.
        variant: VariantId,
        /// Why sampling ended.
        stop: StopReason,
        /// Throttled samples that were dropped.
        #[serde(default)]
        dropped: usize,
    },
    /// The job cannot go on.
    Error(Failure),
    /// All variants ended.
    Finished,
    /// All other lines. They become events unchanged.
    #[serde(untagged)]
    Measured(Measurement),
}

/// The one line the runner writes to the harness's standard input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HarnessJob {
    /// The snippet.
    pub code: String,
    /// The variants in ladder order, including `eager`.
    pub variants: Vec<VariantId>,
    /// PyTorch device.
    pub device: String,
    /// Limit of the sampling time per variant, seconds. Reported in the environment.
    pub time_cap_s: f64,
    /// Time limit of the job, seconds from when it is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_s: Option<f64>,
    /// A secret that every line about this job must contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label;

    #[test]
    fn line_with_nonce_is_parsed() {
        let text = r#"{"type":"sampled","nonce":"5ec2e7","variant":"eager","stop":"converged","dropped":3}"#;
        let message: HarnessMessage = serde_json::from_str(text).expect("is a line");
        assert_eq!(message.nonce.as_deref(), Some("5ec2e7"));
        assert!(matches!(
            message.line,
            HarnessLine::Sampled { dropped: 3, .. }
        ));
    }

    #[test]
    fn lines_of_an_older_harness_are_parsed() {
        let read = |text| serde_json::from_str::<HarnessMessage>(text).expect("is a line");
        let old = read(r#"{"type":"compile","variant":"compile","seconds":2.5}"#);
        assert_eq!(old.nonce, None);
        let HarnessLine::Measured(Measurement::Compile {
            based_on, includes, ..
        }) = old.line
        else {
            panic!("not a compilation: {old:?}")
        };
        assert!(based_on.is_empty() && includes.is_empty());
        let old = read(
            r#"{"type":"environment","device_name":"a","arch":"b","torch":"2","python":"3","threads":1,
                "clock":"c","clock_overhead_ms":0.1,"cache":"warm","stop_rule":"d"}"#,
        );
        let HarnessLine::Measured(Measurement::Environment(conditions)) = old.line else {
            panic!("not the conditions: {old:?}")
        };
        assert_eq!((conditions.idle, conditions.audit), (None, Vec::new()));
    }

    #[test]
    fn events_stored_under_former_names_are_read() {
        let read =
            |text: &'static str| serde_json::from_str::<Measurement>(text).expect("is an event");
        assert_eq!(
            read(r#"{"type":"rungs","rungs":[{"id":"a","label":"A","about":"First"}]}"#),
            read(r#"{"type":"variants","variants":[{"id":"a","label":"A","about":"First"}]}"#)
        );
        assert_eq!(
            read(r#"{"type":"compile","variant":"a","seconds":1,"stands_on":["b"],"holds":["c"]}"#),
            read(
                r#"{"type":"compile","variant":"a","seconds":1,"based_on":["b"],"includes":["c"]}"#
            )
        );
        let roofline = r#"{"type":"roofline","bytes_read":1,"bytes_written":1,"flops":0,"copy_gbs":1,"bandwidth_gbs":1,
            "bandwidth_from":"a","peak_from":"b","floor_ms":1,"bound":"memory"}"#;
        let Measurement::Roofline(roofline) = read(roofline) else {
            panic!("{roofline}")
        };
        assert_eq!(
            (roofline.bandwidth_source, roofline.peak_source),
            ("a".to_owned(), "b".to_owned())
        );
        assert_eq!(
            read(r#"{"type":"caution","text":"Read this."}"#),
            read(r#"{"type":"warning","text":"Read this."}"#)
        );
    }

    #[test]
    fn hot_roofline_and_variants_lines_parse() {
        let read = |text| match serde_json::from_str(text).expect("is a line") {
            HarnessLine::Measured(measurement) => measurement,
            other => panic!("not a measurement: {other:?}"),
        };
        let hot = read(
            r#"{"type":"hot","variant":"compile","hot":{"ms":[0.1,0.11],"calls":20,"wall_ms":0.12}}"#,
        );
        assert!(matches!(hot, Measurement::Hot { hot, .. } if hot.calls == 20));
        let floor = read(
            r#"{"type":"roofline","bytes_read":128,"bytes_written":64,"flops":0,"copy_gbs":4275.0,
                "bandwidth_gbs":4800.0,"bandwidth_source":"the data sheet",
                "peak_source":"no matrix product","floor_ms":0.00004,"bound":"memory"}"#,
        );
        assert!(matches!(floor, Measurement::Roofline(floor) if floor.peak_tflops.is_none()));
        let variants = read(
            r#"{"type":"variants","variants":[{"id":"new","label":"A new one","about":"Unknown to this version"}]}"#,
        );
        let Measurement::Variants { variants } = variants else {
            panic!("not the variants: {variants:?}")
        };
        assert_eq!(label(&variants, &VariantId::named("new")), "A new one");
        assert_eq!(label(&variants, &VariantId::EAGER), "eager");
    }

    #[test]
    fn unknown_lines_are_rejected() {
        for text in [
            r#"{"type":"party"}"#,
            r#"{"type":"samples","variant":"eager"}"#,
            "{}",
        ] {
            assert!(
                serde_json::from_str::<HarnessMessage>(text).is_err(),
                "{text}"
            );
        }
    }
}
