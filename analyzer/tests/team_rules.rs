//! Team rules: matches, non-matches, fixes, and the errors of invalid rules.

mod common;

use common::options;
use common::work::seconds_of;
use hipward_analyzer::{
    Applicability, Language, Options, Report, Selection, Session, Severity, TeamRules, analyze,
    fix_all,
};
use serde_json::{Value, json};

/// One rule with this `match`, and a fix if there is one.
fn rule(matching: Value, fix: Value) -> TeamRules {
    let mut rule = json!({
        "id": "ACME001",
        "name": "acme",
        "message": "Not here.",
        "match": matching,
    });
    if !fix.is_null() {
        rule["fix"] = fix;
    }
    TeamRules::parse(&json!([rule]).to_string()).expect("a good rule")
}

fn with(team: TeamRules) -> Options {
    let mut options = Options::default();
    options.team = team;
    options
}

/// The texts matched by the team's rules.
fn found(source: &str, matching: Value) -> Vec<String> {
    let report = analyze(source, &with(rule(matching, Value::Null)));
    texts(source, &report)
}

fn texts(source: &str, report: &Report) -> Vec<String> {
    let ours = report.findings.iter().filter(|found| found.id == "ACME001");
    ours.map(|finding| {
        let (start, end) = (finding.span.start.byte, finding.span.end.byte);
        source[start as usize..end as usize].to_owned()
    })
    .collect()
}

/// The source after the fix of a pattern rule.
fn fixed(source: &str, pattern: &str, replace: &str) -> String {
    let fix = json!({ "title": "Change it", "replace": replace, "applicability": "safe" });
    let team = rule(json!({ "pattern": pattern }), fix);
    fix_all(source, &with(team), Applicability::Safe).source
}

#[test]
fn import_matches_in_every_form() {
    let source = "\
import acme.fast
import acme.fast.kernels as k
from acme.fast import x
from acme import fast, slow
import acme.faster
from acme import slow
from .acme import fast
import acme
try:
    import acme.fast
except ImportError:
    pass
";
    assert_eq!(
        found(source, json!({ "import": "acme.fast" })),
        ["acme.fast", "acme.fast.kernels", "acme.fast", "fast"]
    );
}

#[test]
fn use_matches_under_every_alias_and_nowhere_else() {
    let source = "\
import acme as a
from acme import old as o
run = a.old
print(o, run, a.old.more, a.older)
def f(old):
    old = 1
    return old
a.old = 3
";
    assert_eq!(
        found(source, json!({ "use": "acme.old" })),
        ["a.old", "o", "run", "a.old"]
    );
}

#[test]
fn call_matches_by_its_constant_arguments() {
    let source = "\
from acme import load as l
MODE = 'fast'
l(x, mode='fast')
l(x, mode=MODE)
l(x, mode='slow')
l('p', 3, strict=True)
l('p', 4, strict=True)
l(*args, mode='fast')
load('p')
";
    let calls = |arguments: Value| {
        let matching = json!({ "call": "acme.load", "arguments": arguments });
        let report = analyze(source, &with(rule(matching, Value::Null)));
        let lines = report.findings.iter().map(|found| found.span.start.line);
        lines.collect::<Vec<_>>()
    };
    assert_eq!(calls(json!({ "mode": "fast" })), [3, 4, 8]);
    assert_eq!(calls(json!({ "0": "p", "1": 3, "strict": true })), [6]);
    assert_eq!(calls(json!({})), [3, 4, 5, 6, 7, 8]);
}

