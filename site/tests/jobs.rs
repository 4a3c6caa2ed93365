//! A job's page and its Markdown, in every state, from the same log of events.

#![cfg(feature = "ssr")]

mod support;

use hipward_protocol::{
    Advice, Comparison, Device, Environment, Event, EventBody, Failure, FailureCode, HostLoad, Hot,
    Idle, Isolation, IsolationLevel, JobSummary, JobView, LogStream, Measurement, Outcome,
    OutputError, Roofline, Stats, StopReason, Variant, VariantId, Vendor, Verdict,
};
use hipward_site::{JobComparison, JobPage, PageData, Route, benchmark_markdown, render_page};
use support::{BLOCKS, folder, site};

const COMPILE: VariantId = VariantId::named("compile");
const HOSTILE: &str = "<script>alert(1)</script> | `x` </textarea>";

fn variants() -> Vec<Variant> {
    [
        ("eager", "Eager"),
        ("compile", "torch.compile"),
        ("fused-ops", "Fused ops"),
    ]
    .map(|(id, label)| Variant {
        id: VariantId::named(id),
        label: label.into(),
        about: "What it is".into(),
    })
    .into()
}

fn page(bodies: Vec<EventBody>) -> JobPage {
    let events: Vec<Event> = (1..)
        .zip(bodies)
        .map(|(seq, body)| Event {
            seq,
            attempt: 1,
            at: "2026-11-21T16:00:00.000Z".into(),
            body,
        })
        .collect();
    let view = JobView::from_events(&events);
    JobPage {
        summary: JobSummary {
            id: "j1".into(),
            title: Some(HOSTILE.into()),
            state: view.state,
            attempt: 1,
            created_at: "2026-11-21T16:00:00Z".into(),
            variants: variants().into_iter().map(|variant| variant.id).collect(),
            labels: vec!["main".into()],
            requested_device: None,
            require: None,
            code_sha256: "00".repeat(32),
            last_seq: view.last_seq,
            position: None,
            failure: view.failure.clone(),
        },
        view,
        code: format!("# ```` {HOSTILE}\nclass Model: ...\n"),
    }
}

fn html(page: &JobPage) -> String {
    let site = site(folder(BLOCKS), "/x/");
    let data = PageData::Job(Box::new(page.clone()));
    let html = render_page(&site, &Route::Job("j1".into()), &data);
    // Markers between texts, which readers do not see.
    html.replace("<!>", "")
}

fn started() -> Vec<EventBody> {
    vec![
        EventBody::Queued {
            position: 0,
            reason: None,
        },
        EventBody::Leased {
            device: Device {
                id: "cpu".into(),
                name: "Some CPU".into(),
                vendor: Vendor::Cpu,
                arch: "x86_64".into(),
                memory_bytes: 1 << 34,
                current_job: None,
            },
        },
        EventBody::Measured(Measurement::Variants {
            variants: variants(),
        }),
        EventBody::Measured(Measurement::Environment(Environment {
            device_name: "Some CPU".into(),
            arch: "x86_64".into(),
            torch: "2.15.0+cpu".into(),
            triton: None,
            hip: None,
            cuda: None,
            driver: None,
            python: "3.11.2".into(),
            threads: 2,
            clock: "monotonic clock".into(),
            clock_overhead_ms: 0.0002,
            cache: "warm".into(),
            stop_rule: "interval within 1 %".into(),
            variables: Vec::new(),
            throttle: None,
            idle: None,
            audit: Vec::new(),
            time_limit_s: Some(600.0),
            load: Some(HostLoad {
                cpus: 2,
                load_average: Some(0.25),
                cpu_pressure: Some(0.034),
                ..HostLoad::default()
            }),
            isolation: Some(Isolation {
                level: IsolationLevel::Files,
                mechanisms: vec!["Landlock ABI 5".into()],
                missing: Vec::new(),
            }),
            code_sha256: "00".repeat(32),
            hipward: "0.1.0".into(),
        })),
        EventBody::Measured(Measurement::Unavailable {
            variant: VariantId::named("fused-ops"),
            reason: "Triton needs a GPU.".into(),
        }),
    ]
}

