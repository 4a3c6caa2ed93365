//! Workers that answer one request each, with the isolation of jobs, because a request contains Python that can do
//! anything: kernels to compile, kernels to execute with a reference, and answers to exercises. A worker is killed after its answer. The next one is warmed
//! up meanwhile, so that a request takes only as long as its work. While a job on the processor is timed, requests wait.

use super::{
    private_directory::PrivateDirectory,
    runner::{Prepared, Runner},
};
use crate::isolation::{self, Sandboxed};
use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::unix::pipe::Receiver,
    sync::{Semaphore, oneshot},
    time::{Instant, timeout, timeout_at},
};

/// Importing Triton and PyTorch takes long on a cold disk.
const WARM_UP_TIMEOUT: Duration = Duration::from_secs(180);
/// The supervisor kills a worker at its time limit. The server stops waiting this long after.
const GRACE: Duration = Duration::from_secs(5);

/// Time for which a request waits for a job that is timed on the processor. Less than proxies wait for an answer.
const MAX_TIMING_WAIT: Duration = Duration::from_secs(30);

/// The number of slots of all kinds of request workers, which follow the slots of the devices.
pub(super) const SLOTS: usize = COMPILE.slots + EXERCISE.slots + EMULATE.slots;

/// The module of the workers that judge exercises.
pub(super) const EXERCISE_MODULE: &str = "hipward_kernels.exercise.worker";

/// The module of the workers that execute kernels in the emulator.
pub(super) const EMULATE_MODULE: &str = "hipward_kernels.emulate.worker";

/// A kind of worker.
#[derive(Debug)]
struct Kind {
    /// Its name in messages.
    name: &'static str,
    /// Its Python module.
    module: &'static str,
    /// Number of slots of other kinds before its own.
    first_slot: usize,
    /// How many of its workers run at the same time.
    slots: usize,
    /// Time limit of a request.
    wall_limit: Duration,
    /// Maximum size of an answer.
    max_answer_bytes: u64,
    /// Maximum number of requests that wait or are being answered.
    max_requests: usize,
}

const COMPILE: Kind = Kind {
    name: "compile",
    module: "hipward_kernels.compile.worker",
    first_slot: 0,
    slots: 1,
    wall_limit: Duration::from_secs(60),
    // A few targets, each with four texts.
    max_answer_bytes: 64 * 1024 * 1024,
    max_requests: 8,
};

const EXERCISE: Kind = Kind {
    name: "exercise",
    module: EXERCISE_MODULE,
    first_slot: COMPILE.slots,
    // While one worker imports PyTorch, the other can answer.
    slots: 2,
    // The worker stops an answer after 10 seconds, a kernel after 20, and reports how far it came.
    wall_limit: Duration::from_secs(25),
    max_answer_bytes: 512 * 1024,
    max_requests: 16,
};

const EMULATE: Kind = Kind {
    name: "emulate",
    module: EMULATE_MODULE,
    first_slot: COMPILE.slots + EXERCISE.slots,
    // One run uses all cores.
    slots: 1,
    // The worker stops a run after 50 seconds, and reports it.
    wall_limit: Duration::from_secs(60),
    max_answer_bytes: 4 * 1024 * 1024,
    max_requests: 8,
};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// Too many requests are waiting.
    #[error("{0} requests are waiting already")]
    Busy(usize),
    /// A job is timed on the processor.
    #[error("a job is being timed on the processor, which this request would disturb")]
    Timing,
    /// Over the time limit.
    #[error("it took longer than {} seconds", .0.as_secs())]
    TooLong(Duration),
    /// The worker, or the communication with it, failed.
    #[error("{0}")]
    Failed(#[from] io::Error),
}

type Answer = Result<String, RequestError>;

/// The workers of one kind. The first request of a slot starts its first worker.
#[derive(Debug)]
pub(crate) struct RequestWorkers {
    kind: &'static Kind,
    /// The slots that answer no request.
    free: Mutex<Vec<Slot>>,
    /// One permit for each free slot.
    free_slots: Semaphore,
    places: Arc<Semaphore>,
}

#[derive(Debug)]
struct Slot {
    number: usize,
    warm: Option<Worker>,
}

#[derive(Debug)]
struct Worker {
    process: Sandboxed,
    answers: BufReader<Receiver>,
    kind: &'static Kind,
    /// Removed with the worker.
    _directory: PrivateDirectory,
}

impl RequestWorkers {
    /// The workers that compile kernels.
    pub(crate) fn compile() -> Self {
        Self::new(&COMPILE)
    }

    /// The workers that judge exercises.
    pub(crate) fn exercise() -> Self {
        Self::new(&EXERCISE)
    }

    /// The workers that execute kernels in the emulator.
    pub(crate) fn emulate() -> Self {
        Self::new(&EMULATE)
    }

    fn new(kind: &'static Kind) -> Self {
        let slots = kind.first_slot..kind.first_slot + kind.slots;
        RequestWorkers {
            kind,
            free: Mutex::new(slots.map(|number| Slot { number, warm: None }).collect()),
            free_slots: Semaphore::new(kind.slots),
            places: Arc::new(Semaphore::new(kind.max_requests)),
        }
    }

