//! Packs the table of CUDA names, the largest part of the browser module for CUDA C++: each name without the part that it
//! shares with the name before, and the HIP names likewise, unless they follow a pattern. The lengths of the shared parts, the
//! CUDA names and the HIP names are in separate sections, which compress better. `src/names.rs` unpacks them.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

#[path = "src/name_patterns.rs"]
mod name_patterns;

const TABLE: &str = "src/names.txt";
/// The character for a length of 0, and the largest length that a character represents.
const ZERO: u8 = b'!';
const MOST: usize = 90;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={TABLE}");
    println!("cargo:rerun-if-changed=src/name_patterns.rs");
    println!("cargo:rerun-if-changed=build.rs");
    let table = fs::read_to_string(TABLE)?;
    let [mut lengths, mut cuda_names, mut hip_names] = [const { String::new() }; 3];
    let (mut last_cuda, mut last_hip) = ("", "");
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (cuda, hip) = line.split_once(' ').unwrap_or((line, ""));
        let same = shared(cuda, last_cuda);
        lengths.push(char::from(ZERO + u8::try_from(same)?));
        cuda_names.push_str(&cuda[same..]);
        last_cuda = cuda;
        let name = cuda.trim_end_matches('!');
        // No name contains one of these characters.
        match hip {
            "" => {}
            "-" => cuda_names.push('~'),
            _ if name_patterns::without_version(name).as_deref() == Some(hip) => {
                cuda_names.push('}');
            }
            _ if name_patterns::camel_case(name) == hip => cuda_names.push('|'),
            _ => {
                let same = shared(hip, last_hip);
                cuda_names.push(' ');
                hip_names.push(char::from(ZERO + u8::try_from(same)?));
                hip_names.push_str(&hip[same..]);
                hip_names.push('\n');
                last_hip = hip;
            }
        }
        cuda_names.push('\n');
    }
    // Two line breaks separate the sections.
    cuda_names.pop();
    let packed = [lengths, cuda_names, hip_names].join("\n\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("names.txt"), packed)?;
    Ok(())
}

/// The length of the beginning that two names share.
fn shared(name: &str, before: &str) -> usize {
    let pairs = name.bytes().zip(before.bytes()).take(MOST);
    pairs.take_while(|(a, b)| a == b).count()
}
