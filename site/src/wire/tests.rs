//! What serde writes is what the browser reads, for every kind of event and for a real report.

use super::Decode;
use hipward_analyzer::{Options, Report, analyze};
use hipward_protocol::{
    Advice, Comparison, Device, Environment, Event, EventBody, Failure, FailureCode, HostLoad, Hot,
    Idle, Isolation, IsolationLevel, LogStream, Measurement, Outcome, OutputError, Roofline, Stats,
    Step, StopReason, Variant, VariantId, Vendor, Verdict,
};

fn measurements() -> Vec<Measurement> {
    let text = || "text".to_owned();
    let variant = VariantId::named("compile");
    let isolation = Isolation {
        level: IsolationLevel::Files,
        mechanisms: vec![text()],
        missing: vec![text()],
    };
    vec![
        Measurement::Variants {
            variants: vec![Variant {
                id: variant.clone(),
                label: text(),
                about: text(),
            }],
        },
        Measurement::Environment(Environment {
            device_name: text(),
            arch: text(),
            torch: text(),
            triton: Some(text()),
            hip: None,
            cuda: None,
            driver: Some(text()),
            python: text(),
            threads: 2,
            clock: text(),
            clock_overhead_ms: 0.001,
            cache: text(),
            stop_rule: text(),
            variables: vec![(text(), text())],
            throttle: Some(text()),
            idle: Some(Idle {
                source: Some(text()),
                sm_mhz: Some(345),
                temperature_c: Some(31.5),
                ..Idle::default()
            }),
            audit: vec![Advice {
                setting: text(),
                found: text(),
                why: text(),
                command: text(),
            }],
            time_limit_s: Some(600.0),
            load: Some(HostLoad {
                cpus: 2,
                cpu_pressure: Some(0.25),
                ..HostLoad::default()
            }),
            isolation: Some(isolation),
            code_sha256: text(),
            hipward: text(),
        }),
        Measurement::Step {
            step: Step::WarmUp,
            variant: Some(variant.clone()),
        },
        Measurement::Unavailable {
            variant: variant.clone(),
            reason: text(),
        },
        Measurement::Precision {
            variant: variant.clone(),
            passed: false,
            outputs: vec![OutputError {
                name: text(),
                shape: vec![2, 3],
                dtype: text(),
                cosine: 0.5,
                max_abs: 1e-6,
                rms: 1e-7,
                eager_max_abs: 2e-6,
                eager_rms: 2e-7,
                mismatch: 0.25,
                limit_used: Some(0.5),
            }],
            seeds: 5,
            reference: text(),
            reason: None,
        },
        Measurement::Roofline(Roofline {
            bytes_read: 1 << 40,
            bytes_written: 64,
            flops: 0,
            copy_gbs: 4275.0,
            bandwidth_gbs: 4800.0,
            bandwidth_source: text(),
            peak_tflops: None,
            peak_source: text(),
            floor_ms: 0.25,
            bound: text(),
        }),
        Measurement::Warning { text: text() },
        Measurement::Compile {
            variant: variant.clone(),
            seconds: 1.25,
            based_on: vec![variant.clone()],
            includes: vec![text()],
        },
        Measurement::Hot {
            variant: variant.clone(),
            hot: Hot {
                ms: vec![0.5, 0.25],
                calls: 20,
                wall_ms: 0.75,
            },
        },
        Measurement::Samples {
            variant: variant.clone(),
            round: 3,
            ms: vec![1.0, 2.5],
        },
    ]
}

fn bodies() -> Vec<EventBody> {
    let text = || "text".to_owned();
    let variant = VariantId::named("compile");
    let comparison = Comparison {
        variant: variant.clone(),
        speedup: 1.5,
        ci_low: 1.4,
        ci_high: 1.6,
        outcome: Outcome::Faster,
        reason: Some(text()),
    };
    vec![
        EventBody::Queued {
            position: 2,
            reason: Some(text()),
        },
        EventBody::Leased {
            device: Device {
                id: text(),
                name: text(),
                vendor: Vendor::Amd,
                arch: text(),
                memory_bytes: 192 << 30,
                current_job: None,
            },
        },
        EventBody::VariantDone {
            variant: variant.clone(),
            stats: Stats {
                n: 30,
                dropped: 1,
                median: 1.0,
                mean: 1.1,
                p5: 0.9,
                p20: 0.95,
                p80: 1.2,
                p95: 1.3,
                min: 0.8,
                max: 1.4,
                ci_low: 0.99,
                ci_high: 1.01,
                stop: StopReason::SampleCap,
                wide_spread: true,
                floor_share: Some(0.5),
            },
        },
        EventBody::Log {
            stream: LogStream::Stderr,
            text: "é 漢 🎉".to_owned(),
        },
        EventBody::Verdict(Verdict {
            comparisons: vec![comparison.clone()],
            control: Some(comparison),
            best: Some(variant),
            summary: text(),
            load: Some(HostLoad::default()),
        }),
        EventBody::Done,
        EventBody::Failed(Failure {
            code: FailureCode::ForwardError,
            message: text(),
            help: text(),
            traceback: None,
        }),
        EventBody::Cancelled,
    ]
}

#[test]
fn every_event_survives_the_wire() {
    let measured = measurements().into_iter().map(EventBody::Measured);
    for body in bodies().into_iter().chain(measured) {
        let event = Event {
            seq: 7,
            attempt: 1,
            at: "2026-11-21T16:00:00.000Z".to_owned(),
            body,
        };
        let json = serde_json::to_value(&event).expect("serializes");
        assert_eq!(Event::decode(&json), Some(event), "{json}");
    }
}

#[test]
fn a_report_survives_the_wire() {
    let source = include_str!("../page/example.py");
    let report = analyze(source, &Options::default());
    assert!(report.findings.len() > 2, "the example has findings");
    let json = serde_json::to_value(&report).expect("serializes");
    assert_eq!(Report::decode(&json), Some(report));
}

#[test]
fn another_shape_is_refused() {
    let json = serde_json::json!({"seq": 1, "attempt": 1, "at": "", "type": "party"});
    assert_eq!(Event::decode(&json), None);
}
