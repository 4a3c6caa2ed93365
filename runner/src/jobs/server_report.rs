//! Records what this server can run itself, for the other servers that share its database.

use super::{host_facts::server_name, runner::Runner, store::Store};
use crate::shutdown::Shutdown;
use std::{sync::Arc, time::Duration};
use tokio::time::sleep;

/// Interval at which servers and hosts report what they can run. They are listed for a minute after each report.
pub(crate) const REPORT_INTERVAL: Duration = Duration::from_secs(15);

/// Reports until the server stops. Does nothing for a database of this server only, and where no job can run.
pub(crate) async fn report_server(runner: Arc<Runner>, store: Store, mut shutdown: Shutdown) {
    if !store.is_shared() || runner.refusal().is_some() {
        return;
    }
    let name = server_name();
    loop {
        let (report, own) = (runner.report(), name.clone());
        if let Err(error) = store
            .with(move |store| store.server_seen(&own, &report))
            .await
        {
            tracing::warn!("cannot report to the other servers: {error}");
        }
        tokio::select! {
            () = sleep(REPORT_INTERVAL) => {}
            () = shutdown.requested() => break,
        }
    }
    // Otherwise it is listed for a minute.
    if let Err(error) = store.with(move |store| store.server_left(&name)).await {
        tracing::warn!("the other servers list this one for a minute: {error}");
    }
}
