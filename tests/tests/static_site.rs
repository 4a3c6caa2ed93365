//! `hipward build` writes a site that any static host can serve, within its size budgets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Brotli sizes of a page with everything it loads, KB. From the design.
const LESSON_BUDGET_KB: f64 = 30.0;
/// The scripts and styles of a lesson without exercises, KB.
const FRAME_BUDGET_KB: f64 = 11.0;
/// What the browser loads before the first result of the search; the texts for excerpts come after it.
const SEARCH_BUDGET_KB: f64 = 60.0;
/// Brotli size of each module with its glue, KB. From the design; ARCHITECTURE.md gives the reasons for the sizes of
/// the analyzer and of the page for machine code.
const MODULE_BUDGETS_KB: [(&str, &[&str], f64); 7] = [
    ("island-isa", &["island-isa_bg.wasm"], 180.0),
    ("island-job", &["island-job_bg.wasm"], 150.0),
    ("island-playground", &["island-playground_bg.wasm"], 150.0),
    ("analyzer", &["analyzer.js", "analyzer_bg.wasm"], 200.0),
    (
        "analyzer-all",
        &["analyzer-all.js", "analyzer-all_bg.wasm"],
        475.0,
    ),
    ("emulator", &["emulator.js", "emulator_bg.wasm"], 160.0),
    ("editor", &["editor.js"], 170.0),
];

const ORIGIN: &str = "https://docs.example";
const SOURCE: &str = "https://git.example/hipward";
const FEEDBACK: &str = "mailto:gpu-team@acme.example";

