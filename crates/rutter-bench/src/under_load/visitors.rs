//! Users of the looking glass and clients of the REST interface, each with an address of its own.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, setpriority_process};
use rustix::thread::gettid;
use serde::Serialize;
use socket2::{Domain, Socket, Type};

use crate::daemons::control::{RELOAD, ask, configuration};
use crate::daemons::{LISTEN, free_port};
use crate::latency::{self, Latency};
use crate::rng::Rng;
use crate::workload::Workload;

use super::pause;

/// The answers of a daemon's web server.
#[derive(Clone, Debug, Serialize)]
pub struct Answers {
    /// The times from a request until its answer was read, without refused ones.
    pub times: Option<Latency>,
    /// Requests that the daemon refused for a second because of their number.
    pub refused: u64,
}

/// Users of the looking glass. Each requests what its page requests, in random order.
const USERS: u32 = 200;
/// Clients of the REST interface that read long pages of routes.
const API_CLIENTS: u32 = 10;
/// The wait after a refusal: the daemon asks for it with `Retry-After`.
const REFUSAL_PAUSE: Duration = Duration::from_secs(1);
/// An answer that takes longer ends the scene.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Adds `[web]` to the configuration, and lets all clients ask until `stop` is set.
pub(super) fn act(
    (folder, socket): (&Path, &Path),
    workload: &Workload,
    stop: &AtomicBool,
) -> io::Result<Answers> {
    let file = configuration(folder);
    let before = fs::read_to_string(&file)?;
    let address = SocketAddrV4::new(LISTEN, free_port()?);
    fs::write(&file, format!("{before}\n[web]\nlisten = \"{address}\"\n"))?;
    ask(socket, RELOAD)?;
    let answers = ask_all(address.into(), workload, stop)?;
    fs::write(&file, before)?;
    ask(socket, RELOAD)?;
    Ok(answers)
}

fn ask_all(address: SocketAddr, workload: &Workload, stop: &AtomicBool) -> io::Result<Answers> {
    let clients: io::Result<Vec<Client>> = thread::scope(|threads| {
        let all: io::Result<Vec<_>> = (0..USERS + API_CLIENTS)
            .map(|number| {
                let client = Client::new(number, address);
                let builder = thread::Builder::new().stack_size(STACK);
                builder.spawn_scoped(threads, move || client.run(workload, stop))
            })
            .collect();
        all?.into_iter()
            .map(|thread| {
                let panicked = |_| io::Error::other("a client of the web server panicked");
                thread.join().map_err(panicked)?
            })
            .collect()
    });
    let (mut times, mut refused) = (Vec::new(), 0);
    for client in clients? {
        times.extend(client.times);
        refused += client.refused;
    }
    Ok(Answers {
        times: latency::summary(times),
        refused,
    })
}

/// The stack of a client's thread.
const STACK: usize = 128 << 10;

/// One user or client.
struct Client {
    number: u32,
    server: SocketAddr,
    rng: Rng,
    times: Vec<Duration>,
    refused: u64,
}

impl Client {
    fn new(number: u32, server: SocketAddr) -> Self {
        Client {
            number,
            server,
            rng: Rng::new(u64::from(number)),
            times: Vec::new(),
            refused: 0,
        }
    }

    fn run(mut self, workload: &Workload, stop: &AtomicBool) -> io::Result<Client> {
        // Real visitors have machines of their own, so these yield to the daemon and to the load generator.
        let thread = Pid::from_raw(gettid().as_raw_pid());
        setpriority_process(thread, YIELD)?;
        while !stop.load(Ordering::Acquire) {
            let path = self.path(workload);
            let start = Instant::now();
            match self.get(&path)? {
                200 => self.times.push(start.elapsed()),
                429 | 503 => {
                    self.refused += 1;
                    pause(stop, REFUSAL_PAUSE);
                }
                status => {
                    let why = format!("GET {path}: the status is {status}");
                    return Err(io::Error::other(why));
                }
            }
        }
        Ok(self)
    }

    /// The next request.
    fn path(&mut self, workload: &Workload) -> String {
        let announcers = &workload.peers[..workload.announcers()];
        let peer = announcers[self.rng.below(announcers.len() as u64) as usize].address;
        let all = &workload.destinations;
        let prefix = all[self.rng.below(all.len() as u64) as usize];
        if self.number >= USERS {
            return match self.rng.below(3) {
                0 => format!("/api/v1/routes?peer={peer}&limit=1000"),
                1 => format!("/api/v1/advertised/{peer}?limit=1000"),
                _ => format!("/api/v1/lookup/{}", prefix.addr()),
            };
        }
        match self.rng.below(8) {
            0 => "/".to_owned(),
            1 => "/looking-glass.js".to_owned(),
            2 => "/api/v1/peers".to_owned(),
            3 => format!("/api/v1/route/{prefix}"),
            4 => format!("/api/v1/explain/{prefix}"),
            5 => format!("/api/v1/lookup/{}", prefix.addr()),
            6 => format!("/api/v1/rejected?peer={peer}&limit=100"),
            _ => format!("/api/v1/advertised/{peer}?limit=100"),
        }
    }

    /// Requests a path on a connection of its own, and reads the whole answer. Returns its status.
    fn get(&self, path: &str) -> io::Result<u16> {
        let mut stream = self.connect()?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.server
        )?;
        let mut buffer = [0; 16 << 10];
        let mut head = Vec::new();
        loop {
            let read = stream.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            let missing = STATUS_LINE.saturating_sub(head.len()).min(read);
            head.extend_from_slice(&buffer[..missing]);
        }
        let status = std::str::from_utf8(&head).ok();
        let status = status.and_then(|line| line.strip_prefix("HTTP/1.1 "));
        status
            .and_then(|code| code.parse().ok())
            .ok_or_else(|| io::Error::other(format!("GET {path}: the answer is not HTTP")))
    }

    /// Connects from an address that no other client has, because the daemon limits the requests of an address.
    fn connect(&self) -> io::Result<TcpStream> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        let [high, low] = (self.number as u16 + 1).to_be_bytes();
        let own = SocketAddrV4::new(Ipv4Addr::new(127, 2, high, low), 0);
        socket.bind(&SocketAddr::V4(own).into())?;
        socket.set_read_timeout(Some(LONGEST_WAIT))?;
        socket.connect(&self.server.into())?;
        Ok(socket.into())
    }
}

/// The bytes of `HTTP/1.1 200`.
const STATUS_LINE: usize = 12;
/// Added to the nice value of a client's thread.
const YIELD: i32 = 10;
