//! Compiles kernels in workers with the isolation of jobs, because a Triton source is Python and may do
//! what Python can. A worker answers one request and is killed. The next one is warmed up meanwhile, so
//! that a request takes only as long as the compilation.

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

/// The Python module of the worker.
const MODULE: &str = "hipward_kernels.compile.worker";
/// Importing Triton and PyTorch takes long on a cold disk.
const WARM_UP_TIMEOUT: Duration = Duration::from_secs(180);
/// Time limit of a compilation. The supervisor kills the worker then; the server stops waiting `GRACE` later.
const WALL_LIMIT: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(5);
/// Maximum size of an answer: a few targets, each with four texts.
const MAX_ANSWER_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum number of requests that wait or are compiled.
const MAX_REQUESTS: usize = 8;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CompileError {
    /// Too many requests are waiting.
    #[error("{MAX_REQUESTS} requests are waiting already")]
    Busy,
    /// Over the time limit.
    #[error("compiling took longer than {} seconds", WALL_LIMIT.as_secs())]
    TooLong,
    /// The worker, or the communication with it, failed.
    #[error("{0}")]
    Failed(#[from] io::Error),
}

type Answer = Result<String, CompileError>;

/// Compiles one request at a time. The first request starts the first worker.
#[derive(Debug)]
pub(crate) struct Compiler {
    warm: Mutex<Option<Worker>>,
    places: Arc<Semaphore>,
}

impl Default for Compiler {
    fn default() -> Self {
        Compiler {
            warm: Mutex::default(),
            places: Arc::new(Semaphore::new(MAX_REQUESTS)),
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
    /// Sends a request, one line of JSON, to a worker and returns its answer, one line of JSON.
    pub(crate) async fn compile(self: &Arc<Self>, runner: &Arc<Runner>, request: String) -> Answer {
        let place = self.places.clone().try_acquire_owned();
        let place = place.map_err(|_| CompileError::Busy)?;
        let (response, answer) = oneshot::channel();
        let (compiler, runner) = (self.clone(), runner.clone());
        // In a task of its own: this call ends when its client disconnects, but the worker must still be replaced.
        tokio::spawn(async move {
            compiler.answer(&runner, &request, response).await;
            drop(place);
        });
        answer
            .await
            .unwrap_or_else(|_| Err(io::Error::other("the server is stopping").into()))
    }

    async fn answer(&self, runner: &Runner, request: &str, mut response: oneshot::Sender<Answer>) {
        // A client that disconnects while it waits uses no worker.
        let mut warm = tokio::select! {
            biased;
            () = response.closed() => return,
            warm = self.warm.lock() => warm,
        };
        let mut previous = warm.take();
        let is_running = previous
            .as_mut()
            .is_some_and(|worker| worker.process.is_running());
        let mut worker = match previous.filter(|_| is_running) {
            Some(worker) => worker,
            None => match Worker::start(runner).await {
                Ok(worker) => worker,
                Err(error) => return drop(response.send(Err(error.into()))),
            },
        };
        tokio::select! {
            answer = worker.send(request) => drop(response.send(answer)),
            // The client has disconnected.
            () = response.closed() => {}
        }
        // A worker is used once, because the source may have changed the process.
        worker.end().await;
        match Worker::start(runner).await {
            Ok(worker) => *warm = Some(worker),
            Err(error) => tracing::warn!("cannot warm up a compile worker: {error}"),
        }
    }
}

impl Worker {
    async fn start(runner: &Runner) -> io::Result<Self> {
        // The slots before this one belong to the devices.
        let slot = runner.devices().len();
        let Prepared {
            spec, directory, ..
        } = runner.spec(slot, false, MODULE)?;
        let mut process = isolation::spawn(spec).await?;
        let pipes = process.take_pipes()?;
        let (mut stdout, mut stderr) = (pipes.stdout, pipes.stderr);
        // Discards the output, because a full pipe would block the worker.
        tokio::spawn(async move { copy(&mut stdout, &mut sink()).await });
        tokio::spawn(async move { copy(&mut stderr, &mut sink()).await });
        let mut worker = Worker {
            process,
            answers: BufReader::new(pipes.events),
            _directory: directory,
        };
        match timeout(WARM_UP_TIMEOUT, worker.line()).await {
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

    async fn send(&mut self, request: &str) -> Answer {
        let begun = Instant::now();
        match timeout(WALL_LIMIT + GRACE, self.exchange(request)).await {
            Ok(Ok(answer)) => Ok(answer),
            // The supervisor killed it at the limit.
            Err(_) => Err(CompileError::TooLong),
            Ok(Err(_)) if begun.elapsed() >= WALL_LIMIT => Err(CompileError::TooLong),
            Ok(Err(error)) => Err(error.into()),
        }
    }

    /// Kills the worker and waits until all of its processes have ended.
    async fn end(mut self) {
        self.process.kill().await;
        if let Err(error) = self.process.wait().await {
            tracing::warn!("cannot wait for a compile worker: {error}");
        }
    }

    async fn exchange(&mut self, request: &str) -> io::Result<String> {
        self.process.start_clock(WALL_LIMIT).await?;
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
            .take(MAX_ANSWER_BYTES)
            .read_line(&mut line)
            .await?;
        if read == 0 || !line.ends_with('\n') {
            return Err(io::Error::other(
                "the compile worker ended without an answer: it exceeded a limit, or the source ended it",
            ));
        }
        Ok(line)
    }
}
