//! A tiny content folder, the real one, and a few questions about HTML.

#![allow(dead_code, reason = "each test file uses a part")]

use hipward_site::{Assets, Content, Ops, Site};
use std::fs;
use std::path::Path;

pub(crate) const LESSON: &str = "01-port/01-first/lesson.md";

/// A folder with one lesson of the given Markdown.
pub(crate) fn folder(markdown: &str) -> Vec<(String, String)> {
    let front =
        "+++\ntitle = \"First `lesson`\"\nsummary = \"S\"\nminutes = 3\ngoal = \"G\"\n+++\n";
    [
        (
            "01-port/part.toml",
            "title = \"Port\"\nsummary = \"P\"\n".to_owned(),
        ),
        (LESSON, format!("{front}{markdown}")),
        (
            "01-port/01-first/before.py",
            "# test: run\nimport torch\n# anchor: one\nx = 1\n# end: one\n".to_owned(),
        ),
        (
            "01-port/01-first/after.py",
            "# test: run\nimport torch\n# anchor: one\nx = 2\n# end: one\n".to_owned(),
        ),
        ("results.csv", "id,what,ms\nr1,a < b,0.5\n".to_owned()),
        ("01-port/01-first/lanes.svg", FIGURE.to_owned()),
        ("01-port/01-first/lanes.csv", "lane,bytes\n0,16\n".to_owned()),
        ("01-port/01-first/output.txt", "1 < 2\n".to_owned()),
        (
            "01-port/01-first/mask/start.py",
            "# test: run\ndef f(n):\n    # hole: mask\n    mask = ...\n    # end: mask\n    return mask\n".to_owned(),
        ),
        (
            "01-port/01-first/mask/solution.py",
            "def f(n):\n    # hole: mask\n    mask = 0 < n\n    # end: mask\n    return mask\n".to_owned(),
        ),
        (
            "01-port/01-first/mask/judge.py",
            "\"\"\"Judge.\"\"\"\n\n\ndef case_tail(answer, random):\n    \"\"\"A short row.\"\"\"\n".to_owned(),
        ),
        ("01-port/01-first/mask/wrong/none.py", "# fails: case_tail\n".to_owned()),
        ("reference/glossary.toml", GLOSSARY.to_owned()),
    ]
    .into_iter()
    .map(|(path, text)| (path.to_owned(), text))
    .collect()
}

/// A figure with an arrow.
pub(crate) const FIGURE: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 320 80\">\n  <line class=\"line-a arrow\" x1=\"0\" y1=\"9\" x2=\"99\" y2=\"9\"/>\n  <text class=\"mid\" x=\"99\" y=\"40\">Lane 0</text>\n</svg>\n";

/// A glossary of two terms.
pub(crate) const GLOSSARY: &str = "title = \"Glossary\"\nsummary = \"Terms.\"\n\n[[term]]\nterm = \"wavefront\"\ndefinition = \"64 `lanes`.\"\ncuda = \"warp\"\nlink = \"/rules/pynvml/\"\n\n[[term]]\nterm = \"lane\"\ndefinition = \"One of them.\"\n";

/// The lines of [`folder`] before the Markdown.
pub(crate) const FRONT_LINES: usize = 6;

/// Every kind of block.
pub(crate) const BLOCKS: &str = r#"
## Start `here`

