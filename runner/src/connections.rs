//! Accepts connections, and limits what clients can occupy: the number of connections, the time to send a request, and the
//! time without progress of a response.

use axum::Router;
use hyper::{
    Request,
    body::Incoming,
    server::conn::http1,
    service::{Service, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::SockRef;
use std::{io, pin::pin, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{sleep, timeout},
};

use crate::{
    api::Peer,
    shutdown::{Shutdown, Stop},
};

/// Descriptors for the database, workers and files.
const OTHER_DESCRIPTORS: u64 = 512;
/// A connection is closed after this time in which the client acknowledged nothing that was sent. Event streams send something every
/// 10 seconds.
const UNACKNOWLEDGED: Duration = Duration::from_secs(60);
/// Connections above the limit that get a response at the same time. Others are closed without one.
const REFUSALS: usize = 32;
/// Delay after connections cannot be accepted, because the process has no more descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(500);

/// The limits of a server's clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientLimits {
    /// Maximum number of open connections.
    pub(crate) connections: usize,
    /// Time within which a client must send its request: the head, and then the body. Also the time for which an idle connection
    /// stays open.
    pub(crate) request_timeout: Duration,
}

impl Default for ClientLimits {
    fn default() -> Self {
        ClientLimits {
            connections: 4096,
            request_timeout: Duration::from_secs(30),
        }
    }
}

impl ClientLimits {
    /// Raises the descriptor limit of this process as far as permitted, and lowers the number of connections to what it allows.
    pub(crate) fn fit_descriptors(mut self) -> Self {
        let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
            return self;
        };
        let wanted = (self.connections as u64).saturating_add(OTHER_DESCRIPTORS);
        let reached = wanted.clamp(soft, hard.max(soft));
        let available = match setrlimit(Resource::RLIMIT_NOFILE, reached, hard) {
            Ok(()) => reached,
            Err(_) => soft,
        };
        let fitting = usize::try_from(available.saturating_sub(OTHER_DESCRIPTORS));
        self.connections = self.connections.min(fitting.unwrap_or(usize::MAX)).max(16);
        self
    }

    /// Maximum number of event streams. The other connections are for requests that end.
    pub(crate) fn streams(self) -> usize {
        (self.connections / 4 * 3).max(1)
    }
}

/// Serves until `stopped` resolves, then sets `stop` and waits for open requests.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ClientLimits,
    stop: Stop,
    shutdown: Shutdown,
    stopped: impl Future<Output = ()>,
) {
    let slots = Arc::new(Semaphore::new(limits.connections));
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.request_timeout);
    let mut stopped = pin!(stopped);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stopped => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if !is_of_one_connection(&error) {
                    tracing::error!("cannot accept connections: {error}");
                    sleep(ACCEPT_RETRY).await;
                }
                continue;
            }
        };
        let Ok(slot) = slots.clone().try_acquire_owned() else {
            if let Ok(refusal) = refusals.clone().try_acquire_owned() {
                tokio::spawn(async move {
                    // The client may close the connection before it reads the response.
                    let _ = timeout(Duration::from_secs(2), refuse(stream)).await;
                    drop(refusal);
                });
            }
            continue;
        };
        // Events are small, and each is sent at once. A socket without these options works too.
        let _ = stream.set_nodelay(true);
        let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(UNACKNOWLEDGED));
        let routes = TowerToHyperService::new(router.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer.ip()));
            routes.call(request)
        });
        let connection = http.serve_connection(TokioIo::new(stream), service);
        let mut shutdown = shutdown.clone();
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            // An error is a client that has closed the connection or was too slow.
            let is_over = tokio::select! {
                _ = connection.as_mut() => true,
                () = shutdown.requested() => false,
            };
            if !is_over {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
            drop(slot);
        });
    }
    drop(listener);
    stop.now();
    let all = u32::try_from(limits.connections).unwrap_or(u32::MAX);
    // Each open connection has one; the semaphore is never closed.
    let _ = slots.acquire_many(all).await;
}

/// Whether an error of `accept` is about the connection that would have been accepted.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
    )
}

/// Answers a connection above the limit.
async fn refuse(mut stream: TcpStream) -> io::Result<()> {
    const BODY: &str = r#"{"type":"about:blank","title":"Too many connections","status":429,"code":"too-many-connections","detail":"This server has as many open connections as it allows.","help":"Try again in 10 seconds."}"#;
    let response = format!(
        "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/problem+json\r\nretry-after: 10\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    stream.write_all(response.as_bytes()).await?;
    stream.shutdown().await?;
    // Unread data would reset the connection before the client has read the response.
    let mut sent = [0; 4096];
    while stream.read(&mut sent).await? > 0 {}
    Ok(())
}
