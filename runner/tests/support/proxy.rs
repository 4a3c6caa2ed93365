//! A network between a client and a server that can be cut: connections stay open, and nothing arrives.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// A TCP proxy. Its threads end with the test's process.
pub(crate) struct Proxy {
    url: String,
    network: Arc<Mutex<Network>>,
}

#[derive(Default)]
struct Network {
    is_cut: bool,
    /// The number of cuts. A connection that existed during one stays dead, because its bytes are lost.
    cuts: u32,
    /// Both sides of each connection.
    open: Vec<TcpStream>,
}

impl Proxy {
    /// Forwards connections to the server at this address.
    pub(crate) fn to(server: &str) -> Self {
        let target = server
            .strip_prefix("http://")
            .expect("an address")
            .to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("is bound").port();
        let network = Arc::new(Mutex::new(Network::default()));
        let shared = network.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A server that is away refuses; the client's connection then ends.
                if let Ok(server) = TcpStream::connect(&target) {
                    forward(&shared, &client, &server);
                }
            }
        });
        Proxy {
            url: format!("http://127.0.0.1:{port}"),
            network,
        }
    }

    /// The address for clients.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Drops all bytes in both directions from now on, without closing a connection.
    pub(crate) fn cut(&self) {
        let mut network = self.network.lock().expect("is consistent");
        network.is_cut = true;
        network.cuts += 1;
    }

    /// Forwards the bytes of new connections. Those of connections that existed during the cut are still dropped.
    pub(crate) fn heal(&self) {
        self.network.lock().expect("is consistent").is_cut = false;
    }

    /// The same, and closes the other connections.
    pub(crate) fn heal_and_reset(&self) {
        let mut network = self.network.lock().expect("is consistent");
        network.is_cut = false;
        for side in network.open.drain(..) {
            // May be closed already.
            let _ = side.shutdown(Shutdown::Both);
        }
    }
}

/// Copies the bytes of a connection in both directions.
fn forward(network: &Arc<Mutex<Network>>, client: &TcpStream, server: &TcpStream) {
    let copy = |stream: &TcpStream| stream.try_clone().expect("a descriptor is free");
    let mut state = network.lock().expect("is consistent");
    state.open.extend([copy(client), copy(server)]);
    // A connection that begins during a cut belongs to it.
    let cuts_before = match state.is_cut {
        true => state.cuts - 1,
        false => state.cuts,
    };
    for (mut from, mut to) in [(copy(client), copy(server)), (copy(server), copy(client))] {
        let network = network.clone();
        thread::spawn(move || {
            let mut bytes = [0; 16 * 1024];
            while let Ok(length @ 1..) = from.read(&mut bytes) {
                let is_dead = network.lock().expect("is consistent").cuts > cuts_before;
                if !is_dead && to.write_all(&bytes[..length]).is_err() {
                    break;
                }
            }
            let is_dead = network.lock().expect("is consistent").cuts > cuts_before;
            if !is_dead {
                let _ = to.shutdown(Shutdown::Write);
            }
        });
    }
}
