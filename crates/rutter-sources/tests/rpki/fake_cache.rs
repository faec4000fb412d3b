//! An RTR cache on loopback that follows a script.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use rutter_sources::rtr::{Frame, Pdu, RtrErrorCode, RtrIntervals, VrpRecord};

/// The behaviour of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// It answers in the highest common version.
    Normal,
    /// It refuses higher versions than its own with an Error Report, instead of answering in its own.
    Refuse,
    /// It closes the connection when a query has a higher version than its own.
    CloseHigher,
    /// It never answers.
    Stall,
    /// It stops in the middle of an answer.
    StallMidway,
    /// Its answers have a PDU whose length lies.
    WrongLength,
    /// It closes the connection in the middle of a PDU.
    Truncate,
    /// It answers with Internal Error.
    Fail,
}

/// The data and behaviour of a cache.
pub struct Script {
    pub mode: Mode,
    pub version: u8,
    pub session: u16,
    pub serial: u32,
    pub vrps: BTreeSet<VrpRecord>,
    pub aspas: BTreeMap<u32, Vec<u32>>,
    pub intervals: RtrIntervals,
    /// The VRPs of each former serial number of this session.
    history: BTreeMap<u32, BTreeSet<VrpRecord>>,
    /// The queries so far, in words.
    pub queries: Vec<String>,
    streams: Vec<(TcpStream, u8)>,
}

/// A running cache. Dropping it stops it.
pub struct FakeCache {
    pub address: SocketAddr,
    script: Arc<Mutex<Script>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl FakeCache {
    pub fn start(version: u8) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let script = Script {
            mode: Mode::Normal,
            version,
            session: 7,
            serial: 1,
            vrps: BTreeSet::new(),
            aspas: BTreeMap::new(),
            intervals: RtrIntervals::default(),
            history: BTreeMap::new(),
            queries: Vec::new(),
            streams: Vec::new(),
        };
        let mut cache = FakeCache {
            address: listener.local_addr().expect("an address"),
            script: Arc::new(Mutex::new(script)),
            stop: Arc::default(),
            thread: None,
        };
        cache.listen(listener);
        cache
    }

    pub fn name(&self) -> String {
        self.address.to_string()
    }

    pub fn script(&self) -> MutexGuard<'_, Script> {
        self.script
            .lock()
            .expect("no test has panicked with the script")
    }

    /// Changes the VRPs, and the serial number with them.
    pub fn change(&self, edit: impl FnOnce(&mut BTreeSet<VrpRecord>)) {
        let mut script = self.script();
        let old = script.vrps.clone();
        let serial = script.serial;
        script.history.insert(serial, old);
        script.serial += 1;
        edit(&mut script.vrps);
    }

    /// Sends a Serial Notify on each connection.
    pub fn notify(&self) {
        let script = self.script();
        let pdu = Pdu::SerialNotify {
            session: script.session,
            serial: script.serial,
        };
        for (stream, version) in &script.streams {
            let mut bytes = Vec::new();
            pdu.write(*version, &mut bytes);
            let mut stream = stream;
            let _ = stream.write_all(&bytes);
        }
    }

    /// Closes the listener and all connections.
    pub fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for (stream, _) in self.script().streams.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the cache works");
        }
    }

    /// Starts again on the same port, as another process: with another session, and without history.
    pub fn restart(&mut self) {
        self.stop();
        {
            let mut script = self.script();
            script.session += 1;
            script.serial = 1;
            script.history.clear();
            script.queries.clear();
        }
        self.stop = Arc::default();
        let listener = TcpListener::bind(self.address).expect("the port is still free");
        self.listen(listener);
    }

    fn listen(&mut self, listener: TcpListener) {
        let (script, stop) = (self.script.clone(), self.stop.clone());
        listener.set_nonblocking(true).expect("a socket");
        self.thread = Some(std::thread::spawn(move || {
            let mut threads = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => {
                        let (script, stop) = (script.clone(), stop.clone());
                        threads.push(std::thread::spawn(move || serve(&script, stream, &stop)));
                    }
                    Err(_) => std::thread::sleep(Duration::from_millis(5)),
                }
            }
            threads
                .into_iter()
                .for_each(|thread| thread.join().expect("it works"));
        }));
    }
}

