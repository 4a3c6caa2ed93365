//! Where a host gets jobs from and reports their events to: the store of this server, or a server elsewhere.

use super::{
    lease_messages::FreeDevice,
    store::{Lease, Store, StoreError},
};
use futures_util::future::BoxFuture;
use hipward_protocol::EventBody;
use std::{fmt::Debug, time::Duration};
use tokio::sync::watch;

/// Default of [`Store::lease_time`].
pub(super) const LEASE_TIME: Duration = Duration::from_secs(30);
/// Interval at which a host renews the leases of its jobs.
pub(super) const RENEW_INTERVAL: Duration = Duration::from_secs(5);
/// Time within which a renewal must be answered. Several must fit into the time of a lease, so that one lost answer does not end it.
pub(super) const RENEW_TIMEOUT: Duration = Duration::from_secs(3);
/// Delay after a failed renewal.
pub(super) const RENEW_RETRY: Duration = Duration::from_secs(1);

/// The result of a request to the source.
pub(super) type SourceResult<T> = Result<T, StoreError>;

/// A source of jobs. Each error [`StoreError::Fenced`] states that the lease has ended: the job was cancelled, or another
/// attempt has it.
pub(crate) trait WorkSource: Debug + Send + Sync {
    /// Whether a job waits for this device, so that [`claim`](Self::claim) would lease it. A source elsewhere waits a while for one.
    fn has_work<'a>(&'a self, free: &'a FreeDevice) -> BoxFuture<'a, SourceResult<bool>>;

    /// Leases the next job for this device: one that names it, or with `free.unassigned` one that names no device.
    fn claim<'a>(&'a self, free: &'a FreeDevice) -> BoxFuture<'a, SourceResult<Option<Lease>>>;

    /// Adds events to a leased job. `after` is the number of events of this attempt that were added before, so that a request
    /// may be repeated when its answer was lost.
    fn append<'a>(
        &'a self,
        lease: &'a Lease,
        after: usize,
        events: Vec<EventBody>,
    ) -> BoxFuture<'a, SourceResult<()>>;

    /// Records that the code of a leased job starts.
    fn mark_begun<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, SourceResult<()>>;

    /// Ends a lease and queues its job again, because its code did not start or the host stops.
    fn requeue<'a>(&'a self, lease: &'a Lease, reason: String) -> BoxFuture<'a, SourceResult<()>>;

    /// Renews a lease. Fails if it has ended.
    fn renew<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, SourceResult<()>>;

    /// Whether leases expire unless they are renewed.
    fn leases_expire(&self) -> bool;

    /// Notifies of changes after which a claim may succeed.
    fn watch_work(&self) -> watch::Receiver<u64>;
}

impl WorkSource for Store {
    fn has_work<'a>(&'a self, free: &'a FreeDevice) -> BoxFuture<'a, SourceResult<bool>> {
        let free = free.clone();
        Box::pin(self.with(move |store| store.has_work(&free)))
    }

    fn claim<'a>(&'a self, free: &'a FreeDevice) -> BoxFuture<'a, SourceResult<Option<Lease>>> {
        let free = free.clone();
        let valid = self.is_shared().then(|| self.lease_time());
        Box::pin(self.with(move |store| store.claim_for(&free, valid, None)))
    }

    fn append<'a>(
        &'a self,
        lease: &'a Lease,
        after: usize,
        events: Vec<EventBody>,
    ) -> BoxFuture<'a, SourceResult<()>> {
        let lease = lease.clone();
        Box::pin(self.with(move |store| store.append_after(&lease, after, &events)))
    }

    fn mark_begun<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, SourceResult<()>> {
        let lease = lease.clone();
        Box::pin(self.with(move |store| store.mark_begun(&lease)))
    }

    fn requeue<'a>(&'a self, lease: &'a Lease, reason: String) -> BoxFuture<'a, SourceResult<()>> {
        let lease = lease.clone();
        Box::pin(self.with(move |store| store.requeue(&lease, &reason)))
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, SourceResult<()>> {
        let lease = lease.clone();
        let valid = self.is_shared().then(|| self.lease_time());
        Box::pin(self.with(move |store| store.renew(&lease, valid)))
    }

    fn leases_expire(&self) -> bool {
        self.is_shared()
    }

    fn watch_work(&self) -> watch::Receiver<u64> {
        Store::watch_work(self)
    }
}
