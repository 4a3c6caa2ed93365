//! Listings that once broke a promise, most of them found by fuzzing (`make fuzz`), and those that the tests execute.

#[path = "common/promises.rs"]
pub mod promises;

use std::{fs, path::Path};

#[test]
fn listings_that_broke_a_promise_no_longer_do() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions");
    let mut seen = 0;
    for entry in fs::read_dir(folder).expect("the folder of regressions") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("text");
        promises::execute(&text);
        seen += 1;
    }
    assert!(seen > 0, "no listing was read");
}

#[test]
fn complete_listings_run() {
    assert_eq!(promises::execute(include_str!("listings/twice.s")), 1);
}
