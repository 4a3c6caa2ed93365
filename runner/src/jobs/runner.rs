//! The local runner: its Python, devices, isolation and limits. Built once at
//! start. The pages and the API show it, and the scheduler uses it.

use super::{PrivateDirectory, request_workers, worker::Worker};
use crate::{
    devices::{self, Lease, NvidiaGpu},
    isolation::{FileRules, Host, Identity, Limits, ReservedUid, SandboxSpec},
    procfs,
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

/// The operator's settings.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The data folder.
    pub(crate) data: PathBuf,
    /// The Python to use, if one was passed.
    pub(crate) python: Option<PathBuf>,
    /// A folder with a `hipward_kernels` to use instead of the one in this binary.
    pub(crate) kernels: Option<PathBuf>,
    /// Time limit of a job.
    pub(crate) wall_limit: Duration,
    /// Memory limit of a job, bytes.
    pub(crate) memory_bytes: u64,
    /// Limit of the sampling time per variant, seconds.
    pub(crate) time_cap_s: f64,
    /// Maximum number of queued jobs.
    pub(crate) queue_limit: usize,
    /// The isolation level below which no job runs.
    pub(crate) minimum_isolation: IsolationLevel,
    /// The newest Landlock ABI that is used, for tests. 0 is none.
    pub(crate) newest_landlock: Option<u32>,
}

impl Settings {
    /// Maximum number of processes of a job.
    pub(crate) const MAX_PROCESSES: usize = 128;
    /// Disk limit of a job's private directory, bytes.
    pub(crate) const MAX_DISK_BYTES: u64 = 4 << 30;
    /// Maximum size of a snippet, bytes.
    pub(crate) const MAX_CODE_BYTES: usize = 256 * 1024;
}

/// Why no job can run here, with the code in API errors.
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
    /// The operator's settings.
    pub(crate) settings: Settings,
    host: Host,
    isolation: Isolation,
    /// The users of the workers, by slot. Empty without root.
    users: Vec<ReservedUid>,
    python: Result<Python, Refusal>,
    /// The folder for which workers bypass file permissions, if they must.
    closed: Option<PathBuf>,
    nvidia_gpus: Vec<NvidiaGpu>,
    /// Incremented when the queue changes.
    queue: watch::Sender<u64>,
    /// The running job of each device, and how to stop it.
    running: Mutex<HashMap<String, Running>>,
    lost_devices: AtomicUsize,
}

#[derive(Debug)]
struct Running {
    job: String,
    stop: Arc<Notify>,
}

