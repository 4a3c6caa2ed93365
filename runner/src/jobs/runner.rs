//! What this host runs jobs with: its Python, its devices, its fence, its limits. Built once at
//! start; the page and the API show it, the scheduler works from it.

use super::{PrivateDirectory, worker::Worker};
use crate::{
    devices::{self, Lease, NvidiaGpu},
    isolation::{FileRules, Host, Identity, Limits, Plan, Reserved},
    python::{self, Interpreter},
};
use hipward_protocol::{Capabilities, Device, Isolation, IsolationLevel, Missing, Variant};
use std::{
    collections::HashMap,
    env, fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::{Notify, watch};

/// What the operator chose.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The data folder.
    pub(crate) data: PathBuf,
    /// The Python to use, if one was named.
    pub(crate) python: Option<PathBuf>,
    /// A folder with a `hipward_kernels` to use in place of the one in this binary.
    pub(crate) kernels: Option<PathBuf>,
    /// Longest a job may run.
    pub(crate) wall_limit: Duration,
    /// Most memory a job may hold.
    pub(crate) memory_bytes: u64,
    /// Longest sampling time per variant, seconds.
    pub(crate) time_cap_s: f64,
    /// Most jobs that may wait.
    pub(crate) queue_limit: usize,
    /// The isolation below which nothing runs.
    pub(crate) minimum_isolation: IsolationLevel,
    /// The newest version of Landlock that is used, for tests; 0 is none.
    pub(crate) newest_landlock: Option<u32>,
}

impl Settings {
    /// Most processes a job may have.
    pub(crate) const PROCESSES: usize = 128;
    /// Most a job may write to its private directory.
    pub(crate) const DISK_BYTES: u64 = 4 << 30;
    /// Largest snippet.
    pub(crate) const CODE_BYTES: usize = 256 * 1024;
}

/// Why no job can run here, with the code the API gives.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// `no-torch`, `no-device`, `isolation-too-weak`.
    pub(crate) code: &'static str,
    /// What is missing.
    pub(crate) missing: Missing,
}

/// The local runner.
#[derive(Debug)]
pub(crate) struct Runner {
    /// What the operator chose.
    pub(crate) settings: Settings,
    host: Host,
    isolation: Isolation,
    /// The users that workers become, by slot; none where we are not root.
    users: Vec<Reserved>,
    python: Result<Python, Refusal>,
    /// The folder for which workers read past permissions, if they must.
    closed: Option<PathBuf>,
    nvidia_gpus: Vec<NvidiaGpu>,
    /// Counts up when the queue changes.
    queue: watch::Sender<u64>,
    /// The job on each device that has one, and how to stop it.
    running: Mutex<HashMap<String, Running>>,
    lost_devices: AtomicUsize,
}

#[derive(Debug)]
struct Running {
    job: String,
    stop: Arc<Notify>,
}

/// A job that runs on a device. It does not any more when this is dropped, also by a panic.
pub(super) struct Started<'a> {
    /// Stops the job.
    pub(super) stop: Arc<Notify>,
    runner: &'a Runner,
    device: &'a Device,
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        self.runner.running().remove(&self.device.id);
    }
}

#[derive(Debug)]
struct Python {
    interpreter: Interpreter,
    package: PathBuf,
    torch: Option<String>,
    devices: Vec<Device>,
    variants: Vec<Variant>,
}

impl Runner {
    /// Looks at the host: asks its Python for PyTorch and devices. What is missing is a state, not
    /// an error.
    pub(crate) async fn discover(settings: Settings) -> Result<Self, python::PackageError> {
        PrivateDirectory::remove_leftovers(&settings.data);
        let package = match &settings.kernels {
            Some(folder) => folder.clone(),
            None => python::unpack(&settings.data)?,
        };
        let host = Host::detect(settings.newest_landlock);
        let mut python = match refuse_weak(&host.isolation(None, None), settings.minimum_isolation)
        {
            Some(refusal) => Err(refusal),
            None => Python::discover(&settings, package).await,
        };
        // A slot for each device, and one for compiling.
        let slots = 1 + python.as_ref().map_or(0, |python| python.devices.len());
        let users = if host.root {
            Reserved::some(slots)
        } else {
            Vec::new()
        };
        let identity = users.first().map(|user| user.identity(false));
        let mut closed = None;
        if let (Ok(found), Some(identity)) = (&python, &identity) {
            closed = found.closed_to(&settings, identity).await;
            if let (Some(folder), None) = (&closed, host.landlock_abi) {
                python = Err(unreadable(folder));
            }
        }
        Ok(Runner {
            settings,
            host,
            isolation: host.isolation(identity.as_ref(), closed.as_deref()),
            users,
            python,
            closed,
            nvidia_gpus: devices::nvidia_gpus(Path::new("/proc/driver/nvidia"), Path::new("/dev")),
            queue: watch::Sender::new(0),
            running: Mutex::default(),
            lost_devices: AtomicUsize::new(0),
        })
    }

