//! `hipward try`: an exercise of a lesson on this machine, with the same judge as on the page.

use super::temporary_folder::temporary_folder;
use crate::{
    DATABASE_VARIABLE, TOKEN_VARIABLE,
    exercise::{Exercise, Exercises},
    python,
    web::pages::content_files,
};
use std::{
    error::Error,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// Arguments of `hipward try`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0, solved; 1, not solved; 2, nothing was checked")]
pub(crate) struct Args {
    /// An exercise, such as optimize/first-triton-kernel/rmsnorm, or its lesson or name; without one, list all
    #[arg(value_name = "LESSON[/EXERCISE]")]
    exercise: Option<String>,
    /// Your file; without one, write the file to begin with into this folder
    #[arg(conflicts_with_all = ["hint", "solution"])]
    file: Option<PathBuf>,
    /// Print a hint, from 1
    #[arg(
        long,
        value_name = "N",
        requires = "exercise",
        conflicts_with = "solution"
    )]
    hint: Option<usize>,
    /// Print the solution
    #[arg(long, requires = "exercise")]
    solution: bool,
    /// Repeat a run with the values of this seed
    #[arg(long, value_name = "SEED", requires = "file")]
    seed: Option<u32>,
    /// Use the lessons of this content folder instead of the built-in ones
    #[arg(long, value_name = "DIR")]
    content: Option<PathBuf>,
    /// Python with PyTorch [default: $HIPWARD_PYTHON, the one that `make serve` installed, python3]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> ExitCode {
    let code = try_exercise(args).unwrap_or_else(|error| {
        eprintln!("hipward try: {error}");
        2
    });
    ExitCode::from(code)
}

fn try_exercise(args: Args) -> Result<u8, Box<dyn Error>> {
    let exercises = Exercises::find(&content_files(args.content.as_deref())?);
    let Some(name) = &args.exercise else {
        print(&list(&exercises));
        return Ok(0);
    };
    let exercise = find(&exercises, name)?;
    if let Some(number) = args.hint {
        print(&hint(exercise, number)?);
        return Ok(0);
    }
    if args.solution {
        let solution = exercise.file(&format!("solution.{}", exercise.suffix()));
        print(solution.ok_or("this exercise has no solution")?);
        return Ok(0);
    }
    match &args.file {
        Some(file) => judge(exercise, file, args.python, args.seed),
        None => start(exercise).map(|()| 0).map_err(Into::into),
    }
}

fn list(exercises: &Exercises) -> String {
    let line = |exercise: &Exercise| format!("{}  {}\n", exercise.address(), exercise.block.title);
    if exercises.all().is_empty() {
        return "The lessons have no exercise that is judged by running.\n".to_owned();
    }
    exercises.all().iter().map(line).collect()
}

fn find<'a>(exercises: &'a Exercises, name: &str) -> Result<&'a Exercise, String> {
    match exercises.named(name).as_slice() {
        [one] => Ok(one),
        [] => Err(format!(
            "there is no exercise {name}; `hipward try` without an argument lists them"
        )),
        several => {
            let addresses: Vec<String> = several.iter().map(|one| one.address()).collect();
            Err(format!(
                "{name} has several exercises; pass one of {}",
                addresses.join(", ")
            ))
        }
    }
}

fn hint(exercise: &Exercise, number: usize) -> Result<String, String> {
    let hints = &exercise.block.hint;
    let index = number.checked_sub(1);
    let hint = index.and_then(|index| hints.get(index)).ok_or_else(|| {
        format!(
            "there is no hint {number}; this exercise has {}",
            hints.len()
        )
    })?;
    let more = match hints.len() {
        last if number == last => format!("Next: hipward try {} --solution", exercise.address()),
        _ => format!(
            "Next: hipward try {} --hint {}",
            exercise.address(),
            number + 1
        ),
    };
    Ok(format!("{}\n\n{more}\n", hint.text.trim()))
}

/// Writes the file to begin with into the working directory, unless there is one of that name.
fn start(exercise: &Exercise) -> Result<(), String> {
    let name = &format!("start.{}", exercise.suffix());
    let text = exercise
        .file(name)
        .ok_or_else(|| format!("this exercise has no {name}"))?;
    let command = format!("hipward try {} {name}", exercise.address());
    let written = File::create_new(name).and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(format!(
                "{name} exists already and was not changed. To check it: {command}"
            ));
        }
        Err(error) => return Err(format!("cannot write {name}: {error}")),
        Ok(()) => {}
    }
    let (title, task) = (exercise.block.title.trim(), exercise.block.task.trim());
    print(&format!(
        "Wrote {name}: {title}\n\n{task}\n\nCheck it:  {command}\nA hint:    hipward try {} --hint 1\n",
        exercise.address()
    ));
    Ok(())
}

/// Runs the judge on a file. It prints the cases; its exit code is the command's.
fn judge(
    exercise: &Exercise,
    file: &Path,
    python: Option<PathBuf>,
    seed: Option<u32>,
) -> Result<u8, Box<dyn Error>> {
    if !file.is_file() {
        return Err(format!("there is no file {}", file.display()).into());
    }
    let scratch = temporary_folder()?;
    let package = python::unpack(scratch.path())?;
    let folder = scratch.path().join("exercise");
    for (name, text) in &exercise.files {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    let program = python::find(python);
    let mut command = Command::new(&program);
    command
        .args(["-P", "-m", "hipward_kernels.exercise"])
        .arg(&folder)
        .arg(file)
        .env("PYTHONPATH", &package)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env_remove(TOKEN_VARIABLE)
        .env_remove(DATABASE_VARIABLE);
    if let Some((variable, path)) = python::emulator() {
        command.env(variable, path);
    }
    if let Some(seed) = seed {
        command.arg(format!("--seed={seed}"));
    }
    let status = command.status().map_err(|error| {
        let program = program.display();
        format!("cannot run {program}: {error}; pass a Python with PyTorch with --python")
    })?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let code = code.ok_or_else(|| format!("the judge ended with {status}"))?;
    if code == 1 && !exercise.block.hint.is_empty() {
        println!("A hint: hipward try {} --hint 1", exercise.address());
    }
    Ok(code)
}

fn print(text: &str) {
    // A closed pipe (`| head`) is not an error.
    let _ = io::stdout().write_all(text.as_bytes());
}
