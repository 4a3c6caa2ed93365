#![no_main]
// The first byte picks the kind of file.

use hipward_analyzer::Language;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: (u8, &str)| {
    let (kind, source) = source;
    let language = Language::ALL[usize::from(kind) % Language::ALL.len()];
    hipward_fuzz::judge(source, language);
});
