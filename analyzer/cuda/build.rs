//! Packs the table of CUDA names, the largest part of the browser module for CUDA C++: each line without the part that it
//! shares with the line before, and the HIP names likewise. `src/names.rs` unpacks it.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

const TABLE: &str = "src/names.txt";
/// The character for a length of 0, and the largest length that a character represents.
const ZERO: u8 = b'!';
const MOST: usize = 90;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={TABLE}");
    let table = fs::read_to_string(TABLE)?;
    let mut packed = String::new();
    let (mut last_cuda, mut last_hip) = ("", "");
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (cuda, hip) = line.split_once(' ').unwrap_or((line, ""));
        add(&mut packed, cuda, last_cuda)?;
        last_cuda = cuda;
        match hip {
            "" => {}
            // No length's character, and in no name.
            "-" => packed.push('~'),
            hip => {
                packed.push(' ');
                add(&mut packed, hip, last_hip)?;
                last_hip = hip;
            }
        }
        packed.push('\n');
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("names.txt"), packed)?;
    Ok(())
}

/// How much of `name` is `before`'s, and the rest.
fn add(packed: &mut String, name: &str, before: &str) -> Result<(), Box<dyn Error>> {
    let same = name
        .bytes()
        .zip(before.bytes())
        .take(MOST)
        .take_while(|(a, b)| a == b)
        .count();
    packed.push(char::from(ZERO + u8::try_from(same)?));
    packed.push_str(&name[same..]);
    Ok(())
}
