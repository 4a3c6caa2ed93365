//! What runs at present: the job of each device.

use hipward_protocol::{Device, Vendor};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::sync::{Notify, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// The running jobs, and the state of the schedulers.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// The running job of each device, by the device's id, and how to stop it.
    running: Mutex<HashMap<String, Running>>,
    lost_devices: AtomicUsize,
    /// Locked by each job: shared by a job on a GPU, exclusively by one on the processor, which would disturb the times of all
    /// others. Shared by a worker that is warmed up too, which uses the processor. Fair, so that neither kind waits for ever.
    timing: Arc<RwLock<()>>,
    /// Locked by each request that runs code (compile, emulate, exercises): shared by the request, exclusively by a job on the
    /// processor. Apart from `timing`, so that a job that waits for a GPU's job does not keep requests waiting.
    requests: Arc<RwLock<()>>,
}

/// The permission to time a job, until it is dropped.
#[derive(Debug)]
pub(in crate::jobs) enum TimingPermit {
    Shared {
        _guard: OwnedRwLockReadGuard<()>,
    },
    Exclusive {
        _jobs: OwnedRwLockWriteGuard<()>,
        _requests: OwnedRwLockWriteGuard<()>,
    },
}

/// The permission to run the code of a request, until it is dropped.
#[derive(Debug)]
pub(in crate::jobs) struct RequestPermit {
    _guard: OwnedRwLockReadGuard<()>,
}

#[derive(Debug)]
struct Running {
    job: String,
    stop: Arc<Notify>,
}

/// Registration of a job that runs on a device. Removed on drop, also after a panic.
pub(in crate::jobs) struct Started<'a> {
    /// Stops the job.
    pub(in crate::jobs) stop: Arc<Notify>,
    activity: &'a Activity,
    device: &'a Device,
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        self.activity.running().remove(&self.device.id);
    }
}

impl Activity {
    /// Stops a job that runs here. Its final event must be stored already.
    pub(crate) fn stop(&self, job: &str) {
        for running in self.running().values().filter(|running| running.job == job) {
            running.stop.notify_one();
        }
    }

    /// Registers a job that runs on a device, until the returned value is dropped.
    pub(in crate::jobs) fn started<'a>(&'a self, job: &str, device: &'a Device) -> Started<'a> {
        let stop = Arc::new(Notify::new());
        let running = Running {
            job: job.to_owned(),
            stop: stop.clone(),
        };
        self.running().insert(device.id.clone(), running);
        Started {
            stop,
            activity: self,
            device,
        }
    }

    /// Waits until a job may be timed on a device.
    pub(in crate::jobs) async fn timing_permit(&self, device: &Device) -> TimingPermit {
        let timing = self.timing.clone();
        match device.vendor {
            Vendor::Cpu => TimingPermit::Exclusive {
                _jobs: timing.write_owned().await,
                _requests: self.requests.clone().write_owned().await,
            },
            Vendor::Amd | Vendor::Nvidia => TimingPermit::Shared {
                _guard: timing.read_owned().await,
            },
        }
    }

    /// Waits until no job on the processor is timed, which a worker that imports PyTorch would disturb.
    pub(in crate::jobs) async fn warm_up_permit(&self) -> TimingPermit {
        TimingPermit::Shared {
            _guard: self.timing.clone().read_owned().await,
        }
    }

    /// Waits until no job on the processor is timed, which the code of a request would disturb.
    pub(in crate::jobs) async fn request_permit(&self) -> RequestPermit {
        RequestPermit {
            _guard: self.requests.clone().read_owned().await,
        }
    }

    /// The ids of the jobs that run here.
    pub(in crate::jobs) fn running_jobs(&self) -> Vec<String> {
        let running = self.running();
        running
            .values()
            .map(|running| running.job.clone())
            .collect()
    }

    /// Whether a job runs on each of these devices, in their order.
    pub(super) fn is_busy<'d>(&self, devices: impl Iterator<Item = &'d Device>) -> Vec<bool> {
        let running = self.running();
        devices
            .map(|device| running.contains_key(&device.id))
            .collect()
    }

    /// Records that the scheduler of a device has failed.
    pub(in crate::jobs) fn device_lost(&self) {
        self.lost_devices.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of devices whose scheduler has failed.
    pub(crate) fn lost_devices(&self) -> usize {
        self.lost_devices.load(Ordering::Relaxed)
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    fn device(id: &str, vendor: Vendor) -> Device {
        Device {
            id: id.to_owned(),
            name: "A device".to_owned(),
            vendor,
            arch: "any".to_owned(),
            memory_bytes: 1,
            current_job: None,
        }
    }

    #[tokio::test]
    async fn jobs_on_gpus_run_beside_each_other_and_none_beside_a_job_on_the_processor() {
        let activity = Activity::default();
        let first = device("cuda:0", Vendor::Amd);
        let second = device("cuda:1", Vendor::Amd);
        let cpu = device("cpu", Vendor::Cpu);
        let on_gpus = (
            activity.timing_permit(&first).await,
            activity.timing_permit(&second).await,
        );
        let waiting = timeout(Duration::from_millis(20), activity.timing_permit(&cpu));
        assert!(waiting.await.is_err());
        drop(on_gpus);
        let on_cpu = activity.timing_permit(&cpu).await;
        let waiting = timeout(Duration::from_millis(20), activity.timing_permit(&first));
        assert!(waiting.await.is_err());
        drop(on_cpu);
        activity.timing_permit(&first).await;
    }

    #[tokio::test]
    async fn workers_are_warmed_up_beside_jobs_on_gpus_and_not_beside_one_on_the_processor() {
        let activity = Activity::default();
        let cpu = device("cpu", Vendor::Cpu);
        let on_gpu = activity.timing_permit(&device("cuda:0", Vendor::Amd)).await;
        let warm_up = activity.warm_up_permit().await;
        drop(on_gpu);
        let waiting = timeout(Duration::from_millis(20), activity.timing_permit(&cpu));
        assert!(waiting.await.is_err());
        drop(warm_up);
        let on_cpu = activity.timing_permit(&cpu).await;
        let waiting = timeout(Duration::from_millis(20), activity.warm_up_permit());
        assert!(waiting.await.is_err());
        drop(on_cpu);
        activity.warm_up_permit().await;
    }

    #[tokio::test]
    async fn requests_run_beside_jobs_on_gpus_and_not_beside_one_on_the_processor() {
        let activity = Activity::default();
        let cpu = device("cpu", Vendor::Cpu);
        let on_gpu = activity.timing_permit(&device("cuda:0", Vendor::Amd)).await;
        {
            // Also while a job on the processor waits for the one on the GPU.
            let waiting = activity.timing_permit(&cpu);
            tokio::pin!(waiting);
            let short = Duration::from_millis(20);
            assert!(timeout(short, &mut waiting).await.is_err());
            activity.request_permit().await;
        }
        drop(on_gpu);
        let request = activity.request_permit().await;
        let waiting = timeout(Duration::from_millis(20), activity.timing_permit(&cpu));
        assert!(waiting.await.is_err());
        drop(request);
        let on_cpu = activity.timing_permit(&cpu).await;
        let waiting = timeout(Duration::from_millis(20), activity.request_permit());
        assert!(waiting.await.is_err());
        drop(on_cpu);
        activity.request_permit().await;
    }
}
