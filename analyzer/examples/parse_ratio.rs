//! Time of a full analysis over time of the bare parse, on the Python files of a folder.
//!
//! Run with `cargo run --release -p hipward-analyzer --example parse_ratio -- DIR [RATIO]`; it fails above RATIO.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs, hint, io};

use hipward_analyzer::{MAX_SOURCE_BYTES, Options, analyze};

/// The fastest of this many rounds counts: noise only adds.
const ROUNDS: usize = 3;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let Some(folder) = arguments.next() else {
        eprintln!("usage: parse_ratio DIR [RATIO]");
        return ExitCode::from(2);
    };
    let limit: f64 = arguments
        .next()
        .and_then(|ratio| ratio.parse().ok())
        .unwrap_or(1.5);
    let mut sources = Vec::new();
    if let Err(error) = collect(Path::new(&folder), &mut sources) {
        eprintln!("{folder}: {error}");
        return ExitCode::from(2);
    }
    let megabytes = sources.iter().map(String::len).sum::<usize>() as f64 / 1e6;

    let mut parser = tree_sitter::Parser::new();
    let language = tree_sitter::Language::new(tree_sitter_python::LANGUAGE);
    if let Err(error) = parser.set_language(&language) {
        eprintln!("{error}");
        return ExitCode::from(2);
    }
    let parse = fastest(|| {
        for source in &sources {
            hint::black_box(parser.parse(source, None));
        }
    });
    let options = Options::default();
    let mut findings = 0;
    let full = fastest(|| {
        findings = sources
            .iter()
            .map(|source| analyze(source, &options).findings.len())
            .sum();
    });
    let ratio = full.as_secs_f64() / parse.as_secs_f64();
    println!("| files | MB | findings | parse s | analyze s | ratio | analyze MB/s |");
    println!("|---:|---:|---:|---:|---:|---:|---:|");
    println!(
        "| {} | {megabytes:.1} | {findings} | {:.2} | {:.2} | {ratio:.2} | {:.1} |",
        sources.len(),
        parse.as_secs_f64(),
        full.as_secs_f64(),
        megabytes / full.as_secs_f64(),
    );
    if ratio > limit {
        eprintln!("The ratio is above {limit}.");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn fastest(mut run: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
    }
    best
}

fn collect(folder: &Path, sources: &mut Vec<String>) -> io::Result<()> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "py") {
            // A file in another encoding, or too large to be analyzed, would not be compared fairly.
            if let Ok(source) = fs::read_to_string(&path)
                && source.len() <= MAX_SOURCE_BYTES
            {
                sources.push(source);
            }
        }
    }
    Ok(())
}