fn measured() -> Vec<EventBody> {
    let mut bodies = started();
    for (variant, median) in [(VariantId::EAGER, 2.0), (COMPILE, 1.25)] {
        bodies.push(EventBody::Measured(Measurement::Precision {
            variant: variant.clone(),
            passed: true,
            outputs: vec![OutputError {
                name: "0".into(),
                shape: vec![2, 4],
                dtype: "float32".into(),
                cosine: 0.999_999_5,
                max_abs: 1.2e-6,
                rms: 1e-7,
                eager_max_abs: 1.1e-6,
                eager_rms: 1e-7,
                mismatch: 0.0,
                limit_used: Some(0.43),
            }],
            seeds: 5,
            reference: "float64".into(),
            reason: None,
        }));
        bodies.push(EventBody::Measured(Measurement::Compile {
            variant: variant.clone(),
            seconds: 3.5,
            based_on: Vec::new(),
            includes: Vec::new(),
        }));
        bodies.push(EventBody::Measured(Measurement::Samples {
            variant: variant.clone(),
            round: 0,
            ms: vec![median; 40],
        }));
        bodies.push(EventBody::VariantDone {
            variant,
            stats: Stats {
                n: 40,
                dropped: 0,
                median,
                mean: median,
                p5: median,
                p20: median,
                p80: median,
                p95: median,
                min: median,
                max: median,
                ci_low: median * 0.99,
                ci_high: median * 1.01,
                stop: StopReason::Converged,
                wide_spread: false,
                floor_share: None,
            },
        });
    }
    bodies.push(EventBody::Log {
        stream: LogStream::Stdout,
        text: HOSTILE.into(),
    });
    bodies.push(EventBody::Verdict(Verdict {
        comparisons: vec![Comparison {
            variant: COMPILE,
            speedup: 1.6,
            ci_low: 1.55,
            ci_high: 1.65,
            outcome: Outcome::Faster,
            reason: None,
        }],
        control: None,
        best: Some(COMPILE),
        summary: "torch.compile is 1.6 times as fast as eager here.".into(),
        load: Some(HostLoad {
            cpus: 2,
            other_cpu_share: Some(0.123),
            busy_processes: Some(1),
            involuntary_switches: Some(7),
            ..HostLoad::default()
        }),
    }));
    bodies.push(EventBody::Done);
    bodies
}

/// The page, the file and the terminal.
fn everywhere(page: &JobPage) -> [String; 3] {
    let text = hipward_site::benchmark_text(&page.view);
    [html(page), benchmark_markdown(page), text]
}

