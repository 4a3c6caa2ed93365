//! Starts a program in a sandbox and waits for its end, to find out whether the sandbox works on this host.

use super::{ExitReason, SandboxSpec, SupervisorReport, spawn::spawn};
use std::{io, time::Duration};
use tokio::{io::AsyncReadExt, time::timeout};

/// Reading Python's files takes long on a cold disk.
const TIMEOUT: Duration = Duration::from_secs(60);
/// What is read of its messages, bytes.
const MAX_MESSAGE: u64 = 64 * 1024;

/// Runs it. Fails with the last line of its messages unless it exits successfully.
pub(crate) async fn attempt(spec: SandboxSpec) -> Result<(), String> {
    let text = |error: io::Error| error.to_string();
    let mut sandboxed = spawn(spec).await.map_err(text)?;
    let mut pipes = sandboxed.take_pipes().map_err(text)?;
    let mut message = String::new();
    let ended = timeout(TIMEOUT, async {
        // An error leaves the message incomplete.
        let _ = pipes
            .stderr
            .take(MAX_MESSAGE)
            .read_to_string(&mut message)
            .await;
        loop {
            if let SupervisorReport::Ended(reason) = pipes.reports.next().await? {
                return Ok::<_, io::Error>(reason);
            }
        }
    })
    .await;
    sandboxed.kill().await;
    sandboxed.wait().await.map_err(text)?;
    match ended {
        Ok(Ok(ExitReason::Exited { code: 0 })) => Ok(()),
        Ok(Ok(reason)) => Err(message
            .lines()
            .last()
            .map_or_else(|| format!("{reason:?}"), str::to_owned)),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("Python did not end there".to_owned()),
    }
}