#[test]
fn pattern_matches_any_formatting() {
    let pattern =
        |pattern: &str, source: &str| !found(source, json!({ "pattern": pattern })).is_empty();
    assert!(pattern(
        "f($X, dim=1)",
        "y = f( # first\n  (a + b),\n  dim = 1,\n)\n"
    ));
    assert!(!pattern("f($X, dim=1)", "f(a, dim=2)\n"));
    assert!(!pattern("f($X, dim=1)", "f(a, b, dim=1)\n"));
    assert!(pattern("open($P, 'r')", "open(p, \"r\")\n"));
    assert!(!pattern("open($P, 'r')", "open(p, \"rb\")\n"));
    assert!(pattern("$X[1:]", "a[1 :]\n"));
    assert!(!pattern("$X[1:]", "a[:1]\n"));
    assert!(pattern("$X / 2", "(a + b) / 2\n"));
    assert!(!pattern("$X / 2", "a % 2\n"));
    assert!(pattern("f(($X))", "f(a)\n"));
    assert!(!pattern("f($X)", "f((a, b), c)\n"));
    assert!(pattern(
        "if $C:\n    $...BODY\n",
        "def g():\n  if a:\n    b()\n    c()\n"
    ));
    assert!(pattern(
        "with torch.no_grad():\n    $...B",
        "import torch as t\nwith t.no_grad():\n    pass\n"
    ));
    assert!(pattern("$X.view(-1, $...R)", "a.b().view(-1)\n"));
    assert!(pattern(
        "def forward(self, $...P):\n    $...B",
        "class M:\n    def forward(self, x, *, y=1):\n        return x\n"
    ));
}

#[test]
fn repeated_metavariable_matches_the_same_text() {
    let found = |source: &str| found(source, json!({ "pattern": "$X * torch.sigmoid($X)" }));
    let import = "import torch\n";
    assert_eq!(
        found(&format!("{import}y = a.b * torch.sigmoid(a.b)\n")).len(),
        1
    );
    assert_eq!(
        found(&format!("{import}y = a.b * torch.sigmoid(a.c)\n")).len(),
        0
    );
    assert_eq!(
        found("import torch\n$\n").len(),
        0,
        "broken code does not match"
    );
}

#[test]
fn several_ellipses_match_the_arguments_between_them() {
    let found = |source: &str| found(source, json!({ "pattern": "f($...A, key=$V, $...B)" }));
    assert_eq!(found("f(1, 2, key=3, other=4)\n").len(), 1);
    assert_eq!(found("f(key=3)\n").len(), 1);
    assert_eq!(found("f(1, other=3)\n").len(), 0);
}

#[test]
fn name_in_a_pattern_is_resolved_through_imports() {
    let found = |source: &str| found(source, json!({ "pattern": "torch.load($X)" })).len();
    assert_eq!(found("import torch\ntorch.load(p)\n"), 1);
    assert_eq!(found("from torch import load as read\nread(p)\n"), 1);
    assert_eq!(found("import numpy as torch\ntorch.load(p)\n"), 0);
}

#[test]
fn fix_substitutes_metavariables() {
    let cases = [
        ("f(a, b)\n", "f($X, $Y)", "g($Y, $X)", "g(b, a)\n"),
        ("f(a + 1)\n", "f($X)", "$X * 2", "(a + 1) * 2\n"),
        ("f(a)\n", "f($X)", "$X * 2", "a * 2\n"),
        ("3 ** f(a)\n", "f($X)", "$X * 2", "3 ** (a * 2)\n"),
        ("g(f(a))\n", "f($X)", "$X * 2", "g(a * 2)\n"),
        ("f(a + 1)\n", "f($X)", "$X.g()", "(a + 1).g()\n"),
        (
            "f(x, 1, k=2)\n",
            "f($X, $...R)",
            "g($X, $...R)",
            "g(x, 1, k=2)\n",
        ),
        ("f(x)\n", "f($X, $...R)", "g($X, $...R)", "g(x)\n"),
        ("f(x)\n", "f($X, $...R)", "g($...R, x=$X)", "g(x=x)\n"),
        (
            "def h():\n    if c:\n        a()\n        b()\n",
            "if c:\n    $...BODY",
            "with c:\n    $...BODY",
            "def h():\n    with c:\n        a()\n        b()\n",
        ),
        (
            "if c:\n    a()\n    if d:\n        b()\n",
            "if c:\n    $...BODY",
            "$...BODY",
            "a()\nif d:\n    b()\n",
        ),
    ];
    for (source, pattern, replace, wanted) in cases {
        assert_eq!(
            fixed(source, pattern, replace),
            wanted,
            "{pattern} → {replace}"
        );
    }
}

#[test]
fn fix_that_would_break_the_code_is_display_only() {
    let source = "y = (f(a\n  + b))\n";
    let team = rule(
        json!({ "pattern": "f($X)" }),
        json!({ "title": "Change it", "replace": "$X", "applicability": "safe" }),
    );
    let report = analyze(source, &with(team));
    let fix = report.findings[0].fix.as_ref().expect("a fix");
    assert_eq!(fix.applicability, Applicability::DisplayOnly);
    assert_eq!(fix.edits, []);
}

