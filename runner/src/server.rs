//! Store, runner, scheduler and API put together: what `serve` runs until it is told to stop, and `bench` for one job.

use crate::{
    api::{Access, App, Guard, router},
    jobs::{LocalRunner, Store, schedule},
    shutdown::shutdown,
    web::pages::Pages,
};
use std::{io, net::SocketAddr, sync::Arc};
use tokio::net::TcpListener;

/// A listener on an address, and the address that it got.
pub(crate) async fn listen(bind: SocketAddr) -> Result<(TcpListener, SocketAddr), String> {
    let cannot = |error: io::Error| {
        format!("cannot listen on {bind}: {error}; choose another address with --bind")
    };
    let listener = TcpListener::bind(bind).await.map_err(cannot)?;
    let bound = listener.local_addr().map_err(cannot)?;
    Ok((listener, bound))
}

/// Serves until `told` is over; then jobs in progress wait again.
pub(crate) async fn run_server(
    listener: TcpListener,
    access: Access,
    store: Store,
    runner: LocalRunner,
    pages: Pages,
    told: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let bound = listener.local_addr()?;
    let (stop, shutdown) = shutdown();
    let mut stopped = shutdown.clone();
    let scheduler = tokio::spawn({
        let (runner, store, shutdown) = (runner.clone(), store.clone(), shutdown.clone());
        async move {
            tokio::select! {
                runner = runner.found() => schedule(runner, store, shutdown).await,
                () = stopped.requested() => {}
            }
        }
    });
    let app = App {
        store,
        runner,
        compiler: Arc::default(),
        pages: Arc::new(pages),
        guard: Arc::new(Guard::new(bound, access)),
        shutdown,
    };
    axum::serve(listener, router(app))
        .with_graceful_shutdown(async move {
            told.await;
            stop.now();
        })
        .await?;
    scheduler.await.map_err(io::Error::other)
}