#[test]
fn conditions_include_the_load_of_the_host() {
    for text in everywhere(&page(measured())) {
        for part in [
            "Host before the run",
            "2 CPUs, load average 0.3, a task waited for a CPU 3 % of the time",
            "Host during the timing",
            "2 CPUs, other processes used 12 % of the CPUs’ time, other busy processes: 1, involuntary context switches of \
             the job: 7",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}

#[test]
fn a_doubtful_outcome_has_its_reason_in_place_of_a_headline() {
    let mut bodies = measured();
    let reason = "too few samples: 6 in 6 rounds, a verdict needs 10 in 5";
    for body in &mut bodies {
        if let EventBody::Verdict(verdict) = body {
            verdict.best = None;
            verdict.comparisons[0].outcome = Outcome::Ambiguous;
            verdict.comparisons[0].reason = Some(reason.into());
            verdict.summary = format!("No verdict; ambiguous: torch.compile ({reason}).");
        }
    }
    let page = page(bodies);
    for text in everywhere(&page) {
        assert!(
            text.contains(reason) && text.contains("AMBIGUOUS"),
            "{text}"
        );
        assert!(!text.contains("times as fast"), "{text}");
    }
    assert!(html(&page).contains("<dt>Why ambiguous</dt>"));
}

#[test]
fn a_job_that_was_stopped_at_its_limit_shows_what_it_measured() {
    let mut bodies = measured();
    bodies.pop();
    bodies.push(EventBody::Failed(Failure {
        code: FailureCode::Timeout,
        message: "It was stopped at its time limit of 60 seconds.".into(),
        help: "Choose fewer variants.".into(),
        traceback: None,
    }));
    for text in everywhere(&page(bodies)) {
        let both = "time limit of 60 seconds. torch.compile is 1.6 times as fast";
        assert!(text.contains(both), "{text}");
    }
}

#[test]
fn a_variant_that_fails_after_it_was_timed_shows_no_figures() {
    let mut bodies = measured();
    let end = bodies.len() - 2;
    bodies.truncate(end);
    bodies.push(EventBody::Measured(Measurement::Precision {
        variant: COMPILE,
        passed: false,
        outputs: Vec::new(),
        seeds: 0,
        reference: "float64".into(),
        reason: Some("It changed.".into()),
    }));
    bodies.push(EventBody::Done);
    let page = page(bodies);
    let row = page.view.variants.iter().find(|row| row.variant == COMPILE);
    assert!(row.is_some_and(|row| row.stats.is_none() && row.samples.is_empty()));
    assert!(html(&page).contains("Not timed: It changed."));
}

#[test]
fn a_finished_job_shows_numbers_with_their_conditions() {
    let html = html(&page(measured()));
    for part in [
        ">Done</strong> torch.compile is 1.6 times as fast as eager here.",
        "1.25 (1.24–1.26)",
        "1.60× (1.55–1.65)",
        "data-verdict=\"FASTER\"",
        "Passed: max error 1.2e-6 (eager 1.1e-6), 43 % of the limit, cosine 1.000000, 5 seeds against float64",
        "Not available here: Triton needs a GPU.",
        "class=\"plot\"><title",
        "milliseconds per call, lower is better",
        "The plot as a table",
        "resource limits, system calls and files: Landlock ABI 5",
        "interval within 1 %",
        "href=\"/x/api/v1/jobs/j1/report.json\"",
        "href=\"/x/api/v1/jobs/j1/report.md\"",
    ] {
        assert!(html.contains(part), "{part} is not in {html}");
    }
    assert!(
        !html.contains("<leptos-island"),
        "a job that has ended loads no module"
    );
    assert!(!html.contains("Cancel this job"), "it cannot be cancelled");
}

/// The same job on a GPU: with a floor, a second figure, sensors, dropped samples, and a trick.
fn on_a_gpu() -> Vec<EventBody> {
    let mut bodies = measured();
    for body in &mut bodies {
        match body {
            EventBody::Measured(Measurement::Environment(environment)) => {
                environment.throttle = Some("NVML throttle reasons, read twice a second".into());
                environment.idle = Some(Idle {
                    source: Some("NVML".into()),
                    sm_mhz: Some(345),
                    max_sm_mhz: Some(1980),
                    temperature_c: Some(31.4),
                    power_w: Some(76.0),
                    busy_percent: Some(0.0),
                    other_processes: Some(2),
                    ..Idle::default()
                });
                environment.audit = vec![Advice {
                    setting: "HSA_ENABLE_SDMA".into(),
                    found: HOSTILE.into(),
                    why: "Copies wait for it.".into(),
                    command: "export HSA_ENABLE_SDMA=1".into(),
                }];
            }
            EventBody::VariantDone { variant, stats } => {
                stats.dropped = usize::from(*variant == COMPILE) * 3;
                stats.floor_share = Some(0.3 / stats.median);
            }
            EventBody::Verdict(verdict) => verdict.comparisons[0].outcome = Outcome::Impossible,
            _ => {}
        }
    }
    bodies.insert(
        bodies.len() - 2,
        EventBody::Measured(Measurement::Roofline(Roofline {
            bytes_read: 3 << 30,
            bytes_written: 1 << 20,
            flops: 2_000_000_000,
            copy_gbs: 4300.0,
            bandwidth_gbs: 4800.0,
            bandwidth_source: "the data sheet".into(),
            peak_tflops: Some(989.0),
            peak_source: "the data sheet".into(),
            floor_ms: 0.3,
            bound: "memory".into(),
        })),
    );
    bodies.insert(
        bodies.len() - 2,
        EventBody::Measured(Measurement::Warning {
            text: "The result of Model does not depend on its <inputs>.".into(),
        }),
    );
    bodies.insert(
        bodies.len() - 2,
        EventBody::Measured(Measurement::Hot {
            variant: COMPILE,
            hot: Hot {
                ms: vec![0.9, 0.7, 0.8],
                calls: 20,
                wall_ms: 0.85,
            },
        }),
    );
    bodies
}

#[test]
fn a_gpu_s_page_and_markdown_say_what_the_figures_can_be_trusted_for() {
    let page = page(on_a_gpu());
    let html = html(&page);
    for part in [
        "data-verdict=\"IMPOSSIBLE\"",
        "torch.compile is faster than the device can do this work.",
        "With warm caches, ms\" class=\"number\">0.800<",
        "Floor ÷ median\" class=\"number\">24 %<",
        "0.300 ms is the floor: no variant can be faster than the device can move the bytes.",
        "3.00 GiB",
        "4800 GB/s, from the data sheet",
        "The dashed line is the floor",
        "compute clock 345 of 1980 MHz, 31 °C, 76 W, 0 % busy, 2 other processes, read from NVML",
        "NVML throttle reasons, read twice a second",
        "The device was not ours alone: 2 other processes",
        "3 samples from that time were dropped",
        "<p class=\"report-note\">The result of Model does not depend on its &lt;inputs&gt;.</p>",
        "3 batches of 20 calls; 0.850 ms a call on the host’s clock",
        "Settings of this host that cost time: 1",
        "export HSA_ENABLE_SDMA=1",
    ] {
        assert!(html.contains(part), "{part} is not in {html}");
    }
    assert!(!html.contains("<script>alert"), "{html}");
    let markdown = benchmark_markdown(&page);
    for part in [
        "| torch.compile | 1.25 (1.24–1.26) | 0.800 | 1.60× (1.55–1.65) | IMPOSSIBLE | 24 % |",
        "> torch.compile is faster than the device can do this work.",
        "> The result of Model does not depend on its &lt;inputs>.",
        "## Floor\n\n0.300 ms is the floor",
        "- Bandwidth: 4800 GB/s, from the data sheet",
        "- Device before the run: compute clock 345 of 1980 MHz",
        "- `HSA_ENABLE_SDMA`, found &lt;script>",
    ] {
        assert!(markdown.contains(part), "{part} is not in {markdown}");
    }
    let rows = markdown.lines().filter(|line| line.starts_with('|'));
    for row in rows {
        assert_eq!(row.replace("\\|", "").matches('|').count(), 10, "{row}");
    }
}

#[test]
fn a_variant_lists_its_steps_and_an_unannounced_variant_shows_its_id() {
    let mut bodies = measured();
    let stats = bodies.iter().find_map(|body| match body {
        EventBody::VariantDone { stats, .. } => Some(stats.clone()),
        _ => None,
    });
    let stats = stats.expect("a variant was timed");
    for (variant, lower) in [("fused-projections", "compile"), ("brand-new", "eager")] {
        let variant = VariantId::named(variant);
        bodies.push(EventBody::Measured(Measurement::Compile {
            variant: variant.clone(),
            seconds: 1.0,
            based_on: vec![VariantId::named(lower)],
            includes: vec!["Fused ops: norm, mlp".into()],
        }));
        bodies.push(EventBody::VariantDone {
            variant,
            stats: stats.clone(),
        });
    }
    let page = page(bodies);
    let (html, markdown) = (html(&page), benchmark_markdown(&page));
    assert!(
        html.contains("<dt>Includes</dt><dd>torch.compile; Fused ops: norm, mlp</dd>"),
        "{html}"
    );
    assert!(html.contains("<th scope=\"row\">brand-new</th>"), "{html}");
    assert!(
        markdown.contains("- brand-new includes: Eager; Fused ops: norm, mlp"),
        "{markdown}"
    );
}

#[test]
fn running_job_has_its_state_for_the_browser() {
    let mut bodies = measured();
    bodies.truncate(8);
    let html = html(&page(bodies));
    assert!(html.contains("&quot;last_seq&quot;:8"), "{html}");
    assert!(html.contains("/x/api/v1/jobs/j1"), "{html}");
    assert!(html.contains("Timing: 40 samples"), "{html}");
    assert!(html.contains("Cancel this job"), "{html}");
    assert!(html.contains("<leptos-island"), "{html}");
}

#[test]
fn a_waiting_a_cancelled_and_a_failed_job_say_so() {
    let waiting = html(&page(vec![EventBody::Queued {
        position: 2,
        reason: Some("the runner was restarted.".into()),
    }]));
    assert!(
        waiting.contains("Waiting; 2 jobs are ahead. Reason: the runner was restarted."),
        "{waiting}"
    );

    let mut bodies = started();
    bodies.push(EventBody::Cancelled);
    assert!(html(&page(bodies)).contains("The job was cancelled."));

    let mut bodies = started();
    bodies.push(EventBody::Failed(Failure {
        code: FailureCode::ForwardError,
        message: "`forward` raised ValueError.".into(),
        help: "Call it with `get_inputs()` by hand.".into(),
        traceback: Some(HOSTILE.into()),
    }));
    let failed = html(&page(bodies));
    assert!(
        failed.contains("<code>forward</code> raised ValueError."),
        "{failed}"
    );
    assert!(
        failed.contains("Call it with <code>get_inputs()</code> by hand."),
        "{failed}"
    );
    assert!(failed.contains("End of the traceback"), "{failed}");
}

#[test]
fn output_of_a_snippet_is_escaped() {
    let html = html(&page(measured()));
    assert!(!html.contains("<script>alert"), "{html}");
    let data = PageData::None;
    let missing = render_page(&site(folder(BLOCKS), "/"), &Route::Job("j2".into()), &data);
    assert!(missing.contains("There is no page here"));
}

#[test]
fn control_characters_of_a_snippet_are_not_in_the_markdown() {
    let escape = "\u{1b}]52;c;aGk=\u{7}bad";
    let mut bodies = measured();
    bodies.pop();
    bodies.push(EventBody::Failed(Failure {
        code: FailureCode::ForwardError,
        message: escape.into(),
        help: escape.into(),
        traceback: Some(format!("line 1\n\tline 2 {escape}")),
    }));
    let page = JobPage {
        code: escape.into(),
        ..page(bodies)
    };
    let markdown = benchmark_markdown(&page);
    assert!(markdown.contains("line 1\n\tline 2 ]52;c;aGk=bad"));
    let is_steering = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    assert!(!markdown.contains(is_steering), "{markdown:?}");
}

#[test]
fn the_markdown_keeps_its_table_and_its_fences() {
    let markdown = benchmark_markdown(&page(measured()));
    let table: Vec<&str> = markdown
        .lines()
        .filter(|line| line.starts_with('|'))
        .collect();
    assert_eq!(table.len(), 5, "{markdown}");
    for row in &table {
        assert_eq!(row.replace("\\|", "").matches('|').count(), 8, "{row}");
    }
    assert!(
        markdown.contains("| torch.compile | 1.25 (1.24–1.26) | 1.60× (1.55–1.65) | FASTER |"),
        "{markdown}"
    );
    assert!(
        markdown.contains("- Isolation: resource limits, system calls and files: Landlock ABI 5"),
        "{markdown}"
    );
    // The code holds four backticks, so its fence has five.
    assert!(markdown.contains("\n`````python\n# ````"), "{markdown}");
    assert!(markdown.trim_end().ends_with("\n`````"), "{markdown}");
}

/// A job in which eager, its control and a variant took these times, with the outcome of the control's comparison with eager.
fn timed(times: [f64; 3], control: Option<(f64, f64, Outcome)>) -> JobPage {
    let mut bodies = measured();
    let template = bodies.iter().find_map(|body| match body {
        EventBody::VariantDone { stats, .. } => Some(stats.clone()),
        _ => None,
    });
    let template = template.expect("is measured");
    bodies.retain(|body| !matches!(body, EventBody::VariantDone { .. } | EventBody::Done));
    for (variant, median) in [VariantId::EAGER, VariantId::CONTROL, COMPILE]
        .into_iter()
        .zip(times)
    {
        let stats = Stats {
            median,
            ci_low: median * 0.99,
            ci_high: median * 1.01,
            ..template.clone()
        };
        bodies.push(EventBody::VariantDone { variant, stats });
    }
    for body in &mut bodies {
        if let EventBody::Verdict(verdict) = body {
            verdict.control = control.map(|(ci_low, ci_high, outcome)| Comparison {
                variant: VariantId::CONTROL,
                speedup: 1.0,
                ci_low,
                ci_high,
                outcome,
                reason: None,
            });
        }
    }
    bodies.push(EventBody::Done);
    page(bodies)
}

const AGREES: Option<(f64, f64, Outcome)> = Some((0.99, 1.01, Outcome::Same));

#[test]
fn a_difference_between_jobs_within_their_noise_is_no_evidence() {
    let before = timed([2.0, 2.0, 1.0], AGREES);
    let slower = |now: &JobPage| -> Vec<String> {
        let comparison = JobComparison::new(&before.view, &now.view);
        comparison.slower().map(str::to_owned).collect()
    };
    assert_eq!(slower(&timed([2.0, 2.0, 1.3], AGREES)), ["torch.compile"]);
    // The control is eager once more: that it is slower is noise.
    assert!(slower(&timed([2.0, 3.0, 1.0], AGREES)).is_empty());
    let noisy = Some((0.7, 1.4, Outcome::Ambiguous));
    assert!(slower(&timed([2.0, 2.0, 1.3], noisy)).is_empty());
    assert_eq!(slower(&timed([2.0, 2.0, 1.6], noisy)), ["torch.compile"]);
    let certain = Some((1.3, 1.4, Outcome::Faster));
    let uncertain = timed([2.0, 2.0, 100.0], certain);
    assert!(slower(&uncertain).is_empty());
    let text = JobComparison::new(&before.view, &uncertain.view).text("base");
    assert!(text.contains("0.0100× ["), "{text}");
    assert!(text.contains("eager differs from itself"), "{text}");
}

#[test]
fn jobs_side_by_side_show_their_noise_and_can_change_places() {
    let site = site(folder(BLOCKS), "/x/");
    let render = |jobs: Vec<JobPage>| {
        let html = render_page(&site, &Route::Compare, &PageData::Compare(jobs));
        html.replace("<!>", "")
    };
    let jobs = |control| {
        let mut second = timed([2.0, 2.0, 1.3], control);
        second.summary.id = "j2".into();
        vec![timed([2.0, 2.0, 1.0], AGREES), second]
    };
    let quiet = render(jobs(AGREES));
    assert!(
        quiet.contains("class=\"slower\">0.769× [0.754, 0.785]"),
        "{quiet}"
    );
    assert!(
        quiet.contains("?job=j2&amp;job=j1\">Make it the first"),
        "{quiet}"
    );
    let noisy = render(jobs(Some((0.7, 1.4, Outcome::Ambiguous))));
    assert!(noisy.contains("class=\"hint\">0.769×"), "{noisy}");
    assert!(noisy.contains("eager differs from itself"), "{noisy}");
}
