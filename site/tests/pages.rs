//! Every page, of a tiny content folder and of the real one, at the root and below a base.

#![cfg(feature = "ssr")]

mod support;

use base64::Engine;
use hipward_protocol::{Capabilities, Isolation, IsolationLevel, Missing};
use hipward_site::{
    Assets, CONTENT_SECURITY_POLICY, Content, Ops, PageData, Route, Site, render_page, search,
};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use support::{BLOCKS, assets, attribute, count, folder, hashed, real_content, real_ops, site};

fn pages(site: &Site) -> BTreeMap<String, String> {
    site.routes()
        .iter()
        .chain([&Route::NotFound])
        .map(|route| (route.path(), render_page(site, route, &PageData::None)))
        .collect()
}

fn sites() -> Vec<Site> {
    ["/", "/x/"]
        .into_iter()
        .flat_map(|base| [site(folder(BLOCKS), base), real_site(base)])
        .collect()
}

fn real_site(base: &str) -> Site {
    let content = Content::parse(real_content()).expect("the content has no errors");
    Site::new(content, real_ops(), assets(), base)
}

#[test]
fn every_page_is_complete_html_with_its_landmarks() {
    for site in sites() {
        let pages = pages(&site);
        let mut titles = BTreeSet::new();
        for (path, html) in &pages {
            assert!(
                html.starts_with("<!DOCTYPE html><html lang=\"en\""),
                "{path}"
            );
            for once in [
                "<h1",
                "<main",
                "<title>",
                "<meta name=\"description\"",
                "class=\"skip\"",
            ] {
                assert_eq!(count(html, once), 1, "{path} has one {once}");
            }
            for landmark in ["<header", "<nav", "<footer"] {
                assert!(html.contains(landmark), "{path} has a {landmark}");
            }
            let title = html
                .split("<title>")
                .nth(1)
                .and_then(|rest| rest.split('<').next());
            assert!(
                titles.insert(title.map(str::to_owned)),
                "{path}: {title:?} is another page's title too"
            );
            let ids = attribute(html, "id");
            let unique: BTreeSet<&String> = ids.iter().collect();
            assert_eq!(ids.len(), unique.len(), "{path} uses an id twice: {ids:?}");
        }
    }
}

#[test]
fn all_links_resolve_under_the_base() {
    for site in sites() {
        let pages = pages(&site);
        for (path, html) in &pages {
            for link in attribute(html, "href")
                .into_iter()
                .chain(attribute(html, "src"))
            {
                if link.starts_with("https://") {
                    continue;
                }
                let (address, fragment) = link.split_once('#').unwrap_or((&link, ""));
                let target = if address.is_empty() {
                    html
                } else {
                    let below = address.strip_prefix(site.base());
                    let below = below.unwrap_or_else(|| panic!("{path}: {link} leaves the base"));
                    if site.download(below).is_some() {
                        continue;
                    }
                    if let Some(asset) = below.strip_prefix("assets/") {
                        assert!(
                            asset.contains("-0123456789ab."),
                            "{path}: {link} is in no manifest"
                        );
                        continue;
                    }
                    let route = site.resolve(below);
                    let route = route.unwrap_or_else(|| panic!("{path}: {link} is no page"));
                    assert_eq!(
                        site.base().len() - 1 + route.path().len(),
                        address.len(),
                        "{path}: {link} lacks its final slash"
                    );
                    &pages[&route.path()]
                };
                // Fragments with `=` carry data for a script; the others name a heading.
                if !fragment.is_empty() && !fragment.contains('=') {
                    assert!(
                        target.contains(&format!("id=\"{fragment}\"")),
                        "{path}: {link} names no heading"
                    );
                }
            }
        }
    }
}

/// The fragment of a section in the search index: its own, or the words of its heading.
fn fragment(section: &serde_json::Value) -> String {
    let heading = section[0].as_str().expect("text").to_lowercase();
    let words = heading.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    section[1].as_str().map_or(words.join("-"), str::to_owned)
}

