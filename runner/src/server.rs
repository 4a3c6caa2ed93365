//! The server: store, runner, scheduler and API. `serve` runs it until it is stopped, and `bench` for one job.

use crate::{
    api::{AccessConfig, AccessControl, App, HandOver, Streams, router},
    connections::{self, ClientLimits},
    jobs::{
        LocalRunner, RequestWorkers, Retention, Store, apply_retention, expire_leases,
        report_server, schedule,
    },
    shutdown::{Shutdown, shutdown},
    web::live_pages::LivePages,
    webhook::{Webhooks, deliver},
};
use std::{io, net::SocketAddr, sync::Arc};
use tokio::net::TcpListener;

/// Listens on an address. Returns the listener and the bound address.
pub(crate) async fn listen(bind: SocketAddr) -> Result<(TcpListener, SocketAddr), String> {
    let cannot = |error: io::Error| {
        format!("cannot listen on {bind}: {error}; choose another address with --bind")
    };
    let listener = TcpListener::bind(bind).await.map_err(cannot)?;
    let bound = listener.local_addr().map_err(cannot)?;
    Ok((listener, bound))
}

/// The parts of a server.
pub(crate) struct Server {
    /// Who may send requests, and who may run code.
    pub(crate) access: AccessConfig,
    /// Jobs and their logs.
    pub(crate) store: Store,
    /// The runner.
    pub(crate) runner: LocalRunner,
    /// The site.
    pub(crate) pages: LivePages,
    /// How long jobs are stored.
    pub(crate) retention: Retention,
    /// What clients may occupy.
    pub(crate) limits: ClientLimits,
    /// Whether each response is logged.
    pub(crate) log_requests: bool,
    /// Sends the store's deliveries, if it has addresses for them.
    pub(crate) webhooks: Option<Webhooks>,
}

impl Server {
    /// Serves until `stopped` resolves. Jobs in progress are then queued again.
    pub(crate) async fn run(
        self,
        listener: TcpListener,
        stopped: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let bound = listener.local_addr()?;
        let (stop, shutdown) = shutdown();
        let limits = self.limits.fit_descriptors();
        let scheduler = tokio::spawn(run_jobs(
            self.runner.clone(),
            self.store.clone(),
            shutdown.clone(),
        ));
        tokio::spawn(apply_retention(
            self.store.clone(),
            self.retention,
            shutdown.clone(),
        ));
        if let Some(webhooks) = self.webhooks {
            deliver(&self.store, &webhooks, &shutdown);
        }
        tokio::spawn(verify(self.store.clone()));
        tokio::spawn(expire_leases(self.store.clone(), shutdown.clone()));
        let app = App {
            access: Arc::new(AccessControl::new(bound, self.access, self.store.clone())),
            store: self.store,
            runner: self.runner,
            compiler: Arc::new(RequestWorkers::compile()),
            judges: Arc::new(RequestWorkers::exercise()),
            emulators: Arc::new(RequestWorkers::emulate()),
            pages: self.pages,
            streams: Streams::new(limits.streams()),
            hand_over: HandOver::default(),
            body_timeout: limits.request_timeout,
            log_requests: self.log_requests,
            requests: Arc::default(),
            shutdown: shutdown.clone(),
        };
        connections::serve(listener, router(app), limits, stop, shutdown, stopped).await;
        scheduler.await.map_err(io::Error::other)
    }
}

/// Runs jobs as soon as the runner is found, until the server stops.
async fn run_jobs(runner: LocalRunner, store: Store, shutdown: Shutdown) {
    let mut stopping = shutdown.clone();
    tokio::select! {
        runner = runner.found() => {
            let reports = tokio::spawn(report_server(runner.clone(), store.clone(), shutdown.clone()));
            schedule(runner, store, shutdown).await;
            // Fails only if the task has panicked, which is reported.
            let _ = reports.await;
        }
        () = stopping.requested() => {}
    }
}

/// Reads the whole database once and reports damage. The server accepts no jobs after that.
async fn verify(store: Store) {
    if let Err(error) = store.with(Store::verify).await {
        tracing::error!("{error}");
    }
}
