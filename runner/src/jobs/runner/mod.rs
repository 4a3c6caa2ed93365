//! The local runner: its Python, devices, isolation and limits. Built once at
//! start. The pages and the API show it, and the scheduler uses it.

mod activity;
mod python;
mod refusal;
mod sandboxes;
mod settings;

pub(super) use activity::Activity;
pub(crate) use settings::Settings;

pub(crate) use refusal::Refusal;
pub(super) use sandboxes::Prepared;

use self::{python::Python, sandboxes::Sandboxes};
use super::{
    PrivateDirectory, cpp_headers, host_facts::HostFacts, lease_messages::HostReport,
    request_workers, worker::Worker,
};
use crate::{
    devices,
    isolation::{Host, Namespaces},
    python::{PackageError, unpack},
};
use hipward_protocol::{Capabilities, Device, Isolation, Missing, Variant, Vendor};
use std::{io, path::Path};

/// The local runner.
#[derive(Debug)]
pub(crate) struct Runner {
    /// The operator's settings.
    pub(crate) settings: Settings,
    /// The running jobs.
    pub(crate) activity: Activity,
    isolation: Isolation,
    python: Result<Python, Refusal>,
    sandboxes: Sandboxes,
    /// An AMD GPU that PyTorch does not see. Found once, because the search reads many files.
    unused_gpu: Option<Missing>,
}

impl Runner {
    /// Finds PyTorch and the devices of the host. Missing parts are a state, not an error.
    pub(crate) async fn discover(settings: Settings, host: Host) -> Result<Self, PackageError> {
        PrivateDirectory::remove_leftovers(&settings.data);
        let package = match &settings.kernels {
            Some(folder) => folder.clone(),
            None => unpack(&settings.data)?,
        };
        let isolation = host.isolation(None, None, None);
        let mut python = match Refusal::if_too_weak(&isolation, settings.minimum_isolation) {
            Some(refusal) => Err(refusal),
            None => Python::discover(&settings, package).await,
        };
        // One slot for each device, and those of the other workers.
        let slots = request_workers::SLOTS
            + cpp_headers::SLOTS
            + python.as_ref().map_or(0, |python| python.devices.len());
        let mut sandboxes = Sandboxes::new(host, slots, &settings.data);
        let refusal = match &python {
            Ok(found) => fit(&mut sandboxes, &settings, found).await,
            Err(_) => {
                sandboxes.set_namespaces(Namespaces::None("not tried without a Python".to_owned()));
                None
            }
        };
        python = refusal.map_or(python, Err);
        Ok(Runner {
            unused_gpu: unused_gpu(&python),
            settings,
            activity: Activity::default(),
            isolation: sandboxes.isolation(),
            python,
            sandboxes,
        })
    }

    /// A placeholder while PyTorch and devices are being searched for.
    pub(super) fn searching(settings: Settings, host: Host) -> Self {
        Self::refusing(settings, host, Refusal::searching())
    }

    /// A runner without devices, for a server whose jobs run on the hosts that join it.
    pub(crate) fn absent(settings: Settings) -> Self {
        let host = Host::detect(settings.mechanisms);
        Self::refusing(settings, host, Refusal::no_host())
    }

    /// A placeholder while PyTorch is being installed.
    pub(super) fn installing(settings: Settings, host: Host) -> Self {
        Self::refusing(settings, host, Refusal::installing())
    }

    /// A runner whose measuring package could not be written to disk.
    pub(super) fn without_package(settings: Settings, host: Host, error: &PackageError) -> Self {
        Self::refusing(settings, host, Refusal::no_package(error))
    }

    /// A runner that accepts no job.
    fn refusing(settings: Settings, host: Host, refusal: Refusal) -> Self {
        let sandboxes = Sandboxes::new(host, 0, &settings.data);
        let python = Err(refusal);
        Runner {
            unused_gpu: unused_gpu(&python),
            settings,
            activity: Activity::default(),
            isolation: sandboxes.isolation(),
            python,
            sandboxes,
        }
    }