#[test]
fn the_search_knows_every_page_and_where_in_it_words_stand() {
    for site in sites() {
        let pages = pages(&site);
        let index: serde_json::Value = serde_json::from_str(&search(&site).index).expect("JSON");
        let entries = index["pages"].as_array().expect("a list");
        assert_eq!(entries.len(), site.routes().len());
        for entry in entries {
            let address = entry["address"].as_str().expect("text");
            let below = address.strip_prefix(site.base()).expect("below the base");
            let html = &pages[&site.resolve(below).expect("a page").path()];
            assert!(!entry["title"].as_str().expect("text").is_empty());
            for section in entry["sections"].as_array().expect("a list") {
                let id = fragment(section);
                assert!(
                    id.is_empty() || html.contains(&format!(" id=\"{id}\"")),
                    "{address} has no #{id}"
                );
            }
        }
    }
    // Prose is found by its words, blocks of code are not.
    let files = search(&site(folder(BLOCKS), "/"));
    assert!(files.texts.contains("Is 1 < 2?"));
    let index: serde_json::Value = serde_json::from_str(&files.index).expect("JSON");
    let texts: Vec<String> = serde_json::from_str(&files.texts).expect("texts");
    let pages = index["pages"].as_array().expect("a list").iter();
    let sections = pages.flat_map(|page| page["sections"].as_array().expect("a list"));
    let example = sections
        .zip(&texts)
        .find(|(section, _)| fragment(section) == "example");
    assert_eq!(example.expect("an example").1, "");
}

#[test]
fn a_page_loads_only_what_the_manifest_lists() {
    let site = site(folder(BLOCKS), "/x/");
    let html = render_page(&site, &Route::Playground, &PageData::None);
    assert!(html.contains(&format!(
        "\"editor.js\":\"/x/assets/{}\"",
        hashed("editor.js")
    )));
    assert!(html.contains(&format!("href=\"/x/assets/{}\"", hashed("site.css"))));
    let content = Content::parse(folder(BLOCKS)).expect("well-formed");
    let bare = Site::new(content, Ops::default(), Assets::default(), "/");
    for (path, html) in pages(&bare) {
        assert!(
            !html.contains("/assets/"),
            "{path} loads what was not built"
        );
    }
    assert!(Assets::from_manifest("[]").is_err());
}

#[test]
fn a_lesson_shows_its_blocks_without_a_script() {
    let site = site(folder(BLOCKS), "/x/");
    let route = site.resolve("learn/port/first").expect("the lesson");
    let html = render_page(&site, &route, &PageData::None);
    for part in [
        "<h1>First <code>lesson</code></h1>",
        "<h2 id=\"start-here\">",
        "href=\"/x/rules/pynvml/\"",
        "<figcaption>before.py</figcaption>",
        "<span class=\"visually-hidden\">Removed</span>",
        "href=\"/x/playground/#text=import%20torch%0Ax%20%3D%201%0A&amp;task=Make%20%60x%60%20two.&amp;exercise=%7B",
        "href=\"/x/benchmark/#example=first.before\"",
        "<td>a &lt; b</td>",
        "<summary>Yes</summary>",
        "Is 1 &lt; 2?",
        "Claim: It depends",
        "<p><q>It is fast.</q></p><p class=\"hint\">Claimed by: <a href=\"https://example.com/\">A vendor</a>.</p>",
        "<strong>But: </strong><span>It is slow for <code>x</code>.</span></p><p class=\"hint\">Source: A paper. We measured the small shapes.</p>",
        "Claim: Wrong",
        "<p><span>It is always right.</span></p><p class=\"hint\">Claimed by: A guide.</p>",
        "<strong>What is right: </strong><span>It is wrong for 3.</span></p><p class=\"hint\">Refuted by: <a href=\"https://example.com/manual\">The manual</a>. We did not measure it.</p>",
        "<aside class=\"admonition warning\">",
    ] {
        assert!(html.contains(part), "{part} is not in {html}");
    }
    assert!(
        !html.contains("# test:") && !html.contains("# anchor"),
        "markers are not for readers"
    );
}