fn build(base: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(hipward_tests::hipward())
        .args([
            "build",
            "--base",
            base,
            "--public-origin",
            ORIGIN,
            "--source-url",
            SOURCE,
            "--feedback-url",
            FEEDBACK,
            "--out",
        ])
        .arg(folder.path().join("dist"))
        .output()
        .expect("hipward runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (folder, text)
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "html")
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The values of `href` and `src` in a page.
fn links(html: &str) -> Vec<&str> {
    ["href=\"", "src=\""]
        .iter()
        .flat_map(|attribute| html.split(attribute).skip(1))
        .filter_map(|rest| rest.split('"').next())
        .collect()
}

#[test]
fn links_of_a_static_site_resolve_under_its_base() {
    let (folder, text) = build("/x/");
    let dist = folder.path().join("dist");
    let pages = pages(&dist);
    let count = pages
        .iter()
        .filter(|page| page.ends_with("index.html"))
        .count();
    assert!(
        count >= 20,
        "home, lessons, playground, benchmark, rules: {count}"
    );
    assert!(
        text.contains(&count.to_string()),
        "{count} pages, but the output is {text:?}"
    );
    assert!(dist.join("404.html").is_file());

    let mut dead = Vec::new();
    for page in &pages {
        let html = fs::read_to_string(page).expect("a page");
        for address in [SOURCE, FEEDBACK] {
            assert!(
                links(&html).contains(&address),
                "{} has no link to {address}",
                page.display()
            );
        }
        for link in links(&html)
            .into_iter()
            .filter(|link| link.starts_with('/'))
        {
            let path = link.split(['#', '?']).next().unwrap_or_default();
            let Some(path) = path.strip_prefix("/x/") else {
                dead.push(format!("{}: {link} is outside the base", page.display()));
                continue;
            };
            let file = dist.join(path);
            if !(file.is_file() || file.join("index.html").is_file()) {
                dead.push(format!("{}: {link}", page.display()));
            }
            if let Some((_, fragment)) = link.split_once('#')
                && file.join("index.html").is_file()
                && !fragment.contains('=')
            {
                let target = fs::read_to_string(file.join("index.html")).expect("a page");
                if !target.contains(&format!("id=\"{fragment}\"")) {
                    dead.push(format!("{}: {link} has no such heading", page.display()));
                }
            }
        }
    }
    dead.sort();
    dead.dedup();
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

/// The canonical address of a page.
fn canonical(html: &str) -> Option<&str> {
    let (_, rest) = html.split_once("<link rel=\"canonical\" href=\"")?;
    rest.split('"').next()
}

#[test]
fn sitemap_lists_every_page_except_those_of_jobs() {
    let (folder, _) = build("/x/");
    let dist = folder.path().join("dist");
    let sitemap = fs::read_to_string(dist.join("sitemap.xml")).expect("a sitemap");
    let listed: BTreeSet<&str> = sitemap
        .split("<loc>")
        .skip(1)
        .filter_map(|rest| rest.split("</loc>").next())
        .collect();

    let mut expected = BTreeSet::new();
    for page in pages(&dist) {
        let html = fs::read_to_string(&page).expect("a page");
        let below = page.strip_prefix(&dist).expect("a page of the site");
        if below.starts_with("jobs") || below == Path::new("404.html") {
            assert_eq!(canonical(&html), None, "{}", below.display());
            continue;
        }
        let path = below.to_str().expect("a path in ASCII");
        let address = format!("{ORIGIN}/x/{}", path.trim_end_matches("index.html"));
        assert_eq!(canonical(&html), Some(address.as_str()));
        expected.insert(address);
    }
    let expected: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
    assert_eq!(listed, expected);

    assert!(
        !dist.join("robots.txt").exists(),
        "crawlers read it at the root only"
    );
    let (folder, _) = build("/");
    let robots = fs::read_to_string(folder.path().join("dist/robots.txt")).expect("robots.txt");
    assert!(
        robots.contains("Sitemap: https://docs.example/sitemap.xml"),
        "{robots}"
    );
}

#[test]
fn pages_and_modules_are_within_their_budgets() {
    let (folder, _) = build("/");
    let dist = folder.path().join("dist");
    let manifest = fs::read_to_string(hipward_tests::assets().join("manifest.json"))
        .expect("the assets are built: make assets");
    let manifest: BTreeMap<String, String> = serde_json::from_str(&manifest).expect("a manifest");
    let compressed = |name: &str| {
        let file = dist.join("assets").join(&manifest[name]);
        brotli_kb(&fs::read(file).expect("an asset"))
    };

    let mut over = Vec::new();
    let mut report = |what: String, kb: f64, budget: f64| {
        println!("{what:<50} {kb:>8.1} KB of {budget:>5.0}");
        if kb > budget {
            over.push(what);
        }
    };
    for (name, files, budget) in MODULE_BUDGETS_KB {
        report(
            name.to_owned(),
            files.iter().map(|file| compressed(file)).sum(),
            budget,
        );
    }
    report(
        "frame of a page".to_owned(),
        compressed("boot.js") + compressed("site.css"),
        FRAME_BUDGET_KB,
    );
    let index = fs::read(dist.join("search.json")).expect("the search index");
    report(
        "search index".to_owned(),
        brotli_kb(&index),
        SEARCH_BUDGET_KB,
    );
    let lessons: Vec<PathBuf> = pages(&dist.join("learn"));
    assert!(lessons.len() >= 5);
    for page in lessons {
        let html = fs::read_to_string(&page).expect("a page");
        let mut kb = brotli_kb(html.as_bytes());
        for (name, hashed) in &manifest {
            if links(&html)
                .iter()
                .any(|link| link.ends_with(hashed.as_str()))
            {
                kb += compressed(name);
            }
        }
        if html.contains("data-exercise") {
            kb += compressed("exercise.js");
        }
        assert!(
            !html.contains("<leptos-island"),
            "a lesson loads no module: {}",
            page.display()
        );
        let name = page
            .strip_prefix(&dist)
            .expect("inside")
            .display()
            .to_string();
        report(name, kb, LESSON_BUDGET_KB);
    }
    assert!(over.is_empty(), "over budget: {over:?}");
}

fn brotli_kb(bytes: &[u8]) -> f64 {
    let mut compressed = Vec::new();
    {
        let mut writer = brotli::CompressorWriter::new(&mut compressed, 1 << 16, 11, 24);
        writer.write_all(bytes).expect("memory");
    }
    compressed.len() as f64 / 1000.0
}
