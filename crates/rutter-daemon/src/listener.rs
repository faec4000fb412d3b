//! The listening sockets, and the thread that accepts connections and passes each to the thread of its neighbor.

use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token, Waker};
use rutter_config::{AoKey, Config};
use rutter_net::Asn;
use rutter_server::LogRateLimit;

use crate::mailbox::Command;
use crate::neighbor_settings::NeighborSettings;
use crate::peer_table::SectionIsFull;
use crate::shared::Shared;
use crate::sockopt::KeyScope;
use crate::transport;

/// The listening sockets, with the keys of the neighbors.
pub(crate) struct Listeners {
    sockets: Vec<TcpListener>,
}

impl Listeners {
    /// Binds all addresses, or none.
    pub(crate) fn bind(addresses: &[SocketAddr]) -> io::Result<Self> {
        let sockets = addresses.iter().map(|address| bind(*address));
        let sockets = sockets.collect::<io::Result<_>>()?;
        Ok(Listeners { sockets })
    }

    /// Takes the sockets of another process for these addresses, and binds those that it does not have.
    pub(crate) fn inherit(addresses: &[SocketAddr], sockets: Vec<TcpListener>) -> io::Result<Self> {
        let sockets = rutter_server::inherit(addresses, sockets, bind)?;
        Ok(Listeners { sockets })
    }

    /// The sockets, for another process.
    pub(crate) fn sockets(&self) -> &[TcpListener] {
        &self.sockets
    }

    /// The addresses of the sockets, with the ports that the kernel chose.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        let addresses = self.sockets.iter().filter_map(|s| s.local_addr().ok());
        addresses.collect()
    }

    /// Sets the keys of a configuration and removes those of the old one.
    pub(crate) fn set_keys(&self, old: Option<&Config>, new: &Config) {
        // The kernel refuses a key of one kind while there is one of the other kind for the same peer.
        let (held, wanted) = (old.map(ao_keys).unwrap_or_default(), ao_keys(new));
        for (scope, key) in held.iter().filter(|one| !wanted.contains(one)) {
            self.for_each_socket(*scope, |socket| {
                transport::remove_listener_ao_key(socket, *scope, key)
            });
        }
        self.set_md5_keys(old, new);
        for (scope, key) in wanted.iter().filter(|one| !held.contains(one)) {
            self.for_each_socket(*scope, |socket| {
                transport::add_listener_ao_key(socket, *scope, key)
            });
        }
    }

    fn set_md5_keys(&self, old: Option<&Config>, new: &Config) {
        let wanted = keys(new);
        let in_new: HashSet<KeyScope> = wanted.iter().map(|(scope, _)| *scope).collect();
        for (scope, _) in old.map(keys).unwrap_or_default() {
            if !in_new.contains(&scope) {
                self.set_key(scope, None);
            }
        }
        for (scope, key) in wanted {
            self.set_key(scope, Some(key));
        }
    }

    fn set_key(&self, scope: KeyScope, key: Option<&[u8]>) {
        self.for_each_socket(scope, |socket| {
            transport::set_listener_key(socket, scope, key)
        });
    }

    fn for_each_socket(&self, scope: KeyScope, change: impl Fn(&TcpListener) -> io::Result<()>) {
        for socket in &self.sockets {
            if let Err(error) = change(socket) {
                tracing::error!(peer = %scope.address, %error, "cannot change the keys of the listening socket");
            }
        }
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let listening = transport::listen(address);
    listening.map_err(|e| io::Error::new(e.kind(), format!("cannot listen on {address}: {e}")))
}

/// The TCP-AO keys of all neighbors.
fn ao_keys(config: &Config) -> Vec<(KeyScope, &AoKey)> {
    let of_neighbors = config.neighbors.iter().flat_map(|n| {
        let scope = KeyScope {
            address: n.address,
            prefix_len: None,
        };
        n.session.tcp_ao.iter().map(move |key| (scope, key))
    });
    let of_prefixes = config.dynamic_neighbors.iter().flat_map(|d| {
        let scope = KeyScope {
            address: d.prefix.addr(),
            prefix_len: Some(d.prefix.len()),
        };
        let keys = d.template.session.tcp_ao.iter();
        keys.map(move |key| (scope, key))
    });
    of_neighbors.chain(of_prefixes).collect()
}

/// The TCP MD5 keys of all neighbors.
fn keys(config: &Config) -> Vec<(KeyScope, &[u8])> {
    let of_neighbors = config.neighbors.iter().filter_map(|n| {
        let scope = KeyScope {
            address: n.address,
            prefix_len: None,
        };
        Some((scope, n.session.password.as_ref()?.reveal()))
    });
    let of_prefixes = config.dynamic_neighbors.iter().filter_map(|d| {
        let scope = KeyScope {
            address: d.prefix.addr(),
            prefix_len: Some(d.prefix.len()),
        };
        Some((scope, d.template.session.password.as_ref()?.reveal()))
    });
    of_neighbors.chain(of_prefixes).collect()
}