    /// Sends a request, one line of JSON, to a worker and returns its answer, one line of JSON.
    pub(crate) async fn answer(self: &Arc<Self>, runner: &Arc<Runner>, request: String) -> Answer {
        let place = self.places.clone().try_acquire_owned();
        let place = place.map_err(|_| RequestError::Busy(self.kind.max_requests))?;
        let (response, answer) = oneshot::channel();
        let (workers, runner) = (self.clone(), runner.clone());
        // In a task of its own: this call ends when its client disconnects, but the worker must still be replaced.
        tokio::spawn(async move {
            workers.work(&runner, &request, response).await;
            drop(place);
        });
        answer
            .await
            .unwrap_or_else(|_| Err(io::Error::other("the server is stopping").into()))
    }

    async fn work(&self, runner: &Runner, request: &str, mut response: oneshot::Sender<Answer>) {
        let deadline = Instant::now() + MAX_TIMING_WAIT;
        let permits = async {
            let slot = self.free_slots.acquire().await;
            // After the slot, so that waiting requests do not keep a job from starting.
            let quiet = timeout_at(deadline, runner.activity.request_permit()).await;
            (slot, quiet)
        };
        // A client that disconnects while it waits uses no worker.
        let (slot, quiet) = tokio::select! {
            biased;
            () = response.closed() => return,
            permits = permits => permits,
        };
        // Kept until the next worker is warm, which uses the processor too.
        let Ok(_quiet) = quiet else {
            return drop(response.send(Err(RequestError::Timing)));
        };
        let (Ok(_slot), Some(mut slot)) = (slot, self.take_slot()) else {
            return;
        };
        self.use_slot(&mut slot, runner, request, response).await;
        self.free_slots().push(slot);
    }

    /// A free slot, if possible one with a warm worker.
    fn take_slot(&self) -> Option<Slot> {
        let mut free = self.free_slots();
        let warm = free.iter().position(|slot| slot.warm.is_some());
        match warm {
            Some(index) => Some(free.swap_remove(index)),
            None => free.pop(),
        }
    }

    fn free_slots(&self) -> std::sync::MutexGuard<'_, Vec<Slot>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn use_slot(
        &self,
        slot: &mut Slot,
        runner: &Runner,
        request: &str,
        mut response: oneshot::Sender<Answer>,
    ) {
        let mut warm = slot.warm.take();
        let is_running = warm
            .as_mut()
            .is_some_and(|worker| worker.process.is_running());
        let mut worker = match warm.filter(|_| is_running) {
            Some(worker) => worker,
            None => match Worker::start(self.kind, slot.number, runner).await {
                Ok(worker) => worker,
                Err(error) => return drop(response.send(Err(error.into()))),
            },
        };
        tokio::select! {
            answer = worker.send(request) => drop(response.send(answer)),
            // The client has disconnected.
            () = response.closed() => {}
        }
        // A worker is used once, because the request's code may have changed the process.
        worker.end().await;
        match Worker::start(self.kind, slot.number, runner).await {
            Ok(worker) => slot.warm = Some(worker),
            Err(error) => tracing::warn!("cannot warm up a worker ({}): {error}", self.kind.name),
        }
    }
}

impl Worker {
    async fn start(kind: &'static Kind, slot: usize, runner: &Runner) -> io::Result<Self> {
        // The slots before these belong to the devices.
        let slot = runner.devices().len() + slot;
        let Prepared {
            spec, directory, ..
        } = runner.spec(slot, false, kind.module)?;
        let mut process = isolation::spawn(spec).await?;
        let events = process.take_pipes()?.without_output();
        let mut worker = Worker {
            process,
            answers: BufReader::new(events),
            kind,
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
                let name = kind.name;
                Err(io::Error::other(format!(
                    "a worker ({name}) took too long to start"
                )))
            }
        }
    }

    async fn send(&mut self, request: &str) -> Answer {
        let begun = Instant::now();
        let limit = self.kind.wall_limit;
        match timeout(limit + GRACE, self.exchange(request)).await {
            Ok(Ok(answer)) => Ok(answer),
            // The supervisor killed it at the limit.
            Err(_) => Err(RequestError::TooLong(limit)),
            Ok(Err(_)) if begun.elapsed() >= limit => Err(RequestError::TooLong(limit)),
            Ok(Err(error)) => Err(error.into()),
        }
    }

    /// Kills the worker and waits until all of its processes have ended.
    async fn end(mut self) {
        self.process.kill().await;
        if let Err(error) = self.process.wait().await {
            let name = self.kind.name;
            tracing::warn!("cannot wait for a worker ({name}): {error}");
        }
    }

    async fn exchange(&mut self, request: &str) -> io::Result<String> {
        self.process.start_clock(self.kind.wall_limit).await?;
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
            .take(self.kind.max_answer_bytes)
            .read_line(&mut line)
            .await?;
        if read == 0 || !line.ends_with('\n') {
            return Err(io::Error::other(
                "the worker ended without an answer: it exceeded a limit, or the code ended it",
            ));
        }
        Ok(line)
    }
}