    /// A placeholder while PyTorch and devices are being searched for.
    pub(super) fn searching(settings: Settings) -> Self {
        Self::refusing(
            settings,
            "starting",
            Missing {
                what: "PyTorch and devices".to_owned(),
                consequence: "The server has just started and is still searching for them."
                    .to_owned(),
                fix: "Try again in a few seconds".to_owned(),
            },
        )
    }

    /// A placeholder while PyTorch is being installed.
    pub(super) fn installing(settings: Settings) -> Self {
        Self::refusing(
            settings,
            "installing-torch",
            Missing {
                what: "PyTorch".to_owned(),
                consequence: "`make serve` is still installing it. Lessons and playground work; benchmarks will \
                              as soon as it is installed."
                    .to_owned(),
                fix: "Wait for the installation, a download of about 2 GB, and reload this page".to_owned(),
            },
        )
    }

    /// A runner whose measuring package could not be written to disk.
    pub(super) fn without_package(settings: Settings, error: &python::PackageError) -> Self {
        Self::refusing(
            settings,
            "no-package",
            Missing {
                what: "The measuring package".to_owned(),
                consequence: format!("Benchmarks cannot run here: {error}."),
                fix: "hipward serve --data /a/writable/folder".to_owned(),
            },
        )
    }

    /// A runner that accepts no job.
    fn refusing(settings: Settings, code: &'static str, missing: Missing) -> Self {
        let host = Host::detect(settings.newest_landlock);
        Runner {
            settings,
            host,
            isolation: host.isolation(None, None),
            users: Vec::new(),
            python: Err(Refusal { code, missing }),
            closed: None,
            nvidia_gpus: Vec::new(),
            queue: watch::Sender::new(0),
            running: Mutex::default(),
            lost_devices: AtomicUsize::new(0),
        }
    }