#[test]
fn fix_adds_a_required_import_once() {
    let fix = json!({
        "title": "Use torch's", "replace": "torch.softmax", "import": "torch", "applicability": "safe",
    });
    let team = rule(json!({ "call": "acme.softmax" }), fix);
    let source = "import acme\nacme.softmax(a)\nacme.softmax(b)\n";
    let options = with(team);
    assert_eq!(
        fix_all(source, &options, Applicability::Safe).source,
        "import acme\nimport torch\ntorch.softmax(a)\ntorch.softmax(b)\n"
    );
    let taken = format!("torch = 1\n{source}");
    assert_eq!(fix_all(&taken, &options, Applicability::Safe).applied, 0);
}

#[test]
fn rule_applies_only_to_its_targets() {
    let team = TeamRules::parse(
        r#"[{"id": "ACME001", "name": "acme", "message": "Not here.",
             "when": {"arch": ["gfx950"], "rocm": ">=7", "torch": "<2.9"},
             "match": {"call": "acme.f"}}]"#,
    )
    .expect("a good rule");
    let count = |target: &str| {
        let options = {
            let mut options = options(Language::Python, target);
            options.team = team.clone();
            options
        };
        analyze("import acme\nacme.f()\n", &options).findings.len()
    };
    assert_eq!(count("arch=gfx950 rocm=7.0 torch=2.8"), 1);
    assert_eq!(count("arch=gfx942 rocm=7.0 torch=2.8"), 0);
    assert_eq!(count("arch=gfx950 rocm=6.4 torch=2.8"), 0);
    assert_eq!(count("arch=gfx950 rocm=7.0 torch=2.9"), 0);
}

#[test]
fn guards_comments_and_selections_apply_to_team_rules() {
    let source = "\
import acme, torch
if torch.version.cuda:
    acme.f()
acme.f()  # hipward: ignore[ACME001]
acme.f()  # hipward: ignore[acme]
acme.f()
";
    let team = rule(json!({ "call": "acme.f" }), Value::Null);
    let lines = |select: &[&str], ignore: &[&str]| {
        let options = {
            let mut options = Options::default();
            options.rules = Selection::with_team(select, ignore, &team).expect("rules");
            options.team = team.clone();
            options
        };
        let report = analyze(source, &options);
        let ours = report.findings.iter().filter(|found| found.rule == "acme");
        ours.map(|found| found.span.start.line).collect::<Vec<_>>()
    };
    assert_eq!(lines(&[], &[]), [6]);
    assert_eq!(lines(&["ACME"], &[]), [6]);
    assert_eq!(lines(&["HW1"], &[]), [0_u32; 0]);
    assert_eq!(lines(&[], &["acme"]), [0_u32; 0]);
    assert!(
        Selection::new(&["acme"], &[]).is_err(),
        "only with its team"
    );
}

#[test]
fn finding_has_the_rules_message() {
    let team = TeamRules::parse(
        r#"[{"id": "ACME001", "name": "acme", "message": "Not here.", "severity": "error",
             "link": "https://wiki.example/acme", "match": {"import": "acme"}}]"#,
    )
    .expect("a good rule");
    let report = analyze("import acme\nimport pynvml\n", &with(team));
    let finding = &report.findings[0];
    assert_eq!(
        (finding.severity, finding.message.as_str()),
        (Severity::Error, "Not here.")
    );
    assert_eq!(finding.link.as_deref(), Some("https://wiki.example/acme"));
    assert_eq!(report.findings[1].link, None);
}

