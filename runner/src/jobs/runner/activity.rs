//! What runs at present: the job of each device, and notifications of changes of the queue.

use hipward_protocol::Device;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::sync::{Notify, watch};

/// The running jobs, and the state of the queue and of the schedulers.
#[derive(Debug)]
pub(crate) struct Activity {
    /// Incremented when the queue changes.
    queue: watch::Sender<u64>,
    /// The running job of each device, by the device's id, and how to stop it.
    running: Mutex<HashMap<String, Running>>,
    lost_devices: AtomicUsize,
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

impl Default for Activity {
    fn default() -> Self {
        Activity {
            queue: watch::Sender::new(0),
            running: Mutex::default(),
            lost_devices: AtomicUsize::new(0),
        }
    }
}

impl Activity {
    /// Notifies the schedulers that the queue has changed.
    pub(crate) fn queue_changed(&self) {
        self.queue.send_modify(|count| *count += 1);
    }

    /// Notifies of changes of the queue.
    pub(in crate::jobs) fn watch_queue(&self) -> watch::Receiver<u64> {
        self.queue.subscribe()
    }

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
