//! `hipward build`: the site as files. The same pages as `serve`, without a runner.

use crate::web::{assets::Assets, pages::Pages};
use std::{
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Says that a folder was written by us and may be replaced.
const MARK: &str = ".hipward-site";

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
    /// Show what a team's own rules (TOML) find in the playground too
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
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
    let pages = Pages::load(args.content.as_deref(), args.rules.as_deref(), &args.base)?;
    let out = &args.out;
    make_way(out)?;
    let all = pages.all();
    let expected = all.len();
    for page in all {
        write(&out.join(&page.file), page.html.as_bytes())?;
    }
    for (name, text) in pages.data() {
        write(&out.join(name), text.as_bytes())?;
    }
    for name in Assets::iter() {
        if let Some(file) = Assets::get(&name) {
            write(&out.join("assets").join(name.as_ref()), &file.data)?;
        }
    }
    // Two routes with one address would have overwritten each other.
    let written = count_pages(out)?;
    if written != expected {
        return Err(format!("{expected} pages were made, but {written} are there").into());
    }
    Ok(written - 1)
}

/// Empties the output folder if it is ours to empty.
fn make_way(out: &Path) -> Result<(), Box<dyn Error>> {
    let occupied = fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some());
    if occupied {
        if !out.join(MARK).exists() {
            let out = out.display();
            return Err(format!(
                "{out} holds files that no build of ours made; choose another folder with --out"
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