#[test]
fn invalid_rule_reports_the_key() {
    let with = |change: &dyn Fn(&mut Value)| {
        let mut good = json!({
            "id": "ACME001", "name": "acme", "message": "m", "match": { "call": "a.b" },
        });
        change(&mut good);
        let error = TeamRules::parse(&json!([good]).to_string()).expect_err("a bad rule");
        (error.key, error.message)
    };
    let cases: [(&str, Value, &str, &str); 21] = [
        ("id", json!("HW999"), "id", "reserved"),
        ("id", json!("acme"), "id", "capital letters"),
        ("name", json!("pynvml"), "name", "built-in rule"),
        ("name", json!("Acme"), "name", "lower-case"),
        ("message", json!(3), "message", "non-empty string"),
        ("colour", json!("red"), "colour", "unknown key"),
        ("severity", json!("fatal"), "severity", "error, warning"),
        ("link", json!("wiki"), "link", "https://"),
        (
            "match",
            json!({}),
            "match",
            "one of import, use, call, pattern, cuda, include, package, image, variable",
        ),
        (
            "match",
            json!({ "pattern": "f(" }),
            "match.pattern",
            "not valid Python",
        ),
        (
            "match",
            json!({ "pattern": "$X" }),
            "match.pattern",
            "single metavariable",
        ),
        (
            "match",
            json!({ "pattern": "f($x)" }),
            "match.pattern",
            "capital letters",
        ),
        (
            "match",
            json!({ "pattern": "a\nb" }),
            "match.pattern",
            "one statement",
        ),
        (
            "match",
            json!({ "pattern": "f('$X')" }),
            "match.pattern",
            "part of a string",
        ),
        (
            "match",
            json!({ "use": "a", "arguments": {} }),
            "match.arguments",
            "with `call`",
        ),
        (
            "match",
            json!({ "call": "a b" }),
            "match.call",
            "dotted name",
        ),
        ("when", json!({ "arch": ["sm_90"] }), "when.arch", "gfx942"),
        ("when", json!({ "rocm": "7" }), "when.rocm", "comparisons"),
        (
            "fix",
            json!({ "title": "t", "replace": "$X" }),
            "fix.replace",
            "no `$X`",
        ),
        (
            "match",
            json!({ "cuda": "acme.f" }),
            "match.cuda",
            "acme::gemm",
        ),
        (
            "match",
            json!({ "package": "acme>=1" }),
            "match.package",
            "without a version",
        ),
    ];
    for (key, value, wanted, part) in cases {
        let (told, message) = with(&|rule| rule[key] = value.clone());
        assert_eq!(told, wanted, "{key} = {value}: {message}");
        assert!(message.contains(part), "{key} = {value}: {message}");
    }
    let (key, _) = with(&|rule| drop(rule.as_object_mut().expect("a rule").remove("message")));
    assert_eq!(key, "message");
    let twice = r#"[{"id": "ACME001", "name": "a", "message": "m", "match": {"use": "a"}},
                    {"id": "ACME001", "name": "b", "message": "m", "match": {"use": "a"}}]"#;
    let error = TeamRules::parse(twice).expect_err("a twin");
    assert_eq!((error.index, error.key.as_str()), (1, "id"));
}

/// The matches of a rule with this `match` in a source of another language.
fn found_in(language: Language, source: &str, matching: Value) -> Vec<String> {
    let options = {
        let mut options = with(rule(matching, Value::Null));
        options.language = Some(language);
        options
    };
    texts(source, &analyze(source, &options))
}

#[test]
fn cuda_names_and_headers_match_in_code_for_both_vendors() {
    let source = "\
#include <acme/gemm.h>
#include \"acme/deep/tile.h\"
#include \"our_acme.h\"
#ifdef USE_ROCM
#include <acme/hip.h>
#endif
// acme_copy in a comment
void f() {
  acme_copy(1);
  ::acme_copy(2);
  x.acme_copy(3);
  other::acme_copy(4);
  acme::tile<float> t;
  auto s = \"acme_copy acme::tile\";
}
";
    let found = |matching| found_in(Language::CudaCpp, source, matching);
    assert_eq!(
        found(json!({ "cuda": "acme_copy" })),
        ["acme_copy", "acme_copy"]
    );
    assert_eq!(found(json!({ "cuda": "acme::tile" })), ["acme::tile"]);
    assert_eq!(
        found(json!({ "include": "acme/" })),
        ["acme/gemm.h", "acme/deep/tile.h"]
    );
    assert_eq!(found(json!({ "include": "acme/gemm.h" })), ["acme/gemm.h"]);
    assert_eq!(found(json!({ "use": "acme_copy" })), [""; 0]);
}