    /// Why no job can run here, if none can.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        self.python.as_ref().err()
    }

    /// Leaves only the device that a job would run on which asks for `device`. One that there is not changes nothing, so
    /// that whoever asks for it is told what there is.
    pub(crate) fn keep_only(&mut self, device: Option<&str>) {
        let Ok(python) = &mut self.python else {
            return;
        };
        let wanted = |known: &Device| device.is_none_or(|device| known.id == device);
        if let Some(found) = python.devices.iter().find(|known| wanted(known)) {
            python.devices = vec![found.clone()];
        }
    }

    /// Devices, with what they are busy with.
    pub(crate) fn devices(&self) -> Vec<Device> {
        let running = self.running();
        let devices = self.python.iter().flat_map(|python| &python.devices);
        devices
            .cloned()
            .map(|mut device| {
                // Not the job's id: whoever knows it may read and cancel the job.
                let busy = running.contains_key(&device.id);
                device.busy_with = busy.then(|| "a job".to_owned());
                device
            })
            .collect()
    }

    /// The variants that its harness knows, in ladder order; none where no job can run.
    pub(crate) fn variants(&self) -> &[Variant] {
        self.python.as_ref().map_or(&[], |python| &python.variants)
    }

    /// What this runner can do.
    pub(crate) fn capabilities(&self) -> Capabilities {
        let torch = self
            .python
            .as_ref()
            .ok()
            .and_then(|python| python.torch.clone());
        Capabilities {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ready: self.python.is_ok(),
            devices: self.devices(),
            torch,
            variants: self.variants().to_vec(),
            isolation: self.isolation.clone(),
            wall_limit_s: self.settings.wall_limit.as_secs(),
            memory_limit_bytes: self.settings.memory_bytes,
            code_limit_bytes: Settings::CODE_BYTES as u64,
            missing: self
                .refusal()
                .map(|refusal| refusal.missing.clone())
                .into_iter()
                .chain(devices::unused_amd_gpu(Path::new("/sys"), &self.devices()))
                .collect(),
        }
    }

    /// Says that a job was queued or that one may go first now.
    pub(crate) fn queue_changed(&self) {
        self.queue.send_modify(|count| *count += 1);
    }

    /// Tells when the queue changes.
    pub(crate) fn watch_queue(&self) -> watch::Receiver<u64> {
        self.queue.subscribe()
    }

    /// Stops a job that runs here. Its log must say so already.
    pub(crate) fn stop(&self, job: &str) {
        for running in self.running().values().filter(|running| running.job == job) {
            running.stop.notify_one();
        }
    }

    /// Starts a worker for a device, as for a job, and ends it when it is ready.
    pub(crate) async fn try_worker(&self, device: &Device) -> std::io::Result<()> {
        let slot = self
            .devices()
            .iter()
            .position(|known| known.id == device.id);
        let mut worker = Worker::start(self, slot.unwrap_or_default(), device).await?;
        let ready = worker.ready().await;
        worker.end().await;
        ready
    }

    /// Notes that a job runs on a device, until what is returned is dropped.
    pub(super) fn started<'a>(&'a self, job: &str, device: &'a Device) -> Started<'a> {
        let stop = Arc::new(Notify::new());
        let running = Running {
            job: job.to_owned(),
            stop: stop.clone(),
        };
        self.running().insert(device.id.clone(), running);
        Started {
            stop,
            runner: self,
            device,
        }
    }

    /// The jobs that run here.
    pub(super) fn running_jobs(&self) -> Vec<String> {
        let running = self.running();
        running
            .values()
            .map(|running| running.job.clone())
            .collect()
    }

    /// Notes that a device is not served any more.
    pub(super) fn lost_a_device(&self) {
        self.lost_devices.fetch_add(1, Ordering::Relaxed);
    }

    /// How many devices are not served any more, because of a fault of ours.
    pub(crate) fn lost_devices(&self) -> usize {
        self.lost_devices.load(Ordering::Relaxed)
    }

    /// The plan of a worker that runs a module of the measuring package, with the directory it owns
    /// and the isolation it gets. Each slot has at most one worker at a time.
    pub(super) fn plan(&self, slot: usize, gpu: bool, module: &str) -> std::io::Result<Prepared> {
        let python = self
            .python
            .as_ref()
            .map_err(|refusal| std::io::Error::other(refusal.missing.consequence.clone()))?;
        let identity = if self.host.root {
            let nobody = || std::io::Error::other("no user id is free for the worker");
            Some(self.users.get(slot).ok_or_else(nobody)?.identity(gpu))
        } else {
            None
        };
        let directory = PrivateDirectory::new(&self.settings.data, identity.as_ref())?;
        let readable = python.interpreter.readable().into_iter();
        let mut environment = python
            .interpreter
            .environment(&python.package, directory.path());
        let mut files = self.host.landlock_abi.map(|abi| FileRules {
            past_permissions: identity.is_some() && self.closed.is_some(),
            ..FileRules::new(abi, readable.chain([python.package.clone()]), gpu)
        });
        let device = python.devices.get(slot).filter(|_| gpu);
        let variable = |name: &str| env::var(name).ok();
        if let Some(lease) =
            device.and_then(|device| Lease::new(device, variable, &self.nvidia_gpus))
        {
            lease.apply(&mut environment);
            if let Some(files) = &mut files {
                lease.retain_own(&mut files.devices);
            }
        }
        let arguments = ["-P", "-m", module, "--events-fd", "3"];
        // A worker with a user of its own shares the count with nobody.
        let threads_already = if identity.is_some() {
            0
        } else {
            threads_of_our_user()
        };
        let plan = Plan {
            program: python.interpreter.executable.clone(),
            arguments: arguments.map(str::to_owned).into(),
            environment,
            directory: directory.path().to_owned(),
            limits: Limits {
                memory_bytes: self.settings.memory_bytes,
                disk_bytes: Settings::DISK_BYTES,
                processes: Settings::PROCESSES,
                threads: Limits::threads(threads_already),
            },
            identity: identity.clone(),
            files,
            seccomp: self.host.seccomp,
            gpu,
        };
        Ok(Prepared {
            plan,
            directory,
            isolation: self
                .host
                .isolation(identity.as_ref(), self.closed.as_deref()),
        })
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker about to be started.
pub(super) struct Prepared {
    pub(super) plan: Plan,
    pub(super) directory: PrivateDirectory,
    pub(super) isolation: Isolation,
}

impl Python {
    async fn discover(settings: &Settings, package: PathBuf) -> Result<Self, Refusal> {
        let no_torch = |missing| Refusal {
            code: "no-torch",
            missing,
        };
        let executable = python::find(settings.python.clone());
        let interpreter = Interpreter::locate(executable).await.map_err(no_torch)?;
        let readable = FileRules::new(1, interpreter.readable(), false).read;
        if let Some(around) = folder_around(&settings.data, &readable) {
            return Err(Refusal {
                code: "data-readable",
                missing: Missing {
                    what: "A data folder apart from Python".to_owned(),
                    consequence: format!(
                        "Snippets may read {}, and the jobs are stored in there, so none is run.",
                        around.display()
                    ),
                    fix: "hipward serve --data /another/folder".to_owned(),
                },
            });
        }
        let home = PrivateDirectory::new(&settings.data, None).map_err(|error| {
            no_torch(Missing {
                what: "A writable data folder".to_owned(),
                consequence: format!("Workers cannot be given a folder: {error}."),
                fix: "hipward serve --data /another/folder".to_owned(),
            })
        })?;
        let probe = interpreter
            .probe(&package, home.path())
            .await
            .map_err(no_torch)?;
        Ok(Python {
            interpreter,
            package,
            torch: probe.torch,
            devices: probe.devices,
            variants: probe.variants,
        })
    }
}

impl Python {
    /// The folder that keeps a user without privileges from running it, if one does.
    async fn closed_to(&self, settings: &Settings, identity: &Identity) -> Option<PathBuf> {
        // Without a folder no worker starts; the error is reported then.
        let home = PrivateDirectory::new(&settings.data, Some(identity)).ok()?;
        let (python, package) = (&self.interpreter, &self.package);
        if python
            .is_readable_by(identity.uid, package, home.path())
            .await
        {
            return None;
        }
        let closed = python.closed_folder(package, home.path());
        closed.or_else(|| Some(python.executable.clone()))
    }
}

/// Nothing restricts what a worker could read past permissions, so it cannot be let.
fn unreadable(folder: &Path) -> Refusal {
    Refusal {
        code: "python-unreadable",
        missing: Missing {
            what: "A Python that jobs can read".to_owned(),
            consequence: format!(
                "Jobs run as a user without privileges, who cannot read {}. Where the kernel has no Landlock they are \
                 given no right to read past permissions, so none is run.",
                folder.display()
            ),
            fix: "Install Python and keep --data where every user can read, such as /opt and /var/lib/hipward, or \
                   start Hipward as a user other than root"
                .to_owned(),
        },
    }
}

/// The folder open to snippets that holds the data folder, if there is one.
fn folder_around(data: &Path, readable: &[PathBuf]) -> Option<PathBuf> {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let data = real(data);
    let around = readable
        .iter()
        .find(|folder| data.starts_with(real(folder)))?;
    Some(around.clone())
}

fn refuse_weak(isolation: &Isolation, minimum: IsolationLevel) -> Option<Refusal> {
    (isolation.level < minimum).then(|| Refusal {
        code: "isolation-too-weak",
        missing: Missing {
            what: format!("The isolation level `{}`", level_name(minimum)),
            consequence: format!(
                "This host reaches only `{}`, so no snippet is run. It lacks {}.",
                level_name(isolation.level),
                isolation.missing.join("; ")
            ),
            fix: format!(
                "hipward serve --minimum-isolation {}",
                level_name(isolation.level)
            ),
        },
    })
}

/// A level as the command line and the API spell it.
pub(crate) fn level_name(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::Limits => "limits",
        IsolationLevel::Syscalls => "syscalls",
        IsolationLevel::Files => "files",
    }
}

