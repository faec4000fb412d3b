//! The baseline: a program that only writes the bytes that the clients must receive, to the same number of sockets.
//!
//! It runs as its own process (`rutter bench baseline-writer`), so that its processor time is separate from the
//! reader's.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};
use serde::Serialize;

use crate::process;
use crate::workload::Workload;

/// The cost of the baseline.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Baseline {
    /// Sockets written to.
    pub sockets: usize,
    /// Bytes written to all of them.
    pub octets: u64,
    /// Processor seconds of the writer.
    pub cpu_s: f64,
    /// Seconds from the first to the last byte.
    pub wall_s: f64,
}

/// Measures the baseline of a workload: each client receives the bytes of every peer but its own. This process reads
/// them.
pub fn measure(workload: &Workload) -> io::Result<Baseline> {
    process::want_files(workload.peers.len() + 200)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut child = spawn_writer(listener.local_addr()?, workload)?;
    let result = sink(&listener, workload.peers.len(), &mut child);
    if result.is_err() {
        // It has already ended, or cannot be killed.
        let _ = child.kill();
    }
    let _ = child.wait();
    result
}

fn spawn_writer(target: SocketAddr, workload: &Workload) -> io::Result<Child> {
    let mut child = Command::new(std::env::current_exe()?)
        .args([
            "bench",
            "baseline-writer",
            &target.to_string(),
            &workload.peers.len().to_string(),
        ])
        .env(WRITER, "1")
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        for peer in &workload.peers {
            stdin.write_all(&(peer.stream.len() as u64).to_be_bytes())?;
            stdin.write_all(&peer.stream)?;
        }
    }
    Ok(child)
}

/// Set in the environment of the writer.
pub const WRITER: &str = "RUTTER_BASELINE_WRITER";

fn sink(listener: &TcpListener, count: usize, child: &mut Child) -> io::Result<Baseline> {
    let mut poll = Poll::new()?;
    let mut sockets = Vec::with_capacity(count);
    for number in 0..count {
        let (socket, _) = listener.accept()?;
        socket.set_nonblocking(true)?;
        let mut socket = mio::net::TcpStream::from_std(socket);
        poll.registry()
            .register(&mut socket, Token(number), Interest::READABLE)?;
        sockets.push(socket);
    }
    let before = process::usage_of_tree(child.id()).cpu;
    let begun = Instant::now();
    // The writer waits for these bytes: all sockets are connected and the clock runs.
    sockets
        .first_mut()
        .ok_or_else(|| io::Error::other("no sockets"))?
        .write_all(b"go")?;
    let octets = drain(&mut poll, &mut sockets)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let cpu = process::usage_of_tree(child.id())
        .cpu
        .saturating_sub(before);
    // The writer may end now.
    drop(sockets);
    Ok(Baseline {
        sockets: count,
        octets,
        cpu_s: cpu.as_secs_f64(),
        wall_s,
    })
}

fn drain(poll: &mut Poll, sockets: &mut [mio::net::TcpStream]) -> io::Result<u64> {
    let mut events = Events::with_capacity(1024);
    let mut buffer = vec![0; 256 * 1024];
    let (mut octets, mut open) = (0, sockets.len());
    while open > 0 {
        poll.poll(&mut events, Some(Duration::from_secs(60)))?;
        if events.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the writer stalled",
            ));
        }
        for event in &events {
            let socket = &mut sockets[event.token().0];
            loop {
                match socket.read(&mut buffer) {
                    Ok(0) => {
                        open -= 1;
                        poll.registry().deregister(socket)?;
                        break;
                    }
                    Ok(read) => octets += read as u64,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    Ok(octets)
}

/// The writer, in one thread: reads the streams from standard input, connects, waits for the start signal and writes
/// with `writev`.
pub fn write(target: SocketAddr, count: usize) -> io::Result<()> {
    process::want_files(count + 100)?;
    let streams = read_streams(count)?;
    let mut first = TcpStream::connect(target)?;
    let mut sockets = Vec::with_capacity(count);
    let first_clone = first.try_clone()?;
    sockets.push(Outgoing::new(first_clone, 0, &streams)?);
    for number in 1..count {
        sockets.push(Outgoing::new(
            TcpStream::connect(target)?,
            number,
            &streams,
        )?);
    }
    let mut word = [0; 2];
    first.set_nonblocking(false)?;
    first.read_exact(&mut word)?;
    first.set_nonblocking(true)?;
    let mut poll = Poll::new()?;
    for (number, socket) in sockets.iter_mut().enumerate() {
        poll.registry()
            .register(&mut socket.socket, Token(number), Interest::WRITABLE)?;
    }
    let mut events = Events::with_capacity(1024);
    let mut open = sockets.len();
    while open > 0 {
        poll.poll(&mut events, None)?;
        for event in &events {
            let socket = &mut sockets[event.token().0];
            if !socket.done && socket.write(&streams)? {
                socket.socket.shutdown(std::net::Shutdown::Write)?;
                open -= 1;
            }
        }
    }
    // Wait until the reader has read our processor time.
    let mut rest = [0; 1];
    first.set_nonblocking(false)?;
    let _ = first.as_fd();
    let _ = first.read(&mut rest);
    Ok(())
}

fn read_streams(count: usize) -> io::Result<Vec<Vec<u8>>> {
    let mut stdin = io::stdin().lock();
    (0..count)
        .map(|_| {
            let mut length = [0; 8];
            stdin.read_exact(&mut length)?;
            let mut stream = vec![0; u64::from_be_bytes(length) as usize];
            stdin.read_exact(&mut stream)?;
            Ok(stream)
        })
        .collect()
}

/// One socket, and its position in the streams of the other peers.
struct Outgoing {
    socket: mio::net::TcpStream,
    own: usize,
    stream: usize,
    offset: usize,
    done: bool,
}

impl Outgoing {
    fn new(socket: TcpStream, own: usize, streams: &[Vec<u8>]) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        let mut outgoing = Outgoing {
            socket: mio::net::TcpStream::from_std(socket),
            own,
            stream: 0,
            offset: 0,
            done: false,
        };
        outgoing.skip(streams);
        Ok(outgoing)
    }

    /// Moves to the next stream that is not finished and not the client's own.
    fn skip(&mut self, streams: &[Vec<u8>]) {
        while self.stream < streams.len()
            && (self.stream == self.own || self.offset >= streams[self.stream].len())
        {
            self.stream += 1;
            self.offset = 0;
        }
    }

    /// Writes until the socket is full (`false`) or everything is written (`true`).
    fn write(&mut self, streams: &[Vec<u8>]) -> io::Result<bool> {
        while self.stream < streams.len() {
            let parts: Vec<IoSlice<'_>> = std::iter::once(&streams[self.stream][self.offset..])
                .chain(
                    (self.stream + 1..streams.len())
                        .filter(|&s| s != self.own)
                        .map(|s| &streams[s][..]),
                )
                .take(64)
                .map(IoSlice::new)
                .collect();
            match self.socket.write_vectored(&parts) {
                Ok(written) => self.advance(written, streams),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.done = true;
        Ok(true)
    }

    fn advance(&mut self, mut written: usize, streams: &[Vec<u8>]) {
        while written > 0 {
            let step = written.min(streams[self.stream].len() - self.offset);
            self.offset += step;
            written -= step;
            self.skip(streams);
        }
    }
}
