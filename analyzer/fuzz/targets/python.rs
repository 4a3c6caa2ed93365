#![no_main]

use hipward_analyzer::Language;
use hipward_analyzer_python::syntax::is_read_alike;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    assert!(is_read_alike(source), "the parsers disagree");
    hipward_fuzz::judge(source, Language::Python);
});