See [the rule](/rules/pynvml/) and [below](#start-here).

```python file=before.py anchor=one
```

```diff before=before.py after=after.py
```

```try
file = "before.py"
solution = "after.py"
task = "Make `x` two."
no_findings = ["pynvml"]
[[present]]
title = "`x` is 2."
message = "`x` is not 2 yet."
match.pattern = "x = 2"
```

```bench
file = "before.py"
title = "A `bench`"
note = "Look at x."
results = ["r1"]
```

```quiz
question = "Is 1 < 2?"
[[option]]
text = "Yes"
correct = true
why = "Count."
[[option]]
text = "No"
why = "It is."
```

```claim
verdict = "depends"
measured = "the small shapes"
[claim]
text = "It is fast."
quote = true
source = "A vendor"
url = "https://example.com/"
[evidence]
text = "It is slow for `x`."
source = "A paper"
```

```claim
verdict = "wrong"
[claim]
text = "It is always right."
source = "A guide"
[evidence]
text = "It is wrong for 3."
source = "The manual"
url = "https://example.com/manual"
```

```predict
question = "How many bytes does a lane read?"
answer = 16
unit = "bytes"
why = "One instruction reads `dwordx4`."
```

```predict
question = "Is it fast?"
[[option]]
text = "No"
why = "It is."
[[option]]
text = "Yes"
correct = true
why = "Count."
```

```figure
file = "lanes.svg"
title = "The lanes"
conclusion = "Lane 0 reads first."
caption = "Each lane reads 16 bytes."
table = "lanes.csv"
```

```run
command = "python before.py"
output = "output.txt"
recorded = "2026-11-23, 2 cores"
exact = true
```

```write
dir = "mask"
title = "Write the `mask`"
task = "Fill the hole."
minutes = 5
[[hint]]
text = "Which lanes are left?"
[[hint]]
text = "Those below `n`."
[[hint]]
text = "`mask = … < n`"
```

A wavefront has 64 lanes, and each wavefront $x^2$ more. [Lanes](/rules/pynvml/) `lane`

> [!WARNING]
> Hot.

| a | b |
|---|---|
| 1 | 2 |
"#;

pub(crate) fn site(files: Vec<(String, String)>, base: &str) -> Site {
    let content = Content::parse(files).expect("the content is well-formed");
    Site::new(content, Ops::default(), assets(), base)
}

/// The ops of the kernels package, so that links of lessons to their pages resolve.
pub(crate) fn real_ops() -> Ops {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
    let mut files = Vec::new();
    for folder in ["ops", "attention", "linear", "projections", "quantization"] {
        read_below(&kernels, &format!("hipward_kernels/{folder}"), &mut files);
    }
    Ops::parse(files)
}

fn read_below(root: &Path, folder: &str, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(root.join(folder)).expect("a folder").flatten() {
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            read_below(root, &path, files);
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            files.push((path, text));
        }
    }
}

/// A manifest as the bundle writes it.
pub(crate) fn assets() -> Assets {
    let names = [
        "site.css",
        "island-isa.js",
        "island-isa_bg.wasm",
        "island-job.js",
        "island-job_bg.wasm",
        "island-playground.js",
        "island-playground_bg.wasm",
        "boot.js",
        "editor.js",
        "analyzer-worker.js",
        "analyzer.js",
        "analyzer_bg.wasm",
        "favicon.svg",
    ];
    let manifest: Vec<String> = names
        .iter()
        .map(|name| format!("\"{name}\":\"{}\"", hashed(name)))
        .collect();
    Assets::from_manifest(&format!("{{{}}}", manifest.join(","))).expect("a manifest")
}

pub(crate) fn hashed(name: &str) -> String {
    name.replacen('.', "-0123456789ab.", 1)
}

/// The repository's own lessons.
pub(crate) fn real_content() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../content");
    let mut files = Vec::new();
    collect(&root, &root, &mut files);
    files
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("content/ is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(root, &path, files);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let name = path.strip_prefix(root).expect("below the root");
            files.push((name.to_string_lossy().replace('\\', "/"), text));
        }
    }
}

/// The values of an attribute, unescaped as far as addresses need it.
pub(crate) fn attribute(html: &str, name: &str) -> Vec<String> {
    html.split(&format!(" {name}=\""))
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .map(|value| value.replace("&amp;", "&"))
        .collect()
}

pub(crate) fn count(html: &str, what: &str) -> usize {
    html.matches(what).count()
}
