//! The process that ends: it starts its successor, holds still, passes everything on, and ends, or goes on.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::panic::resume_unwind;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use rutter_api::ReloadError;
use rutter_rib::{ClientStream, HeldTable, Monitored, PeerSummary, TableExport, TableTotals};
use rutter_wire::handover::{BadRecord, Reader, VERSION, Writer};

use super::channel::{Channel, Kind, describe};
use super::{GivenService, HeldServices, NotHeld, Program, kinds_of_data, peer_record};
use crate::peer::Peer;
use crate::privileges;
use crate::reactor::Reactor;
use crate::reload;
use crate::service_manager;
use crate::shared::{Shared, StopOrder, unix_us};

/// The place where a hand-over is requested, and where the end of the process waits for its answer.
#[derive(Default)]
pub(crate) struct UpgradeDesk {
    program: Mutex<Option<Program>>,
    /// `None` while no thread serves requests.
    requests: Mutex<Option<Sender<Reply>>>,
    progress: Mutex<Progress>,
    changed: Condvar,
    /// A new process is being prepared.
    is_preparing: AtomicBool,
}

type Reply = Sender<Result<String, String>>;

#[derive(Debug, Default)]
struct Progress {
    /// The answers that have not been written. `None`: no other process has taken over.
    owed: Option<usize>,
    /// The threads that write an answer to an operator who asked for the hand-over.
    writers: Vec<ThreadId>,
}

/// The time that the new process has to start and to read its configuration and the data of its sources.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// The time limit for each step while the daemon holds still.
const HELD_TIMEOUT: Duration = Duration::from_secs(10);
/// The time in which a moment must come in which the daemon can be held still.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most stages in which the table is sent before it is held still.
const STAGES: usize = 4;
/// A stage with so few destinations is the last before. To send them takes milliseconds.
const FEW_CHANGES: usize = 4_000;
/// The time in which a collector's services must stand still. Its neighbors wait until then.
const SERVICE_PATIENCE: Duration = Duration::from_secs(1);
/// The time between two attempts.
const RETRY: Duration = Duration::from_millis(50);
/// The time limit for the end of the process after a hand-over: half of `START_PATIENCE`, so that a next start finds the
/// addresses free.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// The time for which the end of the process waits until the operator has the answer. The processors may be busy.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);

impl UpgradeDesk {
    /// Allows hand-overs to this program.
    pub(crate) fn allow(&self, program: Program) {
        *self.program.lock() = Some(program);
    }

    /// Begins to accept requests.
    pub(crate) fn open(&self) -> Receiver<Reply> {
        let (sender, requests) = mpsc::channel();
        *self.requests.lock() = Some(sender);
        requests
    }

    /// Accepts no more requests: [`serve`] returns.
    pub(crate) fn close(&self) {
        *self.requests.lock() = None;
    }

    /// Hands over to a new process and waits for the result. Both messages are for the operator.
    pub(crate) fn request(&self) -> Result<String, String> {
        let stops = || "the daemon still starts, or stops".to_owned();
        let (reply, result) = mpsc::channel();
        let sender = self.requests.lock().clone().ok_or_else(stops)?;
        sender.send(reply).map_err(|_| stops())?;
        drop(sender);
        let result = result.recv().map_err(|_| stops())?;
        if result.is_ok() {
            self.progress.lock().writers.push(thread::current().id());
        }
        result
    }

    /// Returns whether a new process is being prepared. Dynamic members do not change meanwhile: it knows those of now.
    pub(crate) fn is_preparing(&self) -> bool {
        self.is_preparing.load(Ordering::Acquire)
    }

    /// This thread has written an answer on the control socket.
    pub(crate) fn note_answer(&self) {
        let mut progress = self.progress.lock();
        let this = thread::current().id();
        if let Some(place) = progress.writers.iter().position(|writer| *writer == this) {
            progress.writers.swap_remove(place);
            progress.owed = progress.owed.map(|owed| owed.saturating_sub(1));
            self.changed.notify_all();
        }
    }

    /// After a hand-over: operators who asked during it wanted the same, and have the same answer. No more are accepted.
    fn answer_all(
        &self,
        first: Reply,
        requests: &Receiver<Reply>,
        result: &Result<String, String>,
    ) {
        self.close();
        let mut replies = vec![first];
        replies.extend(requests.try_iter());
        self.progress.lock().owed = Some(replies.len());
        for reply in replies {
            let _ = reply.send(result.clone());
        }
    }