#[test]
fn figures_predictions_transcripts_and_exercises_are_complete_without_a_script() {
    let site = site(folder(BLOCKS), "/x/");
    let route = site.resolve("learn/port/first").expect("the lesson");
    let html = render_page(&site, &route, &PageData::None);
    for part in [
        "<svg viewBox=\"0 0 320 80\" width=\"320\" height=\"80\" role=\"img\" aria-labelledby=\"figure-lanes-title figure-lanes-desc\">",
        "marker-end=\"url(#figure-lanes-a)\"",
        "<figcaption>Each lane reads 16\u{a0}bytes.</figcaption>",
        "<summary>The numbers</summary>",
        "data-number=\"16\" data-tolerance=\"0.05\"",
        "<strong>16 bytes. </strong><span>One instruction reads <code>dwordx4</code>.</span>",
        "<samp>1 &lt; 2</samp>",
        "Output, recorded: 2026-11-23, 2 cores",
        "data-exercise=\"port/first/mask\"",
        "\ndef f(n):\n    # hole: mask\n",
        "<li>A short row.</li>",
        "hipward try port/first/mask start.py",
        "href=\"/x/learn/port/first/files/mask/start.py\" download",
        "href=\"/x/learn/port/first/files/first.zip\" download",
        "A <a href=\"/x/reference/glossary/#wavefront\" title=\"64 lanes.\">wavefront</a> has 64 <a href=\"/x/reference/glossary/#lane\" title=\"One of them.\">lanes</a>, and each wavefront <math>",
        "<code>lane</code>",
        "<dt>Kind</dt><dd>Tutorial</dd>",
    ] {
        assert!(html.contains(part), "{part} is not in {html}");
    }
    // Hint 1 contains hint 2, and the last hint contains the solution.
    let hints: Vec<usize> = ["Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3", "Solution"]
        .into_iter()
        .map(|summary| {
            html.find(&format!("<summary>{summary}</summary>"))
                .expect(summary)
        })
        .collect();
    let inside = html
        .get(hints[0]..hints[3])
        .expect("the hints and the solution are in order");
    assert!(!inside.contains("</details>"), "{inside}");
}

#[test]
fn an_exercise_in_hip_has_its_own_files_and_marks() {
    let block = "```write\ndir = \"mask\"\ntitle = \"T\"\ntask = \"T\"\nminutes = 5\n[[hint]]\ntext = \"A\"\n[[hint]]\ntext = \"B\"\n[[hint]]\ntext = \"C\"\n```\n";
    let kernel = "#include <hip/hip_runtime.h>\n// hole: mask\nint mask;\n// end: mask\n";
    let mut files = folder(block);
    for name in ["start", "solution"] {
        let path = |suffix| format!("01-port/01-first/mask/{name}.{suffix}");
        files.retain(|(other, _)| *other != path("py"));
        files.push((path("hip"), kernel.to_owned()));
    }
    let site_of_files = site(files.clone(), "/");
    let route = site_of_files
        .resolve("learn/port/first")
        .expect("the lesson");
    let html = render_page(&site_of_files, &route, &PageData::None);
    for part in [
        "data-file=\"start.hip\"",
        "hipward try port/first/mask start.hip",
        "Download start.hip",
        "// hole: mask",
    ] {
        assert!(html.contains(part), "{part} is not in {html}");
    }
    assert_eq!(
        html.matches("// hole: mask").count(),
        1,
        "the solution is shown without marks"
    );
    let downloads = site_of_files.downloads();
    assert!(
        downloads
            .iter()
            .any(|path| path.ends_with("mask/start.hip"))
    );
    assert!(!downloads.iter().any(|path| path.ends_with("solution.hip")));
    for (_, text) in files
        .iter_mut()
        .filter(|(path, _)| path.ends_with("start.hip"))
    {
        *text = text.replace("//", "#");
    }
    let error = Content::parse(files).expect_err("has no hole").to_string();
    assert!(error.contains("`mask/start.hip` has no hole"), "{error}");
}

#[test]
fn files_of_a_lesson_are_downloads_without_answers() {
    let site = site(folder(BLOCKS), "/");
    let files = site.downloads();
    for name in [
        "before.py",
        "lanes.csv",
        "mask/start.py",
        "mask/judge.py",
        "first.zip",
    ] {
        let path = format!("learn/port/first/files/{name}");
        assert!(files.contains(&path), "{path} is not in {files:?}");
        assert!(site.download(&path).is_some(), "{path}");
    }
    assert!(
        !files
            .iter()
            .any(|path| path.contains("solution") || path.contains("wrong")),
        "{files:?}"
    );
    for path in [
        "learn/port/first/files/mask/solution.py",
        "learn/port/first/files/",
        "learn/port/first/before.py",
    ] {
        assert_eq!(site.download(path), None, "{path}");
    }
    let start = site
        .download("/learn/port/first/files/mask/start.py")
        .expect("a file");
    assert!(start.starts_with(b"def f(n):\n    # hole: mask\n"));
    let zip = site
        .download("learn/port/first/files/first.zip")
        .expect("an archive");
    assert!(zip.starts_with(b"PK"));
    assert_eq!(
        Some(zip),
        site.download("learn/port/first/files/first.zip"),
        "the bytes are reproducible"
    );
}