impl Drop for FakeCache {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve(script: &Mutex<Script>, mut stream: TcpStream, stop: &AtomicBool) {
    let copy = stream.try_clone().expect("a socket");
    stream.set_nonblocking(false).expect("a socket");
    stream
        .set_read_timeout(Some(Duration::from_millis(20)))
        .expect("a socket");
    let mut input = Vec::new();
    let mut is_known = false;
    while !stop.load(Ordering::Relaxed) {
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk) {
            Ok(0) => return,
            Ok(len) => input.extend_from_slice(&chunk[..len]),
            Err(why) if why.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
        while let Some(frame) = Frame::next(&input).expect("a router sends valid PDUs") {
            let len = frame.wire.len();
            let pdu = frame.decode().expect("a router sends valid PDUs");
            let mut script = script.lock().expect("a script");
            let (answer, is_open) = script.answer(frame.version, &pdu);
            if !is_known {
                let version = frame.version.min(script.version);
                script
                    .streams
                    .push((copy.try_clone().expect("a socket"), version));
                is_known = true;
            }
            drop(script);
            if stream.write_all(&answer).is_err() || !is_open {
                // The script has a copy of the socket.
                let _ = stream.shutdown(Shutdown::Both);
                return;
            }
            input.drain(..len);
        }
    }
}

impl Script {
    /// The answer to a PDU, and whether the connection stays open.
    fn answer(&mut self, asked: u8, pdu: &Pdu<'_>) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        let version = asked.min(self.version);
        let error = |code, text: &'static [u8]| Pdu::ErrorReport {
            code,
            erroneous: &[],
            text,
        };
        if let Pdu::ErrorReport { code, .. } = pdu {
            self.queries.push(format!("v{asked} error {}", code.0));
            return (out, false);
        }
        let since = match pdu {
            Pdu::SerialQuery { session, serial } => {
                self.queries.push(format!("v{asked} serial query"));
                Some(*serial).filter(|_| *session == self.session)
            }
            Pdu::ResetQuery => {
                self.queries.push(format!("v{asked} reset query"));
                None
            }
            other => panic!("a router does not send {other:?}"),
        };
        match self.mode {
            Mode::Stall => return (out, true),
            Mode::Refuse if asked > self.version => {
                error(RtrErrorCode::UNSUPPORTED_VERSION, b"").write(self.version, &mut out);
                return (out, false);
            }
            Mode::CloseHigher if asked > self.version => return (out, false),
            Mode::Fail => {
                error(RtrErrorCode::INTERNAL_ERROR, b"out of memory").write(version, &mut out);
                return (out, false);
            }
            _ => {}
        }
        let known = since.and_then(|serial| match self.history.get(&serial) {
            Some(old) => Some(old.clone()),
            None => (serial == self.serial).then(|| self.vrps.clone()),
        });
        if matches!(pdu, Pdu::SerialQuery { .. }) && known.is_none() {
            Pdu::CacheReset.write(version, &mut out);
            return (out, true);
        }
        let is_full = known.is_none();
        let known = known.unwrap_or_default();
        Pdu::CacheResponse {
            session: self.session,
        }
        .write(version, &mut out);
        for vrp in self.vrps.difference(&known) {
            Pdu::Vrp {
                announce: true,
                vrp: *vrp,
            }
            .write(version, &mut out);
        }
        for vrp in known.difference(&self.vrps) {
            Pdu::Vrp {
                announce: false,
                vrp: *vrp,
            }
            .write(version, &mut out);
        }
        for (customer, providers) in self.aspas.iter().filter(|_| version > 1 && is_full) {
            let (customer, providers) = (*customer, providers.clone());
            Pdu::Aspa {
                announce: true,
                customer,
                providers,
            }
            .write(version, &mut out);
        }
        match self.mode {
            Mode::StallMidway => return (out, true),
            Mode::WrongLength => {
                out.extend_from_slice(&[version, 4, 0, 0, 0, 0, 0, 9, 0]);
                return (out, true);
            }
            Mode::Truncate => {
                out.extend_from_slice(&[version, 7, 0]);
                return (out, false);
            }
            _ => {}
        }
        let (session, serial, intervals) = (self.session, self.serial, Some(self.intervals));
        Pdu::EndOfData {
            session,
            serial,
            intervals,
        }
        .write(version, &mut out);
        (out, true)
    }
}

/// `192.0.2.0/24-24 AS64500`.
pub fn vrp(text: &str) -> VrpRecord {
    let (prefix, rest) = text.split_once('-').expect("a maximum length");
    let (max_len, asn) = rest.split_once(" AS").expect("an AS");
    let prefix = prefix.parse().expect("a prefix");
    let max_len = max_len.parse().expect("a length");
    VrpRecord::new(prefix, max_len, asn.parse().expect("an AS")).expect("lengths in range")
}

/// The VRPs `10.N.0.0/16-16 AS<N>` for each N below `count`.
pub fn some_vrps(count: u32) -> BTreeSet<VrpRecord> {
    (0..count)
        .map(|n| vrp(&format!("10.{n}.0.0/16-16 AS{n}")))
        .collect()
}
