#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    hipward_emulator_fuzz::execute(text);
});