    /// Why no job can run here, if none can.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        self.python.as_ref().err()
    }

    /// Why no job of others than the operator can run here, if none can.
    pub(crate) fn refusal_for_others(&self) -> Option<Refusal> {
        let too_weak =
            || Refusal::if_too_weak(&self.isolation, self.settings.minimum_isolation_for_others);
        self.refusal().cloned().or_else(too_weak)
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
        let devices = self.python.iter().flat_map(|python| &python.devices);
        let busy = self.activity.is_busy(devices.clone());
        devices
            .cloned()
            .zip(busy)
            .map(|(mut device, busy)| {
                // Not the job's id: everybody who knows the id may read the job.
                device.current_job = busy.then(|| "a job".to_owned());
                device
            })
            .collect()
    }

    /// What jobs can require of this host, besides a device.
    pub(crate) fn facts(&self) -> HostFacts {
        let python = self.python.as_ref().ok();
        let is_gpu = |device: &&Device| device.vendor != Vendor::Cpu;
        HostFacts {
            torch: python.and_then(|python| python.torch.clone()),
            rocm: python.and_then(|python| python.hip.clone()),
            gpus: python.map_or(0, |python| python.devices.iter().filter(is_gpu).count()),
            labels: self.settings.labels.clone(),
        }
    }

    /// What this host can run, as other servers need it.
    pub(crate) fn report(&self) -> HostReport {
        HostReport {
            capabilities: self.capabilities(),
            facts: self.facts(),
        }
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
            queue_length: None,
            torch,
            hip_compiler: self
                .python
                .as_ref()
                .ok()
                .and_then(|python| python.hip_compiler.clone()),
            variants: self.variants().to_vec(),
            isolation: self.isolation.clone(),
            wall_limit_s: self.settings.wall_limit.as_secs(),
            memory_limit_bytes: self.settings.memory_bytes,
            code_limit_bytes: Settings::MAX_CODE_BYTES as u64,
            missing: self
                .refusal()
                .map(|refusal| refusal.missing.clone())
                .into_iter()
                .chain(self.unused_gpu.clone())
                .collect(),
        }
    }

    /// Starts a worker for a device as for a job, and kills it when it is ready.
    pub(crate) async fn test_worker(&self, device: &Device) -> io::Result<()> {
        let slot = self
            .devices()
            .iter()
            .position(|known| known.id == device.id);
        let mut worker = Worker::start(self, slot.unwrap_or_default(), device).await?;
        let ready = worker.ready().await;
        worker.end().await;
        ready
    }

    /// Prepares a worker that runs a module of the measuring package: its sandbox, its private directory
    /// and its isolation. Each slot has at most one worker at a time.
    pub(super) fn spec(&self, slot: usize, gpu: bool, module: &str) -> io::Result<Prepared> {
        let python = self
            .python
            .as_ref()
            .map_err(|refusal| io::Error::other(refusal.missing.consequence.clone()))?;
        self.sandboxes
            .prepare(&self.settings, python, slot, gpu, module)
    }
}

/// Fits the sandboxes to a Python and its folders. Returns why no job can run, if none can.
async fn fit(sandboxes: &mut Sandboxes, settings: &Settings, python: &Python) -> Option<Refusal> {
    let is_too_weak = |sandboxes: &Sandboxes| {
        Refusal::if_too_weak(&sandboxes.isolation(), settings.minimum_isolation)
    };
    let bubblewrap = sandboxes.namespaces();
    // In namespaces, folders around Python's folders need not be open to others.
    if sandboxes.try_namespaces(settings, python).await {
        return is_too_weak(sandboxes);
    }
    if let Some(identity) = sandboxes.identity()
        && let Some(folder) = python.unreadable_folder(settings, &identity).await
    {
        let refusal = Refusal::python_unreadable(&folder);
        if !sandboxes.bypass_permissions(folder) {
            return Some(refusal);
        }
        sandboxes.set_namespaces(bubblewrap);
        sandboxes.try_namespaces(settings, python).await;
    }
    is_too_weak(sandboxes)
}

/// The AMD GPU that the kernel lists and this Python does not see, if there is one.
fn unused_gpu(python: &Result<Python, Refusal>) -> Option<Missing> {
    let devices = python.as_ref().map_or(&[][..], |python| &python.devices);
    devices::unused_amd_gpu(Path::new("/sys"), devices)
}
