//! Measures the analysis of the CUDA C++ sources in a folder; with `--findings` it also prints the findings.
//!
//! Run with `cargo run --release -p hipward-analyzer --example cuda_speed -- DIR [--findings]`.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs, hint, io};

use hipward_analyzer::{Language, MAX_SOURCE_BYTES, Options, analyze};

/// The fastest of this many rounds counts: noise only adds.
const ROUNDS: usize = 3;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let Some(folder) = arguments.next() else {
        eprintln!("usage: cuda_speed DIR [--findings]");
        return ExitCode::from(2);
    };
    let mut sources = Vec::new();
    if let Err(error) = collect(Path::new(&folder), &mut sources) {
        eprintln!("{folder}: {error}");
        return ExitCode::from(2);
    }
    let options = {
        let mut options = Options::default();
        options.language = Some(Language::CudaCpp);
        options
    };
    if arguments.next().is_some() {
        for (path, source) in &sources {
            for finding in analyze(source, &options).findings {
                let line = finding.span.start.line;
                let text = source.lines().nth(line as usize - 1).unwrap_or_default();
                println!(
                    "{}\t{path}:{line}\t{}\t{}",
                    finding.id,
                    finding.message,
                    text.trim()
                );
            }
        }
    }
    let megabytes = sources.iter().map(|(_, text)| text.len()).sum::<usize>() as f64 / 1e6;
    let fastest = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            for (_, source) in &sources {
                hint::black_box(analyze(source, &options));
            }
            start.elapsed()
        })
        .min()
        .unwrap_or(Duration::ZERO);
    println!(
        "{} files, {megabytes:.1} MB: {:.0} ms, {:.0} MB/s",
        sources.len(),
        fastest.as_secs_f64() * 1e3,
        megabytes / fastest.as_secs_f64()
    );
    ExitCode::SUCCESS
}

fn collect(folder: &Path, sources: &mut Vec<(String, String)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            collect(&path, sources)?;
            continue;
        }
        let name = path.to_string_lossy().into_owned();
        if Language::of_path(&name) == Some(Language::CudaCpp)
            && let Ok(source) = fs::read_to_string(&path)
            && source.len() <= MAX_SOURCE_BYTES
        {
            sources.push((name, source));
        }
    }
    Ok(())
}
