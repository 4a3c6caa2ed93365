//! The server: store, runner, scheduler and API. `serve` runs it until it is stopped, and `bench` for one job.

use crate::{
    api::{AccessConfig, AccessControl, App, router},
    jobs::{LocalRunner, RequestWorkers, Store, schedule},
    shutdown::shutdown,
    web::live_pages::LivePages,
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

/// Serves until `stopped` resolves. Jobs in progress are then queued again.
pub(crate) async fn run_server(
    listener: TcpListener,
    access: AccessConfig,
    store: Store,
    runner: LocalRunner,
    pages: LivePages,
    stopped: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let bound = listener.local_addr()?;
    let (stop, shutdown) = shutdown();
    let mut stopping = shutdown.clone();
    let scheduler = tokio::spawn({
        let (runner, store, shutdown) = (runner.clone(), store.clone(), shutdown.clone());
        async move {
            tokio::select! {
                runner = runner.found() => schedule(runner, store, shutdown).await,
                () = stopping.requested() => {}
            }
        }
    });
    let app = App {
        store,
        runner,
        compiler: Arc::new(RequestWorkers::compile()),
        judges: Arc::new(RequestWorkers::exercise()),
        pages,
        access: Arc::new(AccessControl::new(bound, access)),
        shutdown,
    };
    axum::serve(listener, router(app))
        .with_graceful_shutdown(async move {
            stopped.await;
            stop.now();
        })
        .await?;
    scheduler.await.map_err(io::Error::other)
}
