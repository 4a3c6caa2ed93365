//! Each kind of invalid snippet ends its job in the right state, with a helpful message, and the
//! next job runs. Each test has a server, so that the tests run beside each other.

use hipward_protocol::{EventBody, FailureCode, JobView, VariantId, VariantStatus};
use hipward_tests::{Server, end};
use serde_json::json;

/// A correct snippet; each case breaks one thing.
const GOOD: &str = r#"
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
    def forward(self, x):
        return torch.relu(x) * self.width

def get_inputs():
    return [torch.randn(64, 64)]

def get_init_inputs():
    return [2]
"#;

/// Reaches a frame without an audit event, as code in C can.
const FRAME: &str = "
import ctypes, subprocess, tempfile
library = tempfile.mkdtemp() + '/frame.so'
subprocess.run(
    ['cc', '-x', 'c', '-', '-shared', '-fPIC', '-o', library],
    input=b'void *PyThreadState_Get(void), *PyThreadState_GetFrame(void *);'
    b'void *this_frame(void) { return PyThreadState_GetFrame(PyThreadState_Get()); }',
    check=True,
)
this_frame = ctypes.PyDLL(library).this_frame
this_frame.restype = ctypes.py_object
";

/// Code that finds the harness's lines, which contain the job's secret.
const LINES: &str = "
frame = this_frame()
while not hasattr(frame.f_locals.get('self'), 'lines'):
    frame = frame.f_back
lines = frame.f_locals['self'].lines
";

/// Forged results in the order of real ones.
const FORGED: &str = "
from hipward_kernels.harness.lines import Precision
for variant, ms in (('eager', 10.0), ('eager-control', 10.0), ('model-new', 1.0)):
    lines.precision(variant, Precision(True, [], 5, 'float64'))
    lines.compile(variant, 0.1, [], [])
    for turn in range(10):
        lines.samples(variant, turn, [ms * (1 + 0.001 * i) for i in range(100)])
    lines.sampled(variant, 'converged', 0)
lines.finished()
import os; os._exit(0)
";

struct Case {
    name: &'static str,
    code: String,
    /// `None`: the job itself is done, and a variant is rejected.
    fails_with: Option<&'static [FailureCode]>,
    /// Words that the message must contain.
    message: &'static str,
}

fn case(
    name: &'static str,
    code: impl Into<String>,
    fails_with: &'static [FailureCode],
    message: &'static str,
) -> Case {
    Case {
        name,
        code: code.into(),
        fails_with: Some(fails_with),
        message,
    }
}

/// `GOOD` with the body of `forward` replaced.
fn forward(body: &str) -> String {
    GOOD.replace("return torch.relu(x) * self.width", body)
}

fn model_new(body: &str) -> String {
    format!(
        "{GOOD}\nclass ModelNew(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n        \
         self.width = width\n    def forward(self, x):\n        {body}\n"
    )
}

