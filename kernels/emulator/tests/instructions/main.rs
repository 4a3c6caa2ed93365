//! Each instruction that has no test of its own elsewhere, with the results of AMD's pseudocode; and a check that every
//! instruction that the emulator executes has a test.

#[path = "../common/mod.rs"]
mod common;

mod access;
mod compare;
mod matrix;
mod scalar;
mod vector;

use hipward_emulator::{Arch, supports};
use std::collections::BTreeSet;

/// The other tests, which contain the instructions that they execute.
const OTHERS: [&str; 6] = [
    include_str!("../listings.rs"),
    include_str!("../memory.rs"),
    include_str!("../mfma.rs"),
    include_str!("../scalar.rs"),
    include_str!("../stepper.rs"),
    include_str!("../vector.rs"),
];

/// Instructions of calls and transposed reads, which the Python tests execute as compilers emit them, and the end of every
/// kernel.
const COMPILED: [&str; 6] = [
    "ds_read_b64_tr_b16",
    "ds_read_b64_tr_b8",
    "s_endpgm",
    "s_getpc_b64",
    "s_setpc_b64",
    "s_swappc_b64",
];

fn words(text: &str) -> impl Iterator<Item = &str> {
    let suffixes = ["_e32", "_e64", "_sdwa", "_dpp"];
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .map(move |word| {
            let stem = suffixes.iter().find_map(|suffix| word.strip_suffix(suffix));
            stem.unwrap_or(word)
        })
}

#[test]
fn every_instruction_has_a_test() {
    let mut tested: BTreeSet<String> = COMPILED.map(str::to_owned).into();
    for text in OTHERS {
        // Lines of code are separated by an escape in the source.
        tested.extend(words(&text.replace("\\n", " ")).map(str::to_owned));
    }
    let codes: Vec<Vec<String>> = vec![
        scalar::codes(),
        vector::codes(),
        matrix::codes(),
        access::codes(),
        compare::codes(),
    ];
    for code in codes.iter().flatten() {
        tested.extend(words(code).map(str::to_owned));
    }
    let all = include_str!("../mnemonics.txt");
    let missing: Vec<&str> = all
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(' ').next())
        .filter(|name| {
            [Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950]
                .iter()
                .any(|arch| supports(*arch, name))
        })
        // `mfma_scaled.rs` and `mfma_sparse.rs` form their names.
        .filter(|name| !name.ends_with("_f8f6f4") && !name.starts_with("v_smfmac_"))
        .filter(|name| !tested.contains(*name))
        .collect();
    assert!(missing.is_empty(), "without a test: {}", missing.join(" "));
}
