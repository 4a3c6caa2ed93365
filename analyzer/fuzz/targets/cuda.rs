#![no_main]

use hipward_analyzer::Language;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| hipward_fuzz::judge(source, Language::CudaCpp));
