//! Compiles kernels in workers behind the same fence as jobs: a Triton source is Python, and may do
//! what Python can. A worker answers one request and is killed; the next is warmed meanwhile, so
//! that a small kernel's answer takes as long as compiling it.

use super::{
    private_directory::PrivateDirectory,
    runner::{Prepared, Runner},
};
use crate::isolation::{self, Sandboxed};
use std::{io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy, sink},
    net::unix::pipe::Receiver,
    sync::{Mutex, Semaphore, oneshot},
    time::{Instant, timeout},
};

/// The worker's program.
const MODULE: &str = "hipward_kernels.compile.worker";
/// Importing Triton and PyTorch takes long on a cold disk.
const WARM_UP: Duration = Duration::from_secs(180);
/// Longest compilation. The supervisor kills at it; we stop waiting a little later.
const WALL_LIMIT: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(5);
/// Longest answer: a few targets, each with four texts.
const LONGEST_ANSWER: u64 = 64 * 1024 * 1024;

/// Requests that may wait or be compiled; each takes up to the limit.
const MOST_REQUESTS: usize = 8;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CompileError {
    /// Too many others wait.
    #[error("{MOST_REQUESTS} requests wait already")]
    Busy,
    /// Over the time limit.
    #[error("compiling took longer than {} seconds", WALL_LIMIT.as_secs())]
    TooLong,
    /// The worker, or the way to it.
    #[error("{0}")]
    Failed(#[from] io::Error),
}

type Answer = Result<String, CompileError>;

/// Compiles one request at a time. Holds no worker until the first request.
#[derive(Debug)]
pub(crate) struct Compiler {
    warm: Mutex<Option<Worker>>,
    places: Arc<Semaphore>,
}

impl Default for Compiler {
    fn default() -> Self {
        Compiler {
            warm: Mutex::default(),
            places: Arc::new(Semaphore::new(MOST_REQUESTS)),
        }
    }
}

#[derive(Debug)]
struct Worker {
    process: Sandboxed,
    answers: BufReader<Receiver>,
    /// Removed with the worker.
    _directory: PrivateDirectory,
}

impl Compiler {
    /// Gives a request, one line of JSON, to a worker; its answer, one line of JSON.
    pub(crate) async fn compile(self: &Arc<Self>, runner: &Arc<Runner>, request: String) -> Answer {
        let place = self.places.clone().try_acquire_owned();
        let place = place.map_err(|_| CompileError::Busy)?;
        let (tell, answer) = oneshot::channel();
        let (compiler, runner) = (self.clone(), runner.clone());
        // Not within this call, which ends when its client hangs up: the worker's end and the next one's start do not.
        tokio::spawn(async move {
            compiler.answer(&runner, &request, tell).await;
            drop(place);
        });
        answer
            .await
            .unwrap_or_else(|_| Err(io::Error::other("the server is stopping").into()))
    }

    async fn answer(&self, runner: &Runner, request: &str, mut tell: oneshot::Sender<Answer>) {
        // Who hangs up while he waits costs no worker.
        let mut warm = tokio::select! {
            biased;
            () = tell.closed() => return,
            warm = self.warm.lock() => warm,
        };
        let mut kept = warm.take();
        let is_there = kept
            .as_mut()
            .is_some_and(|worker| worker.process.is_there());
        let mut worker = match kept.filter(|_| is_there) {
            Some(worker) => worker,
            None => match Worker::start(runner).await {
                Ok(worker) => worker,
                Err(error) => return drop(tell.send(Err(error.into()))),
            },
        };
        tokio::select! {
            answer = worker.ask(request) => drop(tell.send(answer)),
            // Nobody waits for it any more.
            () = tell.closed() => {}
        }
        // Used once: whatever the source has left in the process goes with it.
        worker.end().await;
        match Worker::start(runner).await {
            Ok(worker) => *warm = Some(worker),
            Err(error) => tracing::warn!("no compile worker is kept warm: {error}"),
        }
    }
}

impl Worker {
    async fn start(runner: &Runner) -> io::Result<Self> {
        // The slots before it are the devices'.
        let slot = runner.devices().len();
        let Prepared {
            plan, directory, ..
        } = runner.plan(slot, false, MODULE)?;
        let mut process = isolation::spawn(plan).await?;
        let pipes = process.take_pipes()?;
        let (mut stdout, mut stderr) = (pipes.stdout, pipes.stderr);
        // What sources and compilers print is nobody's; a full pipe would hold them up.
        tokio::spawn(async move { copy(&mut stdout, &mut sink()).await });
        tokio::spawn(async move { copy(&mut stderr, &mut sink()).await });
        let mut worker = Worker {
            process,
            answers: BufReader::new(pipes.events),
            _directory: directory,
        };
        match timeout(WARM_UP, worker.line()).await {
            Ok(Ok(_ready)) => Ok(worker),
            Ok(Err(error)) => {
                worker.end().await;
                Err(error)
            }
            Err(_) => {
                worker.end().await;
                Err(io::Error::other("a compile worker took too long to start"))
            }
        }
    }

    async fn ask(&mut self, request: &str) -> Answer {
        let begun = Instant::now();
        match timeout(WALL_LIMIT + GRACE, self.exchange(request)).await {
            Ok(Ok(answer)) => Ok(answer),
            // Its supervisor ended it at the limit.
            Err(_) => Err(CompileError::TooLong),
            Ok(Err(_)) if begun.elapsed() >= WALL_LIMIT => Err(CompileError::TooLong),
            Ok(Err(error)) => Err(error.into()),
        }
    }

    /// Kills it and waits until nothing of it is left.
    async fn end(mut self) {
        self.process.kill().await;
        if let Err(error) = self.process.gone().await {
            tracing::warn!("cannot wait for a compile worker: {error}");
        }
    }

    async fn exchange(&mut self, request: &str) -> io::Result<String> {
        self.process.begin(WALL_LIMIT).await?;
        let stdin = self.process.stdin.as_mut();
        let stdin = stdin.ok_or_else(|| io::Error::other("the worker has no standard input"))?;
        stdin.write_all(request.as_bytes()).await?;
        stdin.write_all(b"\n").await?;
        stdin.flush().await?;
        self.line().await
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        let read = (&mut self.answers)
            .take(LONGEST_ANSWER)
            .read_line(&mut line)
            .await?;
        if read == 0 || !line.ends_with('\n') {
            return Err(io::Error::other(
                "the compile worker ended without an answer: it went over a limit, or the source ended it",
            ));
        }
        Ok(line)
    }
}
