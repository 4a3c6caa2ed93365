//! Reads the four pipes of a worker (protocol lines, standard output, standard error, supervisor reports) into one
//! channel, without interpreting them.

use crate::isolation::{ExitReason, Sandboxed, SupervisorReport};
use hipward_protocol::{HarnessMessage, LogStream};
use std::io;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    sync::mpsc,
};

/// Longest line of the harness: a thousand samples, or the errors of many outputs.
const MAX_LINE_BYTES: u64 = 1024 * 1024;
/// Maximum size of all lines of one job. Nine variants with a thousand samples each are 200 KB, and the errors of a model's
/// outputs a few hundred bytes for each output and variant.
const MAX_TOTAL_BYTES: u64 = 4 * 1024 * 1024;

/// A message from a worker or its supervisor.
#[derive(Debug)]
pub(super) enum WorkerMessage {
    /// A line of the protocol.
    Line(Box<HarnessMessage>),
    /// Text on the protocol's pipe that is not a line of the protocol, with the reason.
    Invalid(String),
    /// Standard output or standard error.
    Output(LogStream, Vec<u8>),
    /// The worker has ended, and how.
    Exited(ExitReason),
    /// The supervisor has ended without a report, and why.
    SupervisorLost(String),
}

/// Reads all pipes of a worker into one channel. The channel closes when all pipes are closed, which
/// is when no process has them open. The channel is short, so that excess output waits in its pipe.
pub(super) fn read_worker(process: &mut Sandboxed) -> io::Result<mpsc::Receiver<WorkerMessage>> {
    let (sender, message) = mpsc::channel(16);
    let mut pipes = process.take_pipes()?;
    tokio::spawn(read_output(pipes.stdout, LogStream::Stdout, sender.clone()));
    tokio::spawn(read_output(pipes.stderr, LogStream::Stderr, sender.clone()));
    tokio::spawn(read_lines(pipes.events, sender.clone()));
    tokio::spawn(async move {
        loop {
            let message = match pipes.reports.next().await {
                Ok(SupervisorReport::Ended(exit_reason)) => WorkerMessage::Exited(exit_reason),
                Ok(_) => continue,
                Err(error) => WorkerMessage::SupervisorLost(error.to_string()),
            };
            // This is the last report.
            let _ = sender.send(message).await;
            return;
        }
    });
    Ok(message)
}

async fn read_output(
    mut pipe: impl AsyncRead + Unpin,
    stream: LogStream,
    sender: mpsc::Sender<WorkerMessage>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
        let printed = WorkerMessage::Output(stream, buffer[..read].to_vec());
        if sender.send(printed).await.is_err() {
            return;
        }
    }
}

async fn read_lines(pipe: impl AsyncRead + Unpin, sender: mpsc::Sender<WorkerMessage>) {
    let mut left = MAX_TOTAL_BYTES;
    let mut pipe = BufReader::new(pipe);
    loop {
        let mut line = Vec::new();
        let longest = MAX_LINE_BYTES.min(left);
        let Ok(read @ 1..) = (&mut pipe).take(longest).read_until(b'\n', &mut line).await else {
            return;
        };
        left -= read as u64;
        let message = if line.last() == Some(&b'\n') {
            match serde_json::from_slice(&line) {
                Ok(line) => WorkerMessage::Line(Box::new(line)),
                Err(error) => WorkerMessage::Invalid(error.to_string()),
            }
        } else if read as u64 == longest {
            WorkerMessage::Invalid("more lines than a job can have".to_owned())
        } else {
            // The worker died in the middle of a line. The supervisor reports why.
            return;
        };
        let last = matches!(message, WorkerMessage::Invalid(_));
        if sender.send(message).await.is_err() {
            return;
        }
        if last {
            // Discards the rest, so that the writer does not block while it is killed.
            let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
            return;
        }
    }
}
