//! Compares the buffers of a launch with a reference in Python.

use super::{
    Package, not_started,
    spec::{Argument, Contents, Spec},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    error::Error,
    fs,
    io::{self, Write},
    path::Path,
    process::Stdio,
};

/// The result of the module `hipward_kernels.emulate.compare`.
#[derive(Default, Deserialize)]
pub(super) struct Comparison {
    /// Names of the buffers that the reference returned.
    pub(super) compared: Vec<String>,
    /// The buffers that differ.
    pub(super) differences: Vec<Difference>,
}

/// A buffer that differs from its reference.
#[derive(Deserialize)]
pub(super) struct Difference {
    /// The argument.
    pub(super) name: String,
    /// Elements of the buffer.
    pub(super) elements: u64,
    /// Elements that differ.
    pub(super) different: u64,
    /// Largest difference of two finite numbers.
    pub(super) largest: f64,
    /// Tolerances.
    pub(super) rtol: f64,
    pub(super) atol: f64,
    /// Positions of the first elements that differ, in the buffer.
    pub(super) indices: Vec<u64>,
    /// The first of these elements, as text: position, result and reference.
    pub(super) first: Vec<[String; 3]>,
}

/// Calls the reference with the arguments before the launch, and compares what it returns with `after`.
pub(super) fn compare(
    reference: &Path,
    spec: &Spec,
    values: &[Argument],
    after: &[Option<Vec<u8>>],
    folder: &Path,
    package: &mut Package<'_>,
) -> Result<Comparison, Box<dyn Error>> {
    let not_written = |error: io::Error| {
        let shown = folder.display();
        format!(
            "cannot write the arguments of the reference to {shown}: {error}; set TMPDIR to a folder with free space"
        )
    };
    fs::create_dir_all(folder).map_err(not_written)?;
    let mut arguments = Vec::new();
    for (position, (value, after)) in values.iter().zip(after).enumerate() {
        let before = folder.join(format!("{position}.before"));
        match &value.contents {
            Contents::Value(bytes) | Contents::Buffer(bytes) => fs::write(&before, bytes),
            Contents::Uninitialized(length) => {
                fs::File::create(&before).and_then(|file| file.set_len(*length))
            }
        }
        .map_err(not_written)?;
        let result = folder.join(format!("{position}.after"));
        if let Some(after) = after {
            fs::write(&result, after).map_err(not_written)?;
        }
        arguments.push(json!({
            "name": value.name,
            "dtype": value.dtype.map(|dtype| dtype.name()),
            "shape": value.shape,
            "before": before,
            "after": after.is_some().then_some(result),
        }));
    }
    let request = json!({
        "reference": reference,
        "arguments": arguments,
        "rtol": spec.rtol,
        "atol": spec.atol,
    });
    let mut command = package.module("hipward_kernels.emulate.compare")?;
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    let mut child = command
        .spawn()
        .map_err(|error| not_started(&command, &error))?;
    if let Some(mut stdin) = child.stdin.take() {
        // An error here is that of a program which ended early; its output explains it.
        let _ = stdin.write_all(request.to_string().as_bytes());
    }
    let output = child.wait_with_output()?;
    let shown = reference.display();
    let answer: Value = serde_json::from_slice(&output.stdout).map_err(|_| {
        let program = command.get_program().to_string_lossy();
        format!(
            "{shown}: the comparison ended with {}; {program} needs NumPy, and the reference must return",
            output.status
        )
    })?;
    if let Some(error) = answer["error"].as_str() {
        return Err(format!("{shown}: {error}").into());
    }
    Ok(serde_json::from_value(answer)?)
}