    /// Waits until all operators who asked have the answer, or a moment.
    pub(crate) fn wait_for_answer(&self) {
        let mut progress = self.progress.lock();
        let is_due = |progress: &mut Progress| progress.owed != Some(0);
        self.changed
            .wait_while_for(&mut progress, is_due, ANSWER_TIMEOUT);
    }
}

/// Serves requests until [`UpgradeDesk::close`], or until another process has taken over.
pub(crate) fn serve(shared: &Arc<Shared>, requests: &Receiver<Reply>) {
    for reply in requests {
        shared.upgrades.is_preparing.store(true, Ordering::Release);
        let result = upgrade(shared);
        shared.upgrades.is_preparing.store(false, Ordering::Release);
        let is_done = result.is_ok();
        match &result {
            Ok(text) => tracing::info!("{text}"),
            Err(error) => tracing::error!(%error, "no upgrade: this process goes on"),
        }
        match is_done {
            true => shared.upgrades.answer_all(reply, requests, &result),
            false => drop(reply.send(result)),
        }
        if is_done {
            shared.stop_request.make(StopOrder::HandOver);
            // The I/O threads never go on, so nothing may keep the process.
            thread::sleep(END_TIMEOUT);
            std::process::exit(0);
        }
    }
}

fn upgrade(shared: &Arc<Shared>) -> Result<String, String> {
    let config = shared.config_changes.load(Ordering::Relaxed);
    let program = shared.upgrades.program.lock().clone();
    let program = program.ok_or("this daemon is part of another program: start that again")?;
    check(shared)?;
    let saved = shared.sources.save();
    saved.map_err(|source| format!("the last good copy of {source} is not written in time"))?;
    let mut successor = Successor::start(&program)?;
    let version = successor.greet(shared)?;
    let mut export = TableExport::default();
    successor.send_table(shared, &mut export)?;
    let until = Instant::now() + PATIENCE;
    loop {
        let begun = Instant::now();
        let busy = match attempt(shared, config, &mut export, &mut successor) {
            Ok(passed) => {
                let pid = successor.child.id();
                service_manager::notify(&format!("MAINPID={pid}"));
                // The successor learns from the end of the connection that this process has ended. Nor is the table freed.
                std::mem::forget((successor, export));
                return Ok(format!("process {pid}, version {version}, {passed}"));
            }
            Err(NotHeld::Refused(why)) => return Err(why),
            Err(NotHeld::Busy(why)) => why,
        };
        if Instant::now() >= until {
            return Err(format!("{busy}; try again in a moment"));
        }
        // The neighbors waited meanwhile: serve them for as long.
        thread::sleep(begun.elapsed().max(RETRY));
        successor.send_changes(shared, &mut export)?;
    }
}

/// Returns the reason why no hand-over can begin now.
fn check(shared: &Shared) -> Result<(), String> {
    if shared.collected.get().is_some() && shared.services.get().is_none() {
        return Err(
            "the collector still starts, or loads MRT files: try again when the log says that they are loaded"
                .to_owned(),
        );
    }
    if shared.stop_request.wait(Duration::ZERO).is_some() {
        return Err("the daemon stops".to_owned());
    }
    if let Some(why) = service_manager::ends_with_process() {
        return Err(why.to_owned());
    }
    if shared.restart.is_deferring() {
        return Err(
            "the restart before is not over: neighbors have yet to come back; see `rutter show status`"
                .to_owned(),
        );
    }
    let words = |error| match error {
        ReloadError::Config(_) => {
            let file = own_file(shared);
            format!("the configuration file has errors: see `rutter check {file}`")
        }
        ReloadError::Other(text) => text,
    };
    shared.changes.check_confirmed().map_err(words)?;
    let mut diff = reload::compare(shared, None).map_err(words)?;
    diff.needs_restart.retain(|key| key != "daemon.threads");
    if let Some(key) = diff.needs_restart.first() {
        return Err(format!(
            "`{key}` differs from the running configuration, and needs a restart: restart instead, or take the change back"
        ));
    }
    match diff.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "the configuration file differs from the running configuration: see `rutter diff {}`, and reload first",
            own_file(shared)
        )),
    }
}

/// The name of the file that the daemon reads: that of a collector is not the commands' default.
fn own_file(shared: &Shared) -> String {
    let source = shared.source.as_ref();
    source.map_or_else(String::new, |source| source.name().display().to_string())
}

/// The new process. If it was not released, it ends with this value.
struct Successor {
    child: Child,
    channel: Channel,
}

