//! The analyzer returns a report for any text, quickly and without a panic.

mod common;
#[path = "common/promises.rs"]
pub mod promises;

use std::fs;

use common::work::seconds_of;
use common::{all_fixtures, language, regressions};
use hipward_analyzer::{
    Applicability, Language, MAX_SOURCE_BYTES, Options, Report, analyze, apply_fixes, diff,
    fix_all, output, scaffold, unified_diff,
};

/// Runs everything that the page does with a source.
fn everything(source: &str) -> Report {
    everything_as(Language::Python, source)
}

/// The same, in any language.
fn everything_as(language: Language, source: &str) -> Report {
    let options = {
        let mut options = Options::default();
        options.language = Some(language);
        options
    };
    let report = analyze(source, &options);
    let all: Vec<usize> = (0..report.findings.len()).collect();
    let applied = apply_fixes(source, &report, &all);
    diff(source, &applied.source);
    unified_diff("x.py", source, &applied.source);
    scaffold(source, &report);
    let file = output::FileReport {
        path: "x.py",
        source,
        report: &report,
    };
    output::text(&[file], output::Colour::Plain);
    output::json(&[file]);
    output::sarif(&[file]);
    for finding in &report.findings {
        let (start, end) = (finding.span.start, finding.span.end);
        let quoted = source
            .get(start.byte as usize..end.byte as usize)
            .expect("a span of the source");
        assert_eq!(
            quoted.encode_utf16().count() as u32,
            end.utf16 - start.utf16
        );
        assert!(start.line >= 1 && start.column >= 1 && start.byte <= end.byte);
    }
    report
}

fn codes(source: &str) -> Vec<String> {
    everything(source)
        .notes
        .into_iter()
        .map(|note| note.code)
        .collect()
}

const CODE: &str = "import pynvml\nfrom flash_attn import flash_attn_func\n";

#[test]
fn incomplete_file_is_analyzed_partially() {
    let report = everything("import pynvml\n\ndef f(x:\n    return pynvml.nvmlInit(\n");
    assert_eq!(report.findings.len(), 1);
    assert_eq!(report.notes[0].code, "syntax-error");
    assert!(
        report.notes[0].line.is_some_and(|line| line >= 3),
        "{:?}",
        report.notes
    );
}

#[test]
fn text_that_is_not_python_gets_a_note() {
    for source in [
        "Dear reader, this is a letter. It has commas; and semicolons! Is it code? No: it isn't.\n"
            .repeat(20),
        "<!doctype html><html><body><p class=\"x\">import pynvml</p></body></html>\n".repeat(5),
        "fn main() { let x: Vec<f32> = vec![1.0; 3]; println!(\"{}\", x[0]); }\n".repeat(5),
    ] {
        assert_eq!(codes(&source), ["not-python"], "{source}");
        assert!(everything(&source).findings.is_empty());
    }
}

#[test]
fn nul_bytes_and_large_texts_are_rejected_with_a_note() {
    assert_eq!(codes("import pynvml\n\0\n"), ["binary"]);
    let large = "x = 1\n".repeat(5_000_000 / 6);
    assert_eq!(codes(&large), ["too-large"]);
    assert_eq!(codes(&"#".repeat(MAX_SOURCE_BYTES + 1)), ["too-large"]);
    let largest = "x = 1\n".repeat(MAX_SOURCE_BYTES / 6);
    assert_eq!(analyze(&largest, &Options::default()).notes, []);
}

#[test]
fn positions_are_correct_with_any_line_ending_tab_or_script() {
    for (source, line, column, utf16) in [
        (CODE.replace('\n', "\r\n"), 2, 6, 20),
        (format!("\u{feff}{CODE}"), 2, 6, 20),
        (format!("\t\n{CODE}"), 3, 6, 21),
        (format!("# é名🚀\n{CODE}"), 3, 6, 26),
        (format!("变量 = '🚀🚀'; {CODE}"), 2, 6, 32),
    ] {
        let report = everything(&source);
        let flash = report
            .findings
            .iter()
            .find(|finding| finding.id == "HW103")
            .unwrap_or_else(|| panic!("{source:?}: {report:?}"));
        let start = flash.span.start;
        assert_eq!(
            (start.line, start.column, start.utf16),
            (line, column, utf16),
            "{source:?}"
        );
        let quoted = &source[start.byte as usize..flash.span.end.byte as usize];
        assert_eq!(quoted, "flash_attn");
    }
}

