//! The events of a job.

use super::{Decode, Json, decode_enum, decode_struct, field};
use hipward_protocol::{
    Advice, Comparison, Device, Environment, Event, EventBody, Failure, FailureCode, HostLoad, Hot,
    Idle, Isolation, IsolationLevel, LogStream, Measurement, Outcome, OutputError, Roofline, Stats,
    Step, StopReason, Variant, VariantId, Vendor, Verdict,
};

impl Decode for Event {
    fn decode(json: &impl Json) -> Option<Self> {
        Some(Event {
            seq: field(json, "seq")?,
            attempt: field(json, "attempt")?,
            at: field(json, "at")?,
            body: body(json)?,
        })
    }
}

fn body(json: &impl Json) -> Option<EventBody> {
    let kind: String = field(json, "type")?;
    Some(match kind.as_str() {
        "queued" => EventBody::Queued {
            position: field(json, "position")?,
            reason: field(json, "reason")?,
        },
        "leased" => EventBody::Leased {
            device: field(json, "device")?,
        },
        "variant_done" => EventBody::VariantDone {
            variant: field(json, "variant")?,
            stats: field(json, "stats")?,
        },
        "log" => EventBody::Log {
            stream: field(json, "stream")?,
            text: field(json, "text")?,
        },
        "verdict" => EventBody::Verdict(Verdict::decode(json)?),
        "done" => EventBody::Done,
        "failed" => EventBody::Failed(Failure::decode(json)?),
        "cancelled" => EventBody::Cancelled,
        other => EventBody::Measured(measurement(other, json)?),
    })
}

fn measurement(kind: &str, json: &impl Json) -> Option<Measurement> {
    Some(match kind {
        "environment" => Measurement::Environment(Environment::decode(json)?),
        "step" => Measurement::Step {
            step: field(json, "step")?,
            variant: field(json, "variant")?,
        },
        "unavailable" => Measurement::Unavailable {
            variant: field(json, "variant")?,
            reason: field(json, "reason")?,
        },
        "precision" => Measurement::Precision {
            variant: field(json, "variant")?,
            passed: field(json, "passed")?,
            outputs: field(json, "outputs")?,
            seeds: field(json, "seeds")?,
            reference: field(json, "reference")?,
            reason: field(json, "reason")?,
        },
        "compile" => Measurement::Compile {
            variant: field(json, "variant")?,
            seconds: field(json, "seconds")?,
            based_on: field(json, "based_on")?,
            includes: field(json, "includes")?,
        },
        "roofline" => Measurement::Roofline(Roofline::decode(json)?),
        "warning" => Measurement::Warning {
            text: field(json, "text")?,
        },
        "hot" => Measurement::Hot {
            variant: field(json, "variant")?,
            hot: field(json, "hot")?,
        },
        "samples" => Measurement::Samples {
            variant: field(json, "variant")?,
            round: field(json, "round")?,
            ms: field(json, "ms")?,
        },
        "variants" => Measurement::Variants {
            variants: field(json, "variants")?,
        },
        _ => return None,
    })
}

impl Decode for VariantId {
    fn decode(json: &impl Json) -> Option<Self> {
        json.string().map(VariantId::from)
    }
}

decode_struct!(Variant { id, label, about });

decode_struct!(Device {
    id,
    name,
    vendor,
    arch,
    memory_bytes,
    current_job
});
decode_struct!(Isolation {
    level,
    mechanisms,
    missing
});
decode_struct!(Environment {
    device_name,
    arch,
    torch,
    triton,
    hip,
    cuda,
    driver,
    python,
    threads,
    clock,
    clock_overhead_ms,
    cache,
    stop_rule,
    variables,
    throttle,
    idle,
    audit,
    time_limit_s,
    load,
    isolation,
    code_sha256,
    hipward,
});
decode_struct!(Idle {
    source,
    unreadable,
    sm_mhz,
    max_sm_mhz,
    memory_mhz,
    temperature_c,
    power_w,
    busy_percent,
    other_processes,
    partition,
});
decode_struct!(HostLoad {
    cpus,
    load_average,
    cpu_pressure,
    other_cpu_share,
    busy_processes,
    involuntary_switches,
});
decode_struct!(Advice {
    setting,
    found,
    why,
    command
});
decode_struct!(Roofline {
    bytes_read,
    bytes_written,
    flops,
    copy_gbs,
    bandwidth_gbs,
    bandwidth_source,
    peak_tflops,
    peak_source,
    floor_ms,
    bound,
});
decode_struct!(Hot { ms, calls, wall_ms });
decode_struct!(OutputError {
    name,
    shape,
    dtype,
    cosine,
    max_abs,
    rms,
    eager_max_abs,
    eager_rms,
    mismatch,
    limit_used,
});
decode_struct!(Stats {
    n,
    dropped,
    median,
    mean,
    p5,
    p20,
    p80,
    p95,
    min,
    max,
    ci_low,
    ci_high,
    stop,
    wide_spread,
    floor_share,
});
decode_struct!(Comparison {
    variant,
    speedup,
    ci_low,
    ci_high,
    outcome,
    reason
});
decode_struct!(Verdict {
    comparisons,
    control,
    best,
    summary,
    load
});

decode_enum!(Vendor { "amd" => Amd, "nvidia" => Nvidia, "cpu" => Cpu });
decode_enum!(IsolationLevel { "limits" => Limits, "syscalls" => Syscalls, "files" => Files });
decode_enum!(LogStream { "stdout" => Stdout, "stderr" => Stderr, "runner" => Runner });
decode_enum!(StopReason {
    "converged" => Converged, "sample-cap" => SampleCap, "time-cap" => TimeCap, "time-limit" => TimeLimit,
});
decode_enum!(Step {
    "load" => Load, "reference" => Reference, "roofline" => Roofline, "compile" => Compile, "precision" => Precision,
    "warm-up" => WarmUp, "step-cost" => StepCost, "input-dependence" => InputDependence, "timing" => Timing,
    "warm-caches" => WarmCaches,
});
decode_enum!(Outcome {
    "FASTER" => Faster, "SLOWER" => Slower, "SAME" => Same, "AMBIGUOUS" => Ambiguous,
    "IMPOSSIBLE" => Impossible,
});
decode_struct!(Failure {
    code,
    message,
    help,
    traceback
});
decode_enum!(FailureCode {
    "syntax-error" => SyntaxError, "contract-missing" => ContractMissing,
    "import-error" => ImportError, "init-error" => InitError, "forward-error" => ForwardError,
    "not-finite" => NotFinite, "timeout" => Timeout, "memory-limit" => MemoryLimit,
    "process-limit" => ProcessLimit, "output-limit" => OutputLimit, "tampered" => Tampered, "crashed" => Crashed,
    "interrupted" => Interrupted, "isolation" => Isolation, "internal" => Internal,
});