/// The thread that accepts connections. It ends when [`Shared::stopping`] is set and the waker is used.
pub(crate) struct Acceptor {
    poll: Poll,
    sockets: Vec<mio::net::TcpListener>,
    shared: Arc<Shared>,
    refusal_lines: LogRateLimit,
    error_lines: LogRateLimit,
}

const WAKE: Token = Token(usize::MAX);
/// The pause after an error such as "too many open files".
const RETRY: Duration = Duration::from_millis(200);

impl Acceptor {
    pub(crate) fn new(shared: Arc<Shared>) -> io::Result<(Self, Waker)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let mut sockets = Vec::new();
        for (index, socket) in shared.listeners.sockets.iter().enumerate() {
            let mut socket = mio::net::TcpListener::from_std(socket.try_clone()?);
            poll.registry()
                .register(&mut socket, Token(index), Interest::READABLE)?;
            sockets.push(socket);
        }
        let acceptor = Acceptor {
            poll,
            sockets,
            shared,
            refusal_lines: LogRateLimit::new(10, Duration::from_secs(60)),
            error_lines: LogRateLimit::new(10, Duration::from_secs(60)),
        };
        Ok((acceptor, waker))
    }

    /// Accepts until the daemon stops.
    pub(crate) fn run(mut self) {
        let mut events = Events::with_capacity(16);
        let mut timeout = None;
        while !self.shared.stopping.load(Ordering::Acquire) {
            match self.poll.poll(&mut events, timeout) {
                Ok(()) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    tracing::error!(%error, "the accepting thread ends");
                    return;
                }
            }
            // Events are edge-triggered: after an error, connections may still wait on every socket.
            let drained = (0..self.sockets.len()).all(|index| self.accept_all(index));
            timeout = (!drained).then_some(RETRY);
        }
    }

    /// Accepts the waiting connections. Returns `false` if an error left some of them.
    fn accept_all(&mut self, index: usize) -> bool {
        loop {
            match self.sockets[index].accept() {
                Ok((stream, remote)) => {
                    self.hand_over(stream.into(), transport::canonical(remote.ip()))
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return true,
                Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    if let Some(not_logged) = self.error_lines.allow(Instant::now()) {
                        tracing::error!(%error, not_logged, "cannot accept connections");
                    }
                    return false;
                }
            }
        }
    }

    pub(crate) fn hand_over(&mut self, stream: TcpStream, remote: IpAddr) {
        if self.shared.peers.find(remote).is_none() && !self.admit_or_log(remote) {
            return;
        }
        let command = Command::Accepted { remote, stream };
        if let Err(reason) = self.shared.post_to_peer(remote, command)
            && let Some(not_logged) = self.error_lines.allow(Instant::now())
        {
            tracing::warn!(peer = %remote, %reason, not_logged, "connection dropped");
        }
    }

    /// As [`Acceptor::admit`]. Returns whether the address has a neighbor now.
    fn admit_or_log(&mut self, remote: IpAddr) -> bool {
        let admitted = self.admit(remote);
        let is_admitted = admitted.is_ok();
        if matches!(admitted, Ok(None)) {
            return true;
        }
        let Some(not_logged) = self.refusal_lines.allow(Instant::now()) else {
            return is_admitted;
        };
        match admitted {
            Err(reason) => {
                tracing::warn!(peer = %remote, %reason, not_logged, "connection refused");
            }
            Ok(gave_way) => {
                let gave_way = gave_way.map(tracing::field::display);
                tracing::info!(
                    peer = gave_way, new = %remote, not_logged,
                    "an idle dynamic neighbor gave way to another: its section is at its limit"
                );
            }
        }
        is_admitted
    }

    /// Adds a neighbor for an address that a `[[dynamic-neighbor]]` section covers. Returns the one that gave way to it.
    fn admit(&self, remote: IpAddr) -> Result<Option<IpAddr>, Refusal> {
        // A reload that begins now finds the neighbor: it waits for this lock first.
        let config = self.shared.config.read();
        let sections = &config.dynamic_neighbors;
        let section = sections.iter().find(|d| d.admits(remote));
        let section = section.ok_or(Refusal::NotConfigured)?;
        let settings = NeighborSettings::dynamic(&config, section, remote, Asn(0));
        let admitted = self.shared.admit_peer(settings, section);
        admitted.map_err(|SectionIsFull| Refusal::Limit(section.limit))
    }
}

/// The reason why an unknown address is refused.
enum Refusal {
    NotConfigured,
    Limit(u32),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::NotConfigured => f.write_str("no such neighbor is configured"),
            Refusal::Limit(n) => write!(
                f,
                "the dynamic-neighbor section has reached its limit of {n} sessions"
            ),
        }
    }
}