#[test]
fn edits_preserve_windows_line_endings() {
    let source = "import time\r\nimport torch\r\nmodel = torch.nn.Linear(1, 1).cuda()\r\nstart = time.perf_counter()\r\nmodel(0)\r\nprint(time.perf_counter() - start)\r\n";
    let fixed = fix_all(source, &Options::default(), Applicability::Unsafe);
    assert_eq!(fixed.applied, 1);
    assert!(
        fixed.source.contains("torch.cuda.synchronize()\r\nstart"),
        "{:?}",
        fixed.source
    );
    assert_eq!(
        fixed.source.matches('\n').count(),
        fixed.source.matches("\r\n").count()
    );
}

/// Deep or unusual nesting that defeats a recursive or quadratic traversal.
#[test]
fn any_nesting_depth_is_analyzed() {
    let n = 20_000;
    for source in [
        "(".repeat(100_000),
        "[".repeat(n) + &"]".repeat(n),
        "f(".repeat(n) + &")".repeat(n),
        "not ".repeat(n) + "x",
        "x and ".repeat(n) + "x",
        format!("import torch\nx = torch{}", ".a".repeat(n)),
        "x[".repeat(n),
        "-".repeat(n) + "1",
        format!("x = {}1", "y = ".repeat(n)),
        "x = x(x)\n".repeat(n),
        "if a:\n x\nel".repeat(n / 4),
        "lambda: ".repeat(n / 4),
        "\"\"\"".repeat(n + 1),
        "{".repeat(n),
        "f'{".repeat(n / 4),
        (0..1500)
            .map(|depth| " ".repeat(depth) + "if x:\n")
            .collect(),
    ] {
        everything(&source);
    }
}

/// Code that is nested too deeply is reported as skipped, and no fix depends on it.
#[test]
fn too_deeply_nested_code_is_skipped_and_not_fixed() {
    let source = |terms: usize| {
        format!(
            "import os\nos.environ['CUDA_LAUNCH_BLOCKING'] = '1'\nx = {}1\n",
            "a + ".repeat(terms)
        )
    };
    let report = everything(&source(900));
    assert_eq!((report.notes.len(), report.findings.len()), (0, 1));
    assert!(
        report.findings[0]
            .fix
            .as_ref()
            .is_some_and(|fix| !fix.edits.is_empty())
    );
    let report = everything(&source(1100));
    assert_eq!(
        (report.notes[0].code.as_str(), report.notes[0].line),
        ("too-deep", Some(3))
    );
    assert_eq!(report.findings.len(), 1);
    assert!(
        report.findings[0]
            .fix
            .as_ref()
            .is_some_and(|fix| fix.edits.is_empty())
    );
}

/// A rule that checks the siblings or ancestors of a node must not make a broad or deep text quadratic.
#[test]
fn broad_or_deep_text_is_analyzed_in_linear_time() {
    let head = "import os\nimport time\nimport pynvml\nimport torch\nfrom torch import nn\nv = torch.version.cuda\n";
    let module = "class M(torch.nn.Module):\n def __init__(self):\n";
    for (before, part, after) in [
        ("os.environ.update({", "'A': 1, ", "})\n"),
        ("x = {", "'A': {'B': 1}, ", "}\n"),
        (
            "torch.compile(f, options={",
            "'epilogue_fusion': True, ",
            "})\n",
        ),
        ("x = [", "'-gencode', ", "]\n"),
        ("", "x = ['-gencode']\n", ""),
        (
            "",
            "s = time.time()\nmodel(x)\nprint(time.time() - s)\n",
            "",
        ),
        (
            "",
            "m.to('cuda')\ns = time.time()\nm(x)\nprint(time.time() - s)\n",
            "",
        ),
        (
            "",
            "u = pynvml.nvmlDeviceGetUtilizationRates(h)\nprint(u.gpu)\n",
            "pynvml.nvmlInit()\n",
        ),
        ("y = (", "pynvml.nvmlInit() + ", "1)\n"),
        (module, "  self.q_proj = nn.Linear(1, 2)\n", ""),
        (
            module,
            "  self.q_proj = nn.Linear(1, 2)\n  self.k_proj = nn.Linear(1, 2)\n  self.v_proj = nn.Linear(1, 2)\n",
            "",
        ),
        ("if (", "v and ", "1): pass\n"),
        ("x = ", "1 if v else ", "2\n"),
        ("x = torch", ".cuda", "\n"),
        ("x = torch", ".a().item()", "\n"),
        ("x = ", "y = x.cuda = ", "1\n"),
    ] {
        let seconds = |count: usize| {
            let source = format!("{head}{before}{}{after}", part.repeat(count));
            seconds_of(|| analyze(&source, &Options::default())).1
        };
        let (short, long) = (seconds(5_000), seconds(20_000).min(seconds(20_000)));
        // Four times the length takes four times as long, or sixteen times if each part is compared with every other.
        let limit = 8.0 * short + 0.3;
        assert!(
            long < limit,
            "{part:?}: {long:.1} s, and {short:.1} s for a quarter"
        );
    }
}