/// Registration of a job that runs on a device. Removed on drop, also after a panic.
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
    /// Detects the isolation, PyTorch and the devices of the host. Missing parts are a state, not
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
        // One slot for each device, and those of the request workers.
        let slots =
            request_workers::SLOTS + python.as_ref().map_or(0, |python| python.devices.len());
        let users = if host.root {
            ReservedUid::reserve(slots)
        } else {
            Vec::new()
        };
        let identity = users.first().map(|user| user.identity(false));
        let mut closed = None;
        if let (Ok(found), Some(identity)) = (&python, &identity) {
            closed = found.unreadable_folder(&settings, identity).await;
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

    /// Removes all devices but the one on which a job with this `device` would run. An unknown device changes nothing, so
    /// that the error of the submission lists the devices.
    pub(crate) fn restrict_to_device(&mut self, device: Option<&str>) {
        let Ok(python) = &mut self.python else {
            return;
        };
        let wanted = |known: &Device| device.is_none_or(|device| known.id == device);
        if let Some(found) = python.devices.iter().find(|known| wanted(known)) {
            python.devices = vec![found.clone()];
        }
    }

    /// The devices, with their current jobs.
    pub(crate) fn devices(&self) -> Vec<Device> {
        let running = self.running();
        let devices = self.python.iter().flat_map(|python| &python.devices);
        devices
            .cloned()
            .map(|mut device| {
                // Not the job's id: everybody who knows the id may read the job.
                let busy = running.contains_key(&device.id);
                device.current_job = busy.then(|| "a job".to_owned());
                device
            })
            .collect()
    }

    /// The variants of the harness, in ladder order. Empty where no job can run.
    pub(crate) fn variants(&self) -> &[Variant] {
        self.python.as_ref().map_or(&[], |python| &python.variants)
    }

    /// What this runner can run, and with which limits.
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
            code_limit_bytes: Settings::MAX_CODE_BYTES as u64,
            missing: self
                .refusal()
                .map(|refusal| refusal.missing.clone())
                .into_iter()
                .chain(devices::unused_amd_gpu(Path::new("/sys"), &self.devices()))
                .collect(),
        }
    }

    /// Notifies the schedulers that the queue has changed.
    pub(crate) fn queue_changed(&self) {
        self.queue.send_modify(|count| *count += 1);
    }

    /// Notifies of changes of the queue.
    pub(crate) fn watch_queue(&self) -> watch::Receiver<u64> {
        self.queue.subscribe()
    }

    /// Stops a job that runs here. Its final event must be stored already.
    pub(crate) fn stop(&self, job: &str) {
        for running in self.running().values().filter(|running| running.job == job) {
            running.stop.notify_one();
        }
    }

    /// Starts a worker for a device as for a job, and kills it when it is ready.
    pub(crate) async fn test_worker(&self, device: &Device) -> std::io::Result<()> {
        let slot = self
            .devices()
            .iter()
            .position(|known| known.id == device.id);
        let mut worker = Worker::start(self, slot.unwrap_or_default(), device).await?;
        let ready = worker.ready().await;
        worker.end().await;
        ready
    }

    /// Registers a job that runs on a device, until the returned value is dropped.
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

    /// Records that the scheduler of a device has failed.
    pub(super) fn device_lost(&self) {
        self.lost_devices.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of devices whose scheduler has failed.
    pub(crate) fn lost_devices(&self) -> usize {
        self.lost_devices.load(Ordering::Relaxed)
    }

    /// Prepares a worker that runs a module of the measuring package: its sandbox, its private directory
    /// and its isolation. Each slot has at most one worker at a time.
    pub(super) fn spec(&self, slot: usize, gpu: bool, module: &str) -> std::io::Result<Prepared> {
        let python = self
            .python
            .as_ref()
            .map_err(|refusal| std::io::Error::other(refusal.missing.consequence.clone()))?;
        let identity = if self.host.root {
            let no_uid = || std::io::Error::other("no user id is free for the worker");
            Some(self.users.get(slot).ok_or_else(no_uid)?.identity(gpu))
        } else {
            None
        };
        let directory = PrivateDirectory::new(&self.settings.data, identity.as_ref())?;
        let readable = python.interpreter.readable().into_iter();
        let mut environment = python
            .interpreter
            .environment(&python.package, directory.path());
        let mut files = self.host.landlock_abi.map(|abi| FileRules {
            bypass_permissions: identity.is_some() && self.closed.is_some(),
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
        // The kernel counts threads by user. A worker with a user of its own starts at 0.
        let existing_threads = if identity.is_some() {
            0
        } else {
            threads_of_own_user()
        };
        let spec = SandboxSpec {
            program: python.interpreter.executable.clone(),
            arguments: arguments.map(str::to_owned).into(),
            environment,
            directory: directory.path().to_owned(),
            limits: Limits {
                memory_bytes: self.settings.memory_bytes,
                disk_bytes: Settings::MAX_DISK_BYTES,
                processes: Settings::MAX_PROCESSES,
                threads: Limits::threads(existing_threads),
            },
            identity: identity.clone(),
            files,
            seccomp: self.host.seccomp,
            gpu,
        };
        Ok(Prepared {
            spec,
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

/// A worker that can be started.
pub(super) struct Prepared {
    pub(super) spec: SandboxSpec,
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
        if let Some(around) = folder_containing(&settings.data, &readable) {
            return Err(Refusal {
                code: "data-readable",
                missing: Missing {
                    what: "A data folder outside of Python's folders".to_owned(),
                    consequence: format!(
                        "Snippets may read {}, which contains the data folder, so no job is run.",
                        around.display()
                    ),
                    fix: "hipward serve --data /another/folder".to_owned(),
                },
            });
        }
        let home = PrivateDirectory::new(&settings.data, None).map_err(|error| {
            no_torch(Missing {
                what: "A writable data folder".to_owned(),
                consequence: format!(
                    "The private directory of a worker cannot be created: {error}."
                ),
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
    /// The folder whose permissions prevent a user without privileges from running this Python, if there is one.
    async fn unreadable_folder(&self, settings: &Settings, identity: &Identity) -> Option<PathBuf> {
        // Without a private directory no worker starts, and the error is reported then.
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

/// Without Landlock nothing would restrict a worker that bypasses file permissions, so no job is run.
fn unreadable(folder: &Path) -> Refusal {
    Refusal {
        code: "python-unreadable",
        missing: Missing {
            what: "A Python that jobs can read".to_owned(),
            consequence: format!(
                "Jobs run as a user without privileges, who cannot read {}. Without Landlock in the kernel they must \
                 not bypass file permissions, so no job is run.",
                folder.display()
            ),
            fix: "Install Python and put --data where every user can read, such as /opt and /var/lib/hipward, or \
                   start Hipward as a user other than root"
                .to_owned(),
        },
    }
}

/// The folder readable by snippets that contains the data folder, if there is one.
fn folder_containing(data: &Path, readable: &[PathBuf]) -> Option<PathBuf> {
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
                "This host supports only `{}`, so no snippet is run. It lacks {}.",
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

/// The name of a level on the command line and in the API.
pub(crate) fn level_name(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::Limits => "limits",
        IsolationLevel::Syscalls => "syscalls",
        IsolationLevel::Files => "files",
    }
}

/// Threads of all processes of the server's user.
fn threads_of_own_user() -> u64 {
    let own = nix::unistd::getuid().as_raw();
    procfs::processes()
        .filter(|&pid| procfs::owner(pid) == Some(own))
        .map(|pid| procfs::threads(pid).count() as u64)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runner_with_too_weak_isolation_refuses_with_a_reason() {
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
    fn data_folder_in_a_readable_folder_is_detected() {
        let readable = [PathBuf::from("/usr"), PathBuf::from("/opt/python")];
        let inside = folder_containing(Path::new("/opt/python/data"), &readable);
        assert_eq!(inside.as_deref(), Some(Path::new("/opt/python")));
        assert_eq!(
            folder_containing(Path::new("/opt/pythonic"), &readable),
            None
        );
    }
}