#[test]
fn packages_images_and_variables_match_in_every_file_format() {
    let package = json!({ "package": "acme_kernels" });
    for (language, source) in [
        (
            Language::Requirements,
            "acme-kernels==1.2\nacme-kernels-rocm\n",
        ),
        (
            Language::Pyproject,
            "[project]\ndependencies = [\"Acme.Kernels>=1\"]\n",
        ),
        (Language::Shell, "pip install acme-kernels\n"),
        (
            Language::Dockerfile,
            "FROM x\nRUN pip install acme-kernels\n",
        ),
        (
            Language::Yaml,
            "dependencies:\n  - pip:\n    - acme-kernels==1\n",
        ),
    ] {
        let found = found_in(language, source, package.clone());
        assert_eq!(found.len(), 1, "{language:?}: {found:?}");
        assert!(found[0].eq_ignore_ascii_case("acme-kernels") || found[0] == "Acme.Kernels");
    }
    let dockerfile =
        "FROM hub.acme.com/base:12 AS a\nFROM hub.acme.com/base-rocm:7\nENV ACME_HOME=/opt\n";
    let found = |matching| found_in(Language::Dockerfile, dockerfile, matching);
    assert_eq!(
        found(json!({ "image": "hub.acme.com/base" })),
        ["hub.acme.com/base:12"]
    );
    assert_eq!(found(json!({ "variable": "ACME_HOME" })), ["ACME_HOME"]);
}

#[test]
fn fix_outside_python_replaces_the_name() {
    for (language, matching, replace, before, after) in [
        (
            Language::Requirements,
            json!({ "package": "acme-kernels" }),
            "acme-kernels-rocm",
            "acme-kernels==1.2  # pinned\n",
            "acme-kernels-rocm==1.2  # pinned\n",
        ),
        (
            Language::CudaCpp,
            json!({ "include": "acme/gemm.h" }),
            "acme/hip/gemm.h",
            "#include <acme/gemm.h>\n",
            "#include <acme/hip/gemm.h>\n",
        ),
        (
            Language::CudaCpp,
            json!({ "cuda": ["acme::gemm", "acme_gemm"] }),
            "acme::hip::gemm",
            "int x = acme::gemm(1) + acme_gemm(2);\n",
            "int x = acme::hip::gemm(1) + acme::hip::gemm(2);\n",
        ),
    ] {
        let fix = json!({ "title": "Change it", "replace": replace, "applicability": "safe" });
        let options = {
            let mut options = with(rule(matching, fix));
            options.language = Some(language);
            options
        };
        let fixed = fix_all(before, &options, Applicability::Safe).source;
        assert_eq!(fixed, after);
    }
}

/// Anyone can write a rule: no text and no rule makes the engine slow or crashes it.
#[test]
fn patterns_match_in_linear_time_on_any_text() {
    let team = rule(
        json!({ "pattern": "f($...A, $B, $...C, $D, $...E, 1, $...F, 2)" }),
        Value::Null,
    );
    let options = with(team);
    let long = format!("f({})\n", "3, ".repeat(20_000));
    let deep = format!("{}1{}\n", "f(".repeat(20_000), ")".repeat(20_000));
    let many = "f(1, 2, 3, 4, 5, 6, 7, 8, 9, 3)\n".repeat(5_000);
    for source in [long, deep, many] {
        let (_, seconds) = seconds_of(|| analyze(&source, &options));
        assert!(seconds < 10.0, "{seconds} s for {} bytes", source.len());
    }
}

#[test]
fn browser_request_includes_team_rules() {
    let request = json!({
        "source": "import acme\n",
        "rules": [{ "id": "ACME001", "name": "acme", "message": "Not here.", "match": { "import": "acme" } }],
        "select": ["acme"],
    });
    let answer = hipward_analyzer::api::analyze(&request.to_string(), &mut Session::default())
        .expect("a good request");
    let report: Report = serde_json::from_str(&answer).expect("a report");
    assert_eq!(report.findings[0].id, "ACME001");
    let bad = json!({ "source": "", "rules": [{ "id": "ACME001" }] });
    let sentence = hipward_analyzer::api::analyze(&bad.to_string(), &mut Session::default())
        .expect_err("a bad rule");
    assert!(sentence.contains("rule 1: `name`"), "{sentence}");
}
