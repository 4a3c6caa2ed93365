//! The sandboxes of workers on this host: users, file rules, limits and the leased device.

use super::{python::Python, settings::Settings};
use crate::{
    devices::{self, Lease, NvidiaGpu},
    isolation::{
        self, Cgroups, FileRules, Host, Identity, Limits, Namespaces, ReservedUid, SandboxSpec,
    },
    jobs::{
        PrivateDirectory, cpp_headers,
        request_workers::{EMULATE_MODULE, EXERCISE_MODULE},
        worker,
    },
    procfs, python,
};
use hipward_protocol::{Device, Isolation, Vendor};
use std::{
    env, io,
    path::{Path, PathBuf},
};

/// Prepares the sandboxes of workers.
#[derive(Debug)]
pub(super) struct Sandboxes {
    host: Host,
    /// The users of the workers, by slot. Empty without root.
    users: Vec<ReservedUid>,
    /// The group of this server, if workers get cgroups.
    cgroups: Option<Cgroups>,
    /// The folder for which workers bypass file permissions, if they must.
    closed: Option<PathBuf>,
    nvidia_gpus: Vec<NvidiaGpu>,
    /// The programs that workers may start besides Python.
    programs: python::Programs,
}

/// A worker that can be started.
pub(in crate::jobs) struct Prepared {
    pub(in crate::jobs) spec: SandboxSpec,
    pub(in crate::jobs) directory: PrivateDirectory,
    pub(in crate::jobs) isolation: Isolation,
}

impl Sandboxes {
    /// Sandboxes for up to `slots` workers at a time. 0 for a host that runs no job.
    pub(super) fn new(host: Host, slots: usize, data: &Path) -> Self {
        let users = if host.root && slots > 0 {
            ReservedUid::reserve(slots).unwrap_or_else(|error| {
                tracing::error!(
                    "no user ids can be reserved for jobs, so no job runs: /run/hipward/users: {error}"
                );
                Vec::new()
            })
        } else {
            Vec::new()
        };
        let nvidia_gpus = if slots > 0 {
            devices::nvidia_gpus(Path::new("/proc/driver/nvidia"), Path::new("/dev"))
        } else {
            Vec::new()
        };
        let programs = if slots == 0 {
            python::Programs::default()
        } else if users.is_empty() {
            python::Programs::find()
        } else {
            python::Programs::for_others(data)
        };
        let cgroups = (host.cgroup && slots > 0).then(Cgroups::prepare);
        let cgroups = cgroups.and_then(|prepared| {
            let report = |error: &io::Error| tracing::warn!("no cgroups for jobs: {error}");
            prepared.inspect_err(report).ok()
        });
        Sandboxes {
            host,
            users,
            cgroups,
            programs,
            closed: None,
            nvidia_gpus,
        }
    }

    /// The user of the first worker, if workers have users of their own.
    pub(super) fn identity(&self) -> Option<Identity> {
        self.users.first().map(|user| user.identity(false))
    }

    /// Lets workers bypass file permissions, because `folder` is closed to their users. Returns false if nothing
    /// else would restrict them then.
    pub(super) fn bypass_permissions(&mut self, folder: PathBuf) -> bool {
        self.closed = Some(folder);
        self.host.landlock_abi.is_some()
    }

    /// Whether workers get namespaces.
    pub(super) fn namespaces(&self) -> Namespaces {
        self.host.namespaces.clone()
    }

    /// Changes whether workers get namespaces.
    pub(super) fn set_namespaces(&mut self, namespaces: Namespaces) {
        self.host.namespaces = namespaces;
    }

    /// Runs Python in namespaces, if the host has a program for them, on its first GPU if it has one. If that fails,
    /// workers get no namespaces, and the isolation states why. Returns whether they get them.
    pub(super) async fn try_namespaces(&mut self, settings: &Settings, python: &Python) -> bool {
        if self.host.namespaces.program().is_none() {
            return false;
        }
        let is_gpu = |device: &Device| device.vendor != Vendor::Cpu;
        let gpu = python.devices.iter().position(is_gpu);
        let uses_gpu = gpu.map_or("", |_| python::USES_ITS_GPU);
        let script = [python::READS_ITS_FILES, uses_gpu].concat();
        let trial = async {
            let prepared = self.prepare(settings, python, gpu.unwrap_or(0), gpu.is_some(), "")?;
            let spec = SandboxSpec {
                arguments: ["-P", "-c", &script].map(str::to_owned).into(),
                ..prepared.spec.clone()
            };
            isolation::attempt(spec).await.map_err(io::Error::other)
        };
        match trial.await {
            Ok(()) => true,
            Err(error) => {
                self.host.namespaces =
                    Namespaces::None(format!("Python does not run in it here: {error}"));
                false
            }
        }
    }

    /// The isolation of every worker.
    pub(super) fn isolation(&self) -> Isolation {
        self.isolation_as(self.identity().as_ref())
    }

    /// The cgroups, unless workers could leave theirs.
    fn worker_cgroups(&self) -> Option<&Cgroups> {
        self.cgroups.as_ref().filter(|_| self.host.keeps_cgroups())
    }

    fn isolation_as(&self, identity: Option<&Identity>) -> Isolation {
        let cgroup = self.worker_cgroups().map(Cgroups::controls);
        self.host
            .isolation(identity, cgroup, self.closed.as_deref())
    }

    /// Prepares a worker that runs a module of the measuring package: its sandbox, its private directory
    /// and its isolation. Each slot has at most one worker at a time.
    pub(super) fn prepare(
        &self,
        settings: &Settings,
        python: &Python,
        slot: usize,
        gpu: bool,
        module: &str,
    ) -> io::Result<Prepared> {
        let identity = if self.host.root {
            let no_uid = || io::Error::other("no user id is free for the worker");
            Some(self.users.get(slot).ok_or_else(no_uid)?.identity(gpu))
        } else {
            None
        };
        let directory = PrivateDirectory::new(&settings.data, identity.as_ref())?;
        let readable = python.interpreter.readable().into_iter();
        let mut environment = python
            .interpreter
            .environment(&python.package, directory.path());
        let mut files = self.host.restricts_files().then(|| FileRules {
            bypass_permissions: identity.is_some() && self.closed.is_some(),
            ..FileRules::new(readable.chain([python.package.clone()]), gpu)
        });
        let program = match module {
            EXERCISE_MODULE => &self.programs.emulator,
            EMULATE_MODULE => &self.programs.own,
            _ => &None,
        };
        if let Some((variable, program)) = program {
            environment.push(((*variable).to_owned(), program.display().to_string()));
            if let Some(files) = &mut files {
                files.read.push(program.clone());
            }
        }
        if !gpu && [worker::MODULE, cpp_headers::MODULE].contains(&module) {
            let folder = cpp_headers::folder(&settings.data)?;
            environment.push((
                cpp_headers::VARIABLE.to_owned(),
                folder.display().to_string(),
            ));
            if let Some(files) = &mut files {
                files.read.push(folder);
            }
        }
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
                memory_bytes: settings.memory_bytes,
                disk_bytes: Settings::MAX_DISK_BYTES,
                processes: Settings::MAX_PROCESSES,
                threads: Limits::threads(existing_threads),
            },
            cgroup: self.worker_cgroups().map(Cgroups::spec).transpose()?,
            identity: identity.clone(),
            files,
            landlock_abi: self.host.landlock_abi,
            bubblewrap: self.host.namespaces.program().map(Path::to_owned),
            seccomp: self.host.seccomp,
            gpu,
        };
        Ok(Prepared {
            spec,
            directory,
            isolation: self.isolation_as(identity.as_ref()),
        })
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