#[test]
fn kinds_and_reading_paths_have_their_places() {
    let mut files = folder("");
    let front = "+++\ntitle = \"Install\"\nsummary = \"S\"\nminutes = 3\ngoal = \"G\"\nteaches = \"T\"\npaths = [\"team\"]\n+++\n";
    files.push((
        "07-how-to/part.toml".into(),
        "title = \"Guides\"\nsummary = \"P\"\nkind = \"how-to\"\n".into(),
    ));
    files.push(("07-how-to/01-install/lesson.md".into(), front.into()));
    let site = site(files, "/");
    let learn = render_page(&site, &Route::Learn, &PageData::None);
    assert!(
        learn.contains("<h2 id=\"kind-how-to\">How-to guides</h2>"),
        "{learn}"
    );
    assert!(learn.contains("href=\"/learn/team/\""), "{learn}");
    assert!(!learn.contains("/learn/kernel/"), "no page is on that path");
    assert!(learn.contains("data-paths=\"team\""), "{learn}");
    let path = site.resolve("/learn/team/").expect("a reading path");
    let path = render_page(&site, &path, &PageData::None);
    assert!(
        path.contains("href=\"/learn/how-to/install/\"") && !path.contains("/learn/port/first/"),
        "{path}"
    );
    let lesson = render_page(
        &site,
        &site.resolve("learn/how-to/install").expect("a page"),
        &PageData::None,
    );
    assert!(lesson.contains("<dd>How-to guide</dd>"), "{lesson}");
    assert!(
        !lesson.contains("rel=\"prev\""),
        "a guide does not follow the tutorial: {lesson}"
    );
}

#[test]
fn the_glossary_shows_each_term_with_nvidias_word() {
    let site = site(folder(BLOCKS), "/x/");
    let route = site.resolve("/reference/glossary/").expect("the glossary");
    let html = render_page(&site, &route, &PageData::None);
    for part in [
        "<div id=\"wavefront\"><dt>wavefront",
        "<span>64 <code>lanes</code>.</span>",
        "On NVIDIA: ",
        "href=\"/x/rules/pynvml/\">More about wavefront</a>",
    ] {
        assert!(html.contains(part), "{part} is not in {html}");
    }
    let texts = search(&site).texts;
    assert!(texts.contains("64 lanes. warp"), "{texts}");
}

#[test]
fn the_lessons_are_linked_in_order() {
    let site = site(real_content(), "/");
    let lessons: Vec<Route> = site
        .routes()
        .into_iter()
        .filter(|route| matches!(route, Route::Lesson { .. }))
        .collect();
    assert!(lessons.len() >= 5);
    for pair in lessons.windows(2) {
        let [first, second] = pair else { continue };
        let kind = |route: &Route| match route {
            Route::Lesson { part, .. } if part == "how-to" || part == "explanation" => part.clone(),
            _ => "tutorial".to_owned(),
        };
        if kind(first) != kind(second) {
            continue;
        }
        let html = render_page(&site, first, &PageData::None);
        let next = html
            .split("<a ")
            .find(|link| link.starts_with("rel=\"next\""))
            .unwrap_or_else(|| panic!("{first:?} leads nowhere"));
        assert!(
            next.contains(&format!("href=\"{}\"", second.path())),
            "{first:?} does not lead to {second:?}"
        );
    }
}

#[test]
fn addresses_resolve_with_and_without_the_final_slash() {
    let site = site(folder(BLOCKS), "/");
    for route in site.routes() {
        let path = route.path();
        assert_eq!(site.resolve(&path), Some(route.clone()), "{path}");
        assert_eq!(site.resolve(path.trim_matches('/')), Some(route), "{path}");
    }
    for path in [
        "/rules/nope/",
        "/learn/port/",
        "/learn/port/nope/",
        "/assets/x.js",
        "/a/b/c/d",
    ] {
        assert_eq!(site.resolve(path), None, "{path}");
    }
    assert_eq!(Route::Home.file(), "index.html");
    assert_eq!(
        Route::Rule("pynvml".into()).file(),
        "rules/pynvml/index.html"
    );
    assert_eq!(Route::NotFound.file(), "404.html");
}