/// Rules that search a whole function must not do so for each of its lines.
#[test]
fn long_function_is_analyzed_in_linear_time() {
    let n = 4_000;
    let kernel = "import triton\nimport triton.language as tl\n@triton.jit\ndef k(p, n, B: tl.constexpr):\n o = tl.program_id(0) * B + tl.arange(0, B)\n m = o < n\n";
    let forward = "import time\nimport numpy as np\nimport torch\nimport torch.nn.functional as F\nclass M(torch.nn.Module):\n def forward(self, x: torch.Tensor, q, k, v):\n  t = []\n  s = time.time()\n";
    for (head, line) in [
        (kernel, " x = tl.load(p + o)\n"),
        (kernel, " tl.store(p + o, x.to(tl.bfloat16), mask=m)\n"),
        (kernel, " y = tl.exp(x) / tl.sum(tl.exp(x), 0)\n"),
        (forward, "  x = x * x.max().item()\n"),
        (forward, "  a = F.softmax(q @ k.mT, dim=-1)\n"),
        (forward, "  k = repeat_kv(k, 2)\n"),
        (forward, "  x = F.silu(x) * self.up(x)\n"),
        (forward, "  x = self.a(x).sigmoid() * self.b(x)\n"),
        (forward, "  e = time.time() - s\n"),
        (forward, "  t.append(time.time() - s); np.mean(t)\n"),
        (forward, "  for i in self.experts: i.x(x)\n"),
    ] {
        let source = format!("{head}{}", line.repeat(n));
        let (_, seconds) = seconds_of(|| analyze(&source, &Options::default()));
        // A second or two in a debug build on a busy machine; minutes if the function were searched for each line.
        assert!(seconds < 30.0, "{line:?}: {seconds:.1} s");
    }
}

/// The grammar's scanner needs 30 seconds for such a block.
#[test]
fn long_block_of_comments_is_analyzed_in_linear_time() {
    for (before, line, after) in [
        (
            "import apex\n",
            "# a comment\n",
            "import pynvml  # hipward: ignore\n",
        ),
        (
            "def f():\n    import apex\n",
            "    # \"\"\" x = '\n\n",
            "    import pynvml  # hipward: ignore\n",
        ),
        ("# hipward: ignore-file[apex]\n", "#\n", "import apex\n"),
    ] {
        let source = format!("{before}{}{after}", line.repeat(20_000));
        let (report, seconds) = seconds_of(|| analyze(&source, &Options::default()));
        assert!(seconds < 5.0, "{line:?}: {seconds:.1} s");
        let found: Vec<_> = report
            .findings
            .iter()
            .map(|found| found.rule.as_str())
            .collect();
        assert_eq!(
            (found, report.suppressed),
            if before.contains("import") {
                (vec!["apex"], 1)
            } else {
                (vec![], 1)
            },
            "{line:?}"
        );
    }
}