impl Drop for Successor {
    fn drop(&mut self) {
        self.end();
    }
}

impl Successor {
    fn start(program: &Program) -> Result<Self, String> {
        let path = program.path.display();
        let cannot = |error: io::Error| format!("cannot start {path}: {error}");
        let (own, other) = UnixStream::pair().map_err(cannot)?;
        let mut command = Command::new(&program.path);
        let command = command
            .args(&program.arguments)
            .stdin(Stdio::from(OwnedFd::from(other)));
        Ok(Successor {
            child: command.spawn().map_err(cannot)?,
            channel: Channel::new(own),
        })
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends the clock and the listening sockets, and waits until the new process is prepared. Returns its version.
    fn greet(&mut self, shared: &Shared) -> Result<String, String> {
        let listeners = shared.listeners.sockets();
        let mut hello = Writer::default();
        hello.number(VERSION);
        hello.number(shared.clock.now_ms());
        hello.number(unix_us());
        hello.count(listeners.len());
        // Before it starts the sources: else it would drop the data of these members.
        for (address, asn) in &shared.config.read().dynamic_members {
            hello.address(*address);
            hello.number(asn.0);
        }
        let sockets: Vec<BorrowedFd<'_>> = listeners.iter().map(AsFd::as_fd).collect();
        let channel = &mut self.channel;
        let sent = channel
            .set_timeout(START_TIMEOUT)
            .and_then(|()| channel.send(Kind::Hello, &hello.bytes))
            .and_then(|()| channel.send_sockets(&sockets));
        sent.map_err(|error| self.failure(&error))?;
        let mut record = Vec::new();
        self.expect(Kind::Hello, &mut record)?;
        let mut prepared = Reader::new(&record);
        let failed = |error: BadRecord| format!("the new process: {error}");
        let version = prepared.string("version").map_err(failed)?.to_owned();
        // Without its data it would accept what they make invalid.
        for (kind, is_here) in kinds_of_data(&shared.rib.outside_data()) {
            let is_there = prepared.bool("kind of data").map_err(failed)?;
            if is_here && !is_there {
                return Err(format!(
                    "the new process has no {kind}: can it read the copies in the folder `state`?"
                ));
            }
        }
        Ok(version)
    }

    /// Sends the table while it changes further, until few changes remain.
    fn send_table(&mut self, shared: &Shared, export: &mut TableExport) -> Result<(), String> {
        let send = || {
            privileges::yield_to_routing();
            let peers = shared.rib.peers();
            let mut in_table = Writer::default();
            peer_record::write_in_table(&peers, &mut in_table);
            let channel = &mut self.channel;
            let sent = pass_monitored(&peers, channel)
                .and_then(|()| channel.send(Kind::InTable, &in_table.bytes));
            sent.map_err(|error| self.failure(&error))?;
            for _ in 0..STAGES {
                if self.send_changes(shared, export)? <= FEW_CHANGES {
                    break;
                }
            }
            Ok(())
        };
        thread::scope(|scope| {
            let sending = thread::Builder::new().name("send table".into());
            let sending = sending.spawn_scoped(scope, send);
            let sending = sending.map_err(|error| format!("no thread: {error}"))?;
            sending.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Sends what has changed since the stage before, and waits until the new process has read it. Returns the number of
    /// destinations.
    fn send_changes(&mut self, shared: &Shared, export: &mut TableExport) -> Result<usize, String> {
        let channel = &mut self.channel;
        let is_stopping = || shared.stop_request.wait(Duration::ZERO).is_some();
        let sent = export.send_changes(&shared.rib, |record| match is_stopping() {
            true => Err(io::ErrorKind::Interrupted.into()),
            false => channel.send(Kind::Table, record),
        });
        let sent = sent.and_then(|sent| channel.send(Kind::Staged, &[]).map(|()| sent));
        if is_stopping() {
            return Err("the daemon stops".to_owned());
        }
        let sent = sent.map_err(|error| self.failure(&error))?;
        self.expect(Kind::Staged, &mut Vec::new())?;
        Ok(sent)
    }

    fn expect(&mut self, kind: Kind, record: &mut Vec<u8>) -> Result<(), String> {
        let expected = self.channel.expect(kind, record);
        expected.map_err(|error| format!("the new process: {error}"))
    }

    /// What an error of the connection means. If the new process ended, it may have sent the reason.
    fn failure(&mut self, error: &io::Error) -> String {
        let mut why = Vec::new();
        let has_ended = error.kind() == io::ErrorKind::BrokenPipe;
        match has_ended && matches!(self.channel.receive(&mut why), Ok(Kind::Failed)) {
            true => format!("the new process: {}", String::from_utf8_lossy(&why)),
            false => format!("the new process: {}", describe(error)),
        }
    }
}

/// What a successor has taken over.
struct Passed {
    sessions: usize,
    /// The BMP routers of a collector.
    routers: Option<usize>,
    totals: TableTotals,
    pause: Duration,
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "took over {} sessions", self.sessions)?;
        if let Some(routers) = self.routers {
            write!(f, ", {routers} BMP routers")?;
        }
        write!(
            f,
            " and {} routes; nothing was read or sent for {} ms",
            self.totals.routes,
            self.pause.as_millis()
        )
    }
}

type HeldThread<'a> = MutexGuard<'a, Option<Reactor>>;

/// Holds the daemon still and passes it on. `config` is the number of configurations before this one
/// ([`Shared::config_changes`]). After an error it goes on.
fn attempt(
    shared: &Shared,
    config: u64,
    export: &mut TableExport,
    successor: &mut Successor,
) -> Result<Passed, NotHeld> {
    let reloading = shared.reloading.try_lock_for(RETRY);
    let reloading = reloading.ok_or_else(|| busy("a reload or apply still works"))?;
    // While the new process started, somebody may have changed the file, reloaded it, or applied another one.
    check(shared).map_err(NotHeld::Refused)?;
    if config != shared.config_changes.load(Ordering::Relaxed) {
        return Err(refused(
            "the configuration changed while the new process started; run `rutter upgrade` again",
        ));
    }
    let publishing = shared.sources.hold(RETRY);
    let publishing =
        publishing.ok_or_else(|| busy("new data of a source are still being applied"))?;
    let begin = Instant::now();
    let mut threads: Vec<HeldThread<'_>> = shared
        .threads
        .iter()
        .map(|thread| thread.reactor.lock())
        .collect();
    // Before the services are held: their readers have then read these changes, too. A session that ends by them is swept.
    for reactor in threads.iter_mut().filter_map(|thread| thread.as_mut()) {
        reactor.driver().commit_all();
    }
    let is_quiet = |thread: &HeldThread<'_>| thread.as_ref().is_some_and(Reactor::is_quiet);
    if !threads.iter().all(is_quiet) {
        return Err(busy("a change of a neighbor is still being applied"));
    }
    let changes_keys =
        |thread: &mut HeldThread<'_>| thread.as_mut().is_some_and(|r| r.driver().changes_keys());
    if threads.iter_mut().any(changes_keys) {
        return Err(refused(
            "a neighbor does not use its new key yet; the log names it. Try again when it does",
        ));
    }
    let services = shared.services.get();
    let services = services.map(|services| services.hold(SERVICE_PATIENCE));
    let services = services.transpose()?;
    let mut streams = Vec::new();
    for reactor in threads.iter_mut().filter_map(|thread| thread.as_mut()) {
        let peers = reactor.driver().peers.iter_mut();
        let established = peers.filter_map(|peer| peer.established.as_mut());
        streams.extend(established.filter_map(|e| e.stream.as_mut()));
    }
    let held = shared.rib.hold(&mut streams);
    let held = held.ok_or_else(|| {
        busy("routes are still being advertised under new rules, or to a client with other capabilities")
    })?;
    match pass(
        shared,
        &threads,
        services.as_deref(),
        &held,
        export,
        successor,
    ) {
        Ok((sessions, totals)) => {
            let routers = services.as_ref().map(|held| held.routers());
            services.into_iter().for_each(|held| held.give_up());
            // The sockets are the successor's now: these threads never go on, and nobody changes this process any more.
            threads.into_iter().for_each(std::mem::forget);
            std::mem::forget((reloading, publishing));
            Ok(Passed {
                sessions,
                routers,
                totals,
                pause: begin.elapsed(),
            })
        }
        Err(error) => {
            // Before the threads go on.
            successor.end();
            Err(NotHeld::Refused(error))
        }
    }
}

fn busy(why: &str) -> NotHeld {
    NotHeld::Busy(why.to_owned())
}

fn refused(why: &str) -> NotHeld {
    NotHeld::Refused(why.to_owned())
}

/// Passes everything on, up to the word to go.
fn pass(
    shared: &Shared,
    threads: &[HeldThread<'_>],
    services: Option<&dyn HeldServices>,
    table: &HeldTable<'_>,
    export: &mut TableExport,
    successor: &mut Successor,
) -> Result<(usize, TableTotals), String> {
    let passed = pass_state(threads, services, table, export, &mut successor.channel);
    let (sessions, totals) = passed.map_err(|error| successor.failure(&error))?;
    let mut record = Vec::new();
    successor.expect(Kind::Ready, &mut record)?;
    let mut ready = Reader::new(&record);
    let counts = (ready.number("count"), ready.number("count"));
    if counts != (Ok(sessions as u64), Ok(totals.routes)) {
        return Err("the new process has other sessions or routes".to_owned());
    }
    if shared.stop_request.wait(Duration::ZERO).is_some() {
        return Err("the daemon stops".to_owned());
    }
    let sent = successor.channel.send(Kind::Go, &[]);
    sent.map_err(|error| successor.failure(&error))?;
    Ok((sessions, totals))
}

/// Passes the neighbors and the last stage of the table on. Returns the number of sessions, and the size of the table.
fn pass_state(
    threads: &[HeldThread<'_>],
    services: Option<&dyn HeldServices>,
    table: &HeldTable<'_>,
    export: &mut TableExport,
    channel: &mut Channel,
) -> io::Result<(usize, TableTotals)> {
    channel.set_timeout(HELD_TIMEOUT)?;
    channel.send(Kind::Held, &[])?;
    let reactors = || threads.iter().filter_map(|thread| thread.as_ref());
    let peers = || reactors().flat_map(Reactor::peers);
    let mut sessions = 0;
    for peer in peers() {
        sessions += usize::from(pass_peer(peer, channel)?);
    }
    if let Some(services) = services {
        pass_monitored(&table.peers(), channel)?;
        for service in services.records() {
            pass_service(&service, channel)?;
        }
    }
    let established = peers().filter_map(|peer| peer.established.as_ref());
    let streams: Vec<&ClientStream> = established.filter_map(|e| e.stream.as_ref()).collect();
    let send = |record: &[u8]| channel.send(Kind::Table, record);
    let totals = table.write(export, &streams, send)?;
    channel.send(Kind::Ready, &[])?;
    Ok((sessions, totals))
}

/// Passes the peers of monitored routers and files on, if there are any.
fn pass_monitored(peers: &[PeerSummary], channel: &mut Channel) -> io::Result<()> {
    let mut monitored = Writer::default();
    match Monitored::write_peers(peers, &mut monitored) {
        0 => Ok(()),
        _ => channel.send(Kind::Monitored, &monitored.bytes),
    }
}

/// Passes a part of a service on.
fn pass_service(service: &GivenService<'_>, channel: &mut Channel) -> io::Result<()> {
    let mut record = Writer::default();
    record.string(&service.name);
    record.count(service.sockets.len());
    record.octets(&service.record);
    channel.send(Kind::Service, &record.bytes)?;
    channel.send_sockets(&service.sockets)
}

/// Passes a neighbor on. Returns whether it has an established session.
fn pass_peer(peer: &Peer, channel: &mut Channel) -> io::Result<bool> {
    let mut record = Writer::default();
    peer_record::write(peer, &mut record);
    channel.send(Kind::Neighbor, &record.bytes)?;
    let established = peer.session.established();
    let connection = established.and_then(|id| peer.connections[id.index()].as_ref());
    if let Some(connection) = connection {
        channel.send_sockets(&[connection.socket.as_fd()])?;
    }
    Ok(connection.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_who_asked_have_the_answer_before_the_process_ends() {
        let desk = UpgradeDesk::default();
        let requests = desk.open();
        thread::scope(|scope| {
            let operators = [0, 1, 2].map(|_| {
                scope.spawn(|| {
                    let result = desk.request();
                    desk.note_answer();
                    result
                })
            });
            // All three wait in the queue before the first is served.
            let first = requests.recv().expect("a request");
            let others: Vec<Reply> = requests.iter().take(2).collect();
            let (sender, queue) = mpsc::channel();
            others
                .into_iter()
                .for_each(|reply| sender.send(reply).expect("a queue"));
            desk.answer_all(first, &queue, &Ok("took over".to_owned()));
            for operator in operators {
                let answer = operator.join().expect("a thread");
                assert_eq!(answer.as_deref(), Ok("took over"));
            }
        });
        assert_eq!(desk.progress.lock().owed, Some(0));
        let closed = "the daemon still starts, or stops".to_owned();
        assert_eq!(desk.request(), Err(closed));
    }
}
