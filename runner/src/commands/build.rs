//! `hipward build`: writes the site as files. The same pages as `serve`, without a runner of its own.

use super::public_args::PublicArgs;
use crate::web::{
    addresses,
    assets::Assets,
    pages::{Pages, SiteOptions},
};
use std::{
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Marks a folder that `hipward build` has written and may replace.
const MARK: &str = ".hipward-site";

/// The address of the runner's capabilities, below the site's path.
const CAPABILITIES: &str = "api/v1/capabilities";

/// Arguments of `hipward build`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder to write to; replaced if an earlier build made it
    #[arg(long, value_name = "DIST")]
    out: PathBuf,
    /// Path that the site will be served under
    #[arg(long, value_name = "PATH", default_value = "/")]
    base: String,
    /// Build this content folder instead of the built-in lessons
    #[arg(long, value_name = "DIR")]
    content: Option<PathBuf>,
    /// Add a team's own rules (TOML) to the playground
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
    /// Send benchmarks to the runner at this address, which allows the site with --allow-origin; may be repeated
    #[arg(long, value_name = "URL", value_parser = addresses::runner)]
    runner: Vec<String>,
    #[command(flatten)]
    public: PublicArgs,
}

/// Writes the site.
pub(crate) fn run(args: Args) -> ExitCode {
    match build(&args) {
        Ok(pages) => {
            println!("Wrote {pages} pages and 404.html to {}", args.out.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("hipward build: {error}");
            ExitCode::FAILURE
        }
    }
}

fn build(args: &Args) -> Result<usize, Box<dyn Error>> {
    let options = SiteOptions {
        rules: args.rules.clone(),
        base: args.base.clone(),
        runners: args.runner.clone(),
        public: args.public.clone().into(),
        signs_in: false,
    };
    let pages = Pages::load(args.content.as_deref(), &options)?;
    let out = &args.out;
    prepare_output_folder(out)?;
    let all = pages.all();
    let expected = all.len();
    for page in all {
        write(&out.join(&page.file), page.html.as_bytes())?;
    }
    for (name, text) in pages.data() {
        write(&out.join(name), text.as_bytes())?;
    }
    // The answer of a site without a runner. A proxy that forwards the API to one answers instead of this file; without it,
    // each page that queries the runner would log a missing file.
    write(&out.join(CAPABILITIES), b"null")?;
    for (path, bytes) in pages.downloads() {
        write(&out.join(path), &bytes)?;
    }
    for name in Assets::iter() {
        if let Some(file) = Assets::get(&name) {
            write(&out.join("assets").join(name.as_ref()), &file.data)?;
        }
    }
    // Detects two routes with the same address.
    let written = count_pages(out)?;
    if written != expected {
        return Err(
            format!("{expected} pages were rendered, but {written} files were written").into(),
        );
    }
    Ok(written - 1)
}

/// Empties the output folder if an earlier build has written it.
fn prepare_output_folder(out: &Path) -> Result<(), Box<dyn Error>> {
    let occupied = fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some());
    if occupied {
        if !out.join(MARK).exists() {
            let out = out.display();
            return Err(format!(
                "{out} contains files that no earlier build wrote; choose another folder with --out"
            )
            .into());
        }
        fs::remove_dir_all(out)?;
    }
    Ok(write(
        &out.join(MARK),
        b"Made by `hipward build`, which may replace this folder.\n",
    )?)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let failed = |error: io::Error| {
        io::Error::new(
            error.kind(),
            format!("cannot write {}: {error}", path.display()),
        )
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, bytes).map_err(failed)
}

fn count_pages(folder: &Path) -> io::Result<usize> {
    let mut pages = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            pages += count_pages(&path)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            pages += 1;
        }
    }
    Ok(pages)
}