fn cases() -> Vec<Case> {
    use FailureCode::{
        ContractMissing, Crashed, ForwardError, ImportError, InitError, MemoryLimit, NotFinite,
        OutputLimit, ProcessLimit, SyntaxError, Timeout,
    };
    vec![
        case(
            "a syntax error",
            "class Model(:\n",
            &[SyntaxError],
            "line 1",
        ),
        case(
            "no contract",
            "print('hello')\n",
            &[ContractMissing],
            "Model",
        ),
        case(
            "raises in __init__",
            GOOD.replace("self.width = width", "raise ValueError('no width')"),
            &[InitError],
            "no width",
        ),
        case(
            "raises in forward",
            forward("raise KeyError('lost')"),
            &[ForwardError],
            "lost",
        ),
        case(
            "raises on import",
            format!("{GOOD}\nimport not_a_module\n"),
            &[ImportError],
            "not_a_module",
        ),
        case(
            "NaN in eager",
            forward("return x / 0 * 0"),
            &[NotFinite],
            "NaN",
        ),
        case(
            "prints 100 MB",
            forward("print('x' * 100_000_000, flush=True); return x"),
            &[OutputLimit],
            "MiB",
        ),
        case(
            "forks without end",
            forward("import os\n        while True:\n            os.fork()\n        return x"),
            // The kernel may refuse the fork before the supervisor counts it: then forward raises.
            &[ProcessLimit, ForwardError],
            "process",
        ),
        case(
            "allocates without end",
            forward(
                "held = []\n        while True:\n            held.append(torch.ones(64 << 20))\n        return x",
            ),
            &[MemoryLimit],
            "memory",
        ),
        case(
            "sleeps for ever",
            forward("import time; time.sleep(10_000); return x"),
            &[Timeout],
            "time limit of 60 s",
        ),
        case(
            "kills itself",
            forward("import os; os.kill(os.getpid(), 9)"),
            &[Crashed],
            "SIGKILL",
        ),
        case(
            "writes outside its directory",
            forward("open('/etc/hipward-was-here', 'w').write('x'); return x"),
            &[ForwardError],
            // "Permission denied", or "Read-only file system" in namespaces.
            "'/etc/hipward-was-here'",
        ),
        case(
            "opens a socket",
            forward(
                "import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM).connect(('127.0.0.1', 80)); return x",
            ),
            &[ForwardError],
            "",
        ),
        case(
            "writes the harness's lines on import",
            format!(
                "{GOOD}\n{FRAME}\n{LINES}\nlines.samples('eager', 0, [1.0] * 50)\nlines.finished()\nimport os; os._exit(0)\n"
            ),
            &[FailureCode::Internal],
            "before its precision",
        ),
        case(
            "writes all of the harness's lines on import",
            format!("{GOOD}\n{FRAME}\n{LINES}\n{FORGED}"),
            &[FailureCode::Tampered],
            "seconds had passed",
        ),
        case(
            "reads memory with ctypes",
            format!("{GOOD}\nimport ctypes\nctypes.string_at(id(torch), 8)\n"),
            &[FailureCode::Tampered],
            "finds the objects that measure it",
        ),
        case(
            "searches for the objects of the harness",
            format!("{GOOD}\nimport gc\ngc.get_objects()\n"),
            &[FailureCode::Tampered],
            "finds the objects that measure it",
        ),
        Case {
            name: "ModelNew turns wrong while it is timed",
            code: FRAME.to_owned()
                + &model_new(
                    "frame = this_frame()\n        \
                 while frame and frame.f_code.co_name != '_turn':\n            frame = frame.f_back\n        \
                 self.turns = getattr(self, 'turns', 0) + (frame is not None)\n        \
                 return torch.relu(x) * self.width if self.turns < 4 else x[:0].new_zeros(()).expand(64, 64)",
                ),
            fails_with: None,
            message: "in a timed call",
        },
        Case {
            name: "wrong shape from ModelNew",
            code: model_new("return torch.relu(x)[:1] * self.width"),
            fails_with: None,
            message: "shape",
        },
        Case {
            name: "NaN from ModelNew",
            code: model_new("return torch.relu(x) * float('nan')"),
            fails_with: None,
            message: "NaN",
        },
        Case {
            name: "ModelNew raises",
            code: model_new("raise RuntimeError('not today')"),
            fails_with: None,
            message: "not today",
        },
    ]
}

/// Whether a case waits for the time limit.
fn is_timeout(case: &Case) -> bool {
    case.fails_with == Some(&[FailureCode::Timeout])
}

#[test]
fn bad_snippets_fail_with_a_reason_and_the_next_job_runs() {
    run(|case| case.fails_with.is_some() && !is_timeout(case));
}

#[test]
fn rejected_variants_have_a_reason_and_the_next_job_runs() {
    run(|case| case.fails_with.is_none());
}

#[test]
fn endless_snippets_end_at_the_time_limit_and_the_next_job_runs() {
    run(is_timeout);
}

/// Runs the selected cases on one server.
fn run(is_selected: impl Fn(&Case) -> bool) {
    let data = tempfile::tempdir().expect("a folder");
    let cases: Vec<Case> = cases().into_iter().filter(is_selected).collect();
    assert!(!cases.is_empty());
    // Cases with other limits need long to reach these on a busy machine.
    let wall_limit = if cases.iter().all(is_timeout) {
        "60"
    } else {
        "180"
    };
    let flags = [
        "--wall-limit",
        wall_limit,
        "--memory-limit",
        "3GiB",
        "--time-cap",
        "0.5",
    ];
    let server = Server::start(data.path(), &flags);
    let mut wrong = Vec::new();
    for case in cases {
        let request = json!({ "code": case.code, "variants": ["eager", "model-new"] });
        let events = server.run(&request);
        let text = match (&case.fails_with, end(&events)) {
            (Some(codes), EventBody::Failed(failure)) if codes.contains(&failure.code) => {
                assert!(!failure.help.is_empty(), "{}: no help", case.name);
                failure.message.clone()
            }
            (None, EventBody::Done) => {
                let view = JobView::from_events(&events);
                let verdict = view.verdict.as_ref().expect("eager was measured");
                assert_eq!(verdict.comparisons, [], "{}", case.name);
                assert!(
                    !verdict.summary.contains("times as fast"),
                    "{}",
                    verdict.summary
                );
                view.variants
                    .iter()
                    .find(|row| row.variant == VariantId::named("model-new"))
                    .map_or_else(String::new, |row| match &row.status {
                        VariantStatus::Rejected(reason) => reason.clone(),
                        other => format!("{other:?}"),
                    })
            }
            (_, other) => {
                wrong.push(format!("{}: ended with {other:?}", case.name));
                continue;
            }
        };
        if !text.to_lowercase().contains(&case.message.to_lowercase()) {
            wrong.push(format!(
                "{}: {:?} is not in {text:?}",
                case.name, case.message
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!std::path::Path::new("/etc/hipward-was-here").exists());

    let events = server.run(&json!({ "code": GOOD, "variants": ["eager"] }));
    assert_eq!(end(&events), &EventBody::Done, "the next job runs");
}