fn threads_of_our_user() -> u64 {
    use std::os::unix::fs::MetadataExt;
    let ours = nix::unistd::getuid().as_raw();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|entry| {
            entry
                .metadata()
                .is_ok_and(|metadata| metadata.uid() == ours)
        })
        .map(|entry| {
            fs::read_dir(entry.path().join("task")).map_or(0, |tasks| tasks.count() as u64)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_the_demanded_isolation_nothing_runs_and_the_reason_is_given() {
        let weak = Host {
            landlock_abi: None,
            seccomp: true,
            root: false,
        };
        let isolation = weak.isolation(None, None);
        let refusal = refuse_weak(&isolation, IsolationLevel::Files).expect("is too weak");
        assert_eq!(refusal.code, "isolation-too-weak");
        assert!(refusal.missing.consequence.contains("files"), "{refusal:?}");
        assert!(refuse_weak(&isolation, IsolationLevel::Syscalls).is_none());
    }

    #[test]
    fn jobs_are_not_stored_where_snippets_may_read() {
        let readable = [PathBuf::from("/usr"), PathBuf::from("/opt/python")];
        let inside = folder_around(Path::new("/opt/python/data"), &readable);
        assert_eq!(inside.as_deref(), Some(Path::new("/opt/python")));
        assert_eq!(folder_around(Path::new("/opt/pythonic"), &readable), None);
    }
}