/// A line with a finding, in each language.
const FINDINGS: [(Language, &str, &str, &str); 11] = [
    (
        Language::Python,
        "import os\n",
        "os.environ['CUDA_LAUNCH_BLOCKING'] = '1'\n",
        "",
    ),
    (Language::CudaCpp, "", "cudaFree(a);\n", ""),
    (
        Language::Notebook,
        "{\"cells\": [{\"cell_type\": \"code\", \"source\": [\"import os\\n\"",
        ", \"os.environ['CUDA_LAUNCH_BLOCKING'] = '1'\\n\"",
        "]}]}",
    ),
    (Language::Requirements, "", "pynvml\n", ""),
    (
        Language::Pyproject,
        "[project]\ndependencies = [\n",
        "\"pynvml\",\n",
        "]\n",
    ),
    (
        Language::Dockerfile,
        "",
        "FROM nvidia/cuda:12.4.0-base\n",
        "",
    ),
    (Language::Cmake, "", "find_package(CUDAToolkit)\n", ""),
    (Language::Makefile, "", "\tnvcc x.cu\n", ""),
    (Language::Shell, "", "nvidia-smi\n", ""),
    (Language::Yaml, "", "- image: nvidia/cuda:12.4.0-base\n", ""),
    (Language::Document, "```sh\n", "nvidia-smi\n", "```\n"),
];

#[test]
fn too_many_findings_end_in_a_note_in_every_language() {
    assert_eq!(FINDINGS.map(|row| row.0), Language::ALL);
    for (language, head, line, tail) in FINDINGS {
        let source = format!("{head}{}{tail}", line.repeat(20_000));
        let (report, seconds) = seconds_of(|| everything_as(language, &source));
        assert_eq!(report.findings.len(), 1000, "{language:?}");
        assert_eq!(report.notes[0].code, "too-many", "{language:?}");
        assert!(seconds < 30.0, "{language:?}: {seconds:.1} s");
    }
}

/// A million of them exceed the maximum size.
#[test]
fn too_large_text_is_rejected_in_every_language() {
    for (language, head, line, tail) in FINDINGS {
        let one_line = line.replace('\n', " ").repeat(1_000_000);
        let source = format!("{head}{one_line}{tail}");
        assert!(source.len() > 5_000_000);
        let options = {
            let mut options = Options::default();
            options.language = Some(language);
            options
        };
        let (report, seconds) = seconds_of(|| analyze(&source, &options));
        assert_eq!(report.notes.len(), 1, "{language:?}");
        assert_eq!(report.notes[0].code, "too-large", "{language:?}");
        assert!(report.findings.is_empty());
        assert!(seconds < 5.0, "{language:?}: {seconds:.1} s");
    }
}

/// The folder contains minimized findings of the fuzz targets. The initial files have the typical contents of such
/// findings: mixed line endings, split characters, and constructs without an end.
#[test]
fn edge_case_texts_satisfy_the_invariants() {
    let inputs = regressions();
    assert!(!inputs.is_empty());
    for path in inputs {
        let source = fs::read_to_string(&path).expect("a text");
        promises::judge(&source, language(&path));
    }
}

#[test]
fn every_prefix_of_every_fixture_satisfies_the_invariants() {
    for path in all_fixtures() {
        let source = fs::read_to_string(&path).expect("a fixture");
        for end in (0..source.len())
            .step_by(37)
            .filter(|end| source.is_char_boundary(*end))
        {
            everything_as(language(&path), &source[..end]);
            everything_as(language(&path), &source[end..]);
        }
    }
}

#[test]
fn mutated_bytes_satisfy_the_invariants() {
    // A linear congruential generator: the same changes in every run.
    let mut state: u64 = 20_261_121;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let signs = [
        "(", ")", "\"", "'", ":", "\n", "\t", " ", "#", "\\", "é", "名", "🚀", "\u{feff}", "{",
        "=", ".", "@", "\r",
    ];
    for path in all_fixtures() {
        let original = fs::read_to_string(&path).expect("a fixture");
        for _ in 0..12 {
            let mut source = original.clone();
            for _ in 0..4 {
                let at = source.floor_char_boundary(random(source.len() + 1));
                match random(3) {
                    0 => source.insert_str(at, signs[random(signs.len())]),
                    1 => {
                        drop(source.drain(
                            at..source.ceil_char_boundary((at + random(20)).min(source.len())),
                        ))
                    }
                    _ => {
                        let from = source.floor_char_boundary(random(source.len() + 1));
                        let piece = source
                            [from..source.ceil_char_boundary((from + 30).min(source.len()))]
                            .to_owned();
                        source.insert_str(at, &piece);
                    }
                }
            }
            everything_as(language(&path), &source);
        }
    }
}
