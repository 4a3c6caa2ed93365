//! What comes out of a worker: its lines, its output and its end, from four pipes into one channel.
//! Nothing is made of it here.

use crate::isolation::{Ending, Report, Sandboxed};
use hipward_protocol::{HarnessMessage, LogStream};
use std::io;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    sync::mpsc,
};

/// Longest line a harness writes: a thousand samples, or errors of many outputs.
const LONGEST_LINE: u64 = 1024 * 1024;
/// Most bytes of lines in one job. Nine variants with a thousand samples each are 200 KB, and the errors of a model's
/// outputs a few hundred bytes for each output and variant.
const MOST_LINES: u64 = 4 * 1024 * 1024;

/// Anything a worker lets us know.
#[derive(Debug)]
pub(super) enum Heard {
    /// A line of the protocol.
    Line(Box<HarnessMessage>),
    /// What is no such line, and why.
    Garbage(String),
    /// What it printed.
    Printed(LogStream, Vec<u8>),
    /// It ended, and how.
    Ended(Ending),
    /// Its supervisor is gone, and why.
    Lost(String),
}

/// Reads all of a worker's pipes into one channel. It closes when all of them have closed, which
/// is when no process holds them any more. It is short, so that a flood waits in its pipe.
pub(super) fn listen(process: &mut Sandboxed) -> io::Result<mpsc::Receiver<Heard>> {
    let (tell, heard) = mpsc::channel(16);
    let mut pipes = process.take_pipes()?;
    tokio::spawn(read_output(pipes.stdout, LogStream::Stdout, tell.clone()));
    tokio::spawn(read_output(pipes.stderr, LogStream::Stderr, tell.clone()));
    tokio::spawn(read_lines(pipes.events, tell.clone()));
    tokio::spawn(async move {
        loop {
            let heard = match pipes.reports.next().await {
                Ok(Report::Ended(ending)) => Heard::Ended(ending),
                Ok(_) => continue,
                Err(error) => Heard::Lost(error.to_string()),
            };
            // An answer of any kind is the last.
            let _ = tell.send(heard).await;
            return;
        }
    });
    Ok(heard)
}

async fn read_output(
    mut pipe: impl AsyncRead + Unpin,
    stream: LogStream,
    tell: mpsc::Sender<Heard>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
        let printed = Heard::Printed(stream, buffer[..read].to_vec());
        if tell.send(printed).await.is_err() {
            return;
        }
    }
}

async fn read_lines(pipe: impl AsyncRead + Unpin, tell: mpsc::Sender<Heard>) {
    let mut left = MOST_LINES;
    let mut pipe = BufReader::new(pipe);
    loop {
        let mut line = Vec::new();
        let longest = LONGEST_LINE.min(left);
        let Ok(read @ 1..) = (&mut pipe).take(longest).read_until(b'\n', &mut line).await else {
            return;
        };
        left -= read as u64;
        let heard = if line.last() == Some(&b'\n') {
            match serde_json::from_slice(&line) {
                Ok(line) => Heard::Line(Box::new(line)),
                Err(error) => Heard::Garbage(error.to_string()),
            }
        } else if read as u64 == longest {
            Heard::Garbage("more than a job can have to say".to_owned())
        } else {
            // It died in mid-line, and its end says why.
            return;
        };
        let last = matches!(heard, Heard::Garbage(_));
        if tell.send(heard).await.is_err() {
            return;
        }
        if last {
            // Whatever follows is read away, so that the writer is not held up while it is killed.
            let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
            return;
        }
    }
}
