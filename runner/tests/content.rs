//! `hipward serve --content` and `hipward build --content`: a team's own lessons, loaded again on save.

mod support;

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
};
use support::{Server, agent, hipward};
use tempfile::TempDir;

const FIRST: &str = "01-port/01-first/lesson.md";
const SECOND: &str = "01-port/02-second/lesson.md";

fn lesson(markdown: &str) -> String {
    format!("+++\ntitle = \"T\"\nsummary = \"S\"\nminutes = 3\ngoal = \"G\"\n+++\n{markdown}")
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

fn content() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let part = "title = \"Port\"\nsummary = \"P\"\n";
    write(folder.path(), "01-port/part.toml", part);
    write(folder.path(), FIRST, &lesson("One.\n"));
    write(folder.path(), SECOND, &lesson("Two.\n"));
    folder
}

/// The versions that the server announces, as they arrive.
fn versions(server: &Server) -> impl Iterator<Item = u64> + use<> {
    let answer = agent()
        .get(format!("{}/content-changes", server.url))
        .call()
        .expect("answers");
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    BufReader::new(answer.into_body().into_reader())
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.strip_prefix("data:")?.trim().parse().ok())
}

#[test]
fn saved_content_is_served_and_errors_replace_only_their_page() {
    let folder = content();
    let path = folder.path().to_str().expect("UTF-8");
    let server = Server::start(&["--content", path]);
    let mut versions = versions(&server);
    let first = versions.next().expect("the version of the content");
    let (status, page) = server.get("/learn/port/first/");
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("<p>One.</p>"), "{page}");
    assert!(
        page.contains(&format!("data-version=\"{first}\"")),
        "{page}"
    );
    let (status, script) = server.get("/content-changes.js");
    assert_eq!(status, 200);
    assert!(script.contains("EventSource"), "{script}");

    write(
        folder.path(),
        FIRST,
        &lesson("# Title\n\n```python file=gone.py\n```\n\n[there](/learn/port/second/)\n"),
    );
    let second = versions.next().expect("a version after the save");
    assert!(second > first);
    let (status, page) = server.get("/learn/port/first/");
    assert_eq!(status, 500, "{page}");
    for text in [
        "2 errors",
        "lesson.md:7",
        "use <code>## …</code>",
        "lesson.md:9",
        "no <code>gone.py</code> beside the lesson; add it or correct the name",
        &format!("data-version=\"{second}\""),
    ] {
        assert!(page.contains(text), "{text:?} is not in {page}");
    }
    for path in ["/", "/learn/", "/learn/port/second/", "/search.json"] {
        assert_eq!(server.get(path).0, 200, "{path}");
    }

    write(folder.path(), FIRST, &lesson("Corrected.\n"));
    versions.next().expect("a version after the correction");
    let (status, page) = server.get("/learn/port/first/");
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("<p>Corrected.</p>"), "{page}");
}

#[test]
fn server_starts_with_errors_in_the_content() {
    let folder = content();
    write(folder.path(), FIRST, "no front matter");
    fs::remove_file(folder.path().join("01-port/part.toml")).expect("it exists");
    let path = folder.path().to_str().expect("UTF-8");
    let server = Server::start(&["--content", path]);
    let (status, page) = server.get("/learn/port/first/");
    assert_eq!(status, 500);
    assert!(page.contains("lesson.md:1"), "{page}");
    // The error in part.toml has no page of its own.
    let (status, page) = server.get("/learn/");
    assert_eq!(status, 500);
    assert!(page.contains("01-port/part.toml:1"), "{page}");
    assert_eq!(server.get("/learn/port/second/").0, 200);
}

#[test]
fn built_in_content_is_not_watched() {
    let server = Server::start(&[]);
    assert_eq!(server.get("/content-changes").0, 404);
    assert_eq!(server.get("/content-changes.js").0, 404);
    assert!(!server.get("/").1.contains("content-changes"));
}

#[test]
fn public_origin_adds_a_sitemap_and_canonical_addresses() {
    let server = Server::start(&["--public-origin", "https://docs.example"]);
    let (status, sitemap) = server.get("/sitemap.xml");
    assert_eq!(status, 200);
    assert!(sitemap.contains("<loc>https://docs.example/learn/</loc>"));
    let (status, robots) = server.get("/robots.txt");
    assert_eq!(status, 200);
    assert!(robots.contains("Sitemap: https://docs.example/sitemap.xml"));
    for path in ["/fleet/", "/jobs/"] {
        assert!(robots.contains(&format!("Disallow: {path}\n")), "{robots}");
        assert!(!sitemap.contains(path), "{path}");
    }
    let (_, page) = server.get("/learn/");
    assert!(page.contains(r#"<link rel="canonical" href="https://docs.example/learn/""#));

    let server = Server::start(&[]);
    for path in ["/sitemap.xml", "/robots.txt"] {
        assert_eq!(server.get(path).0, 404, "{path}");
    }
}

#[test]
fn build_reports_all_errors_and_fails() {
    let folder = content();
    write(folder.path(), FIRST, "no front matter");
    write(folder.path(), SECOND, &lesson("<b>\n"));
    let out = tempfile::tempdir().expect("a temporary folder");
    let output = hipward()
        .args(["build", "--content"])
        .arg(folder.path())
        .arg("--out")
        .arg(out.path())
        .output()
        .expect("hipward runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(errors.contains(&format!("{FIRST}:1: ")), "{errors}");
    assert!(errors.contains(&format!("{SECOND}:7: ")), "{errors}");
}