#[test]
fn the_policy_allows_the_one_inline_script_and_no_other() {
    let site = site(folder(BLOCKS), "/");
    for (path, html) in pages(&site) {
        let inline: Vec<&str> = html
            .split("<script>")
            .skip(1)
            .filter_map(|rest| rest.split("</script>").next())
            .collect();
        let [script] = inline.as_slice() else {
            panic!("{path} has {} inline scripts", inline.len());
        };
        let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(script));
        assert!(
            CONTENT_SECURITY_POLICY.contains(&format!("'sha256-{hash}'")),
            "{path}: sha256-{hash}"
        );
    }
}

#[test]
fn benchmark_page_states_what_is_missing_and_how_to_fix_it() {
    let site = site(folder(BLOCKS), "/");
    let isa = render_page(&site, &Route::Isa, &PageData::Runner(None));
    assert!(isa.contains("No compiler here"), "{isa}");
    assert!(
        isa.contains("python -m hipward_kernels.compile FILE"),
        "{isa}"
    );
    let html = render_page(&site, &Route::Benchmark, &PageData::Runner(None));
    assert!(html.contains("No runner here"), "{html}");
    let capabilities = Capabilities {
        version: "0.1.0".into(),
        ready: false,
        devices: Vec::new(),
        queue_length: None,
        torch: None,
        hip_compiler: None,
        variants: Vec::new(),
        isolation: Isolation {
            level: IsolationLevel::Limits,
            mechanisms: Vec::new(),
            missing: Vec::new(),
        },
        wall_limit_s: 300,
        memory_limit_bytes: 8 << 30,
        code_limit_bytes: 262_144,
        missing: vec![Missing {
            what: "PyTorch".into(),
            consequence: "`<python>` has none.".into(),
            fix: "pip install torch".into(),
        }],
    };
    let html = render_page(
        &site,
        &Route::Benchmark,
        &PageData::Runner(Some(capabilities)),
    );
    assert!(html.contains("cannot run benchmarks yet"), "{html}");
    assert!(html.contains("<code>pip install torch</code>"), "{html}");
    assert!(
        html.contains("<code>&lt;python&gt;</code> has none."),
        "{html}"
    );
    // The snippets of the lessons are on the page, for the form and for a reader without a script.
    assert!(html.contains("data-snippet=\"first.before\""), "{html}");
}

#[test]
fn a_rule_page_is_its_documentation_with_an_example_to_open() {
    let site = Site::new(Content::default(), Ops::default(), assets(), "/");
    for rule in hipward_analyzer::RULES {
        let html = render_page(&site, &Route::Rule(rule.name.into()), &PageData::None);
        assert!(html.contains(rule.id), "{}", rule.name);
        for heading in ["What it does", "Example", "Use instead"] {
            assert!(
                html.contains(&format!(">{heading}</a></h2>")),
                "{}: {heading}",
                rule.name
            );
        }
        assert!(html.contains("href=\"/playground/#text="), "{}", rule.name);
    }
}

#[test]
fn the_models_page_shows_every_recorded_study_with_its_conditions() {
    let csv = include_str!("../../kernels/results/models.csv");
    let ops = Ops::parse([("results/models.csv".to_owned(), csv.to_owned())]);
    let site = Site::new(Content::default(), ops, assets(), "/");
    let html = render_page(&site, &Route::Models, &PageData::None);
    let studies: BTreeSet<&str> = csv
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').next())
        .collect();
    assert_eq!(count(&html, "<h2"), studies.len() + 1, "{studies:?}");
    assert_eq!(count(&html, "<table"), count(&html, "<caption"));
    let plots = count(&html, "class=\"bars\"");
    assert!(plots >= studies.len(), "{plots}");
    assert_eq!(
        count(&html, "<table"),
        count(&html, "class=\"scroll\"") + plots
    );
    for text in [
        "NVIDIA H200",
        "Speed-up",
        "3.14 ×",
        "fused_qkv flash_attention compile",
    ] {
        assert!(html.contains(text), "{text}");
    }
    let none = Site::new(Content::default(), Ops::default(), assets(), "/");
    let html = render_page(&none, &Route::Models, &PageData::None);
    assert!(html.contains("Nothing is recorded"), "{html}");
}
