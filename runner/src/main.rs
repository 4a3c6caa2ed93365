//! The `hipward` binary: site, API, jobs, devices, isolation, command line.
//!
//! `commands/` has one module per command. The other modules are the parts of `serve`, and what several commands share.

mod api;
mod atomic_write;
mod commands;
mod config;
mod connections;
mod devices;
mod exercise;
mod file_state;
mod http_client;
mod isolation;
mod jobs;
mod lsp;
mod oidc;
mod procfs;
mod python;
mod rule_pages;
mod secret_file;
mod server;
mod shared_files;
mod shutdown;
mod source_file;
mod statistics;
mod text_encoding;
mod web;
mod webhook;

use clap::{Parser, Subcommand};
use commands::{bench, build, check, doctor, explain, serve, try_exercise};
use std::process::ExitCode;

/// The environment variable with the token, if no file is passed. It is not passed on to Python.
const TOKEN_VARIABLE: &str = "HIPWARD_TOKEN";

/// The environment variable with the address of a shared database. It is not passed on to Python.
const DATABASE_VARIABLE: &str = "HIPWARD_DATABASE";

/// What to try first, below the list of commands.
const EXAMPLES: &str = "\
Examples:
  hipward serve                           lessons, playground and benchmarks on http://127.0.0.1:8717/
  hipward check .                         what breaks or crawls on ROCm in this folder
  hipward check . --diff                  what the safe fixes would change
  hipward plan .                          what to do first, and in which order
  hipward explain pynvml                  why a finding matters, and what to write instead
  hipward run kernel.cu --args run.toml   a CUDA kernel as AMD machine code, without a GPU
  hipward bench model.py                  eager against every optimized variant, precision first
  hipward bench model.py --host gpu:8717  the same on a GPU host that serves Hipward";

/// Takes PyTorch code from NVIDIA-only to fast on AMD ROCm: learn, check, prove.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, after_help = EXAMPLES)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one value, and it is consumed at once"
)]
enum Command {
    /// Serve the site, the API and a local benchmark runner
    Serve(serve::Args),
    /// Find what breaks or crawls on ROCm in source files, and fix it
    Check(check::Args),
    /// Print the porting plan of a project: what to do first, in which order, and the effort
    Plan(check::plan::Args),
    /// Serve an editor: diagnostics, quick fixes, rule pages
    Lsp(commands::lsp::Args),
    /// Show a rule's page, or list the rules
    Explain(explain::Args),
    /// List the rules, also as JSON
    Rules(commands::rules::Args),
    /// Benchmark a snippet: precision first, then eager against every optimized variant
    Bench(bench::Args),
    /// Execute a HIP or CUDA kernel as AMD machine code without an AMD GPU, and compare its results
    Run(commands::run_kernel::Args),
    /// Check your answer to an exercise of a lesson, or begin one
    Try(try_exercise::Args),
    /// Write the site as files that any static host can serve
    Build(build::Args),
    /// Report what this host has and lacks, and how to fix it
    Doctor(doctor::Args),
    /// Run jobs of a server elsewhere on the devices of this host
    Worker(commands::worker::Args),
    /// List the hosts of a server, their devices and what runs on them; drain a host
    Fleet(commands::fleet::Args),
    /// Create, list and remove the tokens of a team
    Token(commands::token::Args),
    /// Copy a server's jobs, results and tokens into a file, also while it runs
    Backup(commands::backup::BackupArgs),
    /// Replace a server's jobs by a backup
    Restore(commands::backup::RestoreArgs),
    /// Run one worker in its sandbox; started by `serve`
    #[command(hide = true)]
    SandboxExec,
    /// Restrict this process and become a worker; started by bubblewrap
    #[command(hide = true)]
    SandboxStage,
    /// Execute one launch that standard input describes as JSON, as `hipward-emulate` does; started by Python
    #[command(hide = true)]
    EmulateLaunch,
}

fn main() -> ExitCode {
    match CommandLine::parse().command {
        Command::Serve(args) => serve::run(args),
        Command::Check(args) => check::run(args),
        Command::Plan(args) => check::plan::run(&args),
        Command::Lsp(args) => commands::lsp::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Rules(args) => commands::rules::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Run(args) => commands::run_kernel::run(args),
        Command::Try(args) => try_exercise::run(args),
        Command::Build(args) => build::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Worker(args) => commands::worker::run(args),
        Command::Fleet(args) => commands::fleet::run(&args),
        Command::Token(args) => commands::token::run(args),
        Command::Backup(args) => commands::backup::run_backup(args),
        Command::Restore(args) => commands::backup::run_restore(args),
        Command::SandboxExec => isolation::supervise(),
        Command::SandboxStage => isolation::run_stage(),
        Command::EmulateLaunch => hipward_emulator::run_command(),
    }
}
