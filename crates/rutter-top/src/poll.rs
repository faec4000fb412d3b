//! Threads that read the daemon's state and its log again and again.

use std::io;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::KeyEvent;
use rutter_api::{Client, Line, LogRow, MemoryRow, PeerRow, Request, SourceRow, StatusRow};

/// Something that the dashboard reacts to.
#[derive(Debug)]
pub enum Event {
    /// The state of the daemon.
    Sample(Box<Sample>),
    /// The daemon does not answer: why.
    Lost(String),
    /// The log begins again, because the daemon was started again.
    LogStarts,
    /// A line of the daemon's log.
    Log(LogRow),
    /// The answer to a question of the user.
    Answer(crate::answers::Answer),
    /// The user pressed a key.
    Key(KeyEvent),
    /// The terminal has another size.
    Resize,
}

/// The state of the daemon at one moment.
#[derive(Clone, Debug)]
pub struct Sample {
    /// When it was read.
    pub at: Instant,
    /// The process.
    pub status: StatusRow,
    /// All sessions.
    pub peers: Vec<PeerRow>,
    /// Memory by purpose.
    pub memory: Vec<MemoryRow>,
    /// The sources of outside data.
    pub sources: Vec<SourceRow>,
}

/// Starts the threads. They end when nobody receives their events.
pub fn start(socket: &Path, interval: Duration, events: &Sender<Event>) {
    let (path, sender) = (socket.to_owned(), events.clone());
    std::thread::spawn(move || samples(&path, interval, &sender));
    let (path, sender) = (socket.to_owned(), events.clone());
    std::thread::spawn(move || follow_log(&path, &sender));
}

fn samples(socket: &Path, interval: Duration, events: &Sender<Event>) {
    loop {
        let event = match sample(socket) {
            Ok(sample) => Event::Sample(Box::new(sample)),
            Err(why) => Event::Lost(why.to_string()),
        };
        if events.send(event).is_err() {
            return;
        }
        std::thread::sleep(interval);
    }
}

/// Reads the daemon's state once.
///
/// # Errors
/// If the daemon does not answer, or refuses a request.
pub fn sample(socket: &Path) -> io::Result<Sample> {
    let mut status = None;
    let (mut peers, mut memory, mut sources) = (Vec::new(), Vec::new(), Vec::new());
    for request in [
        Request::Status,
        Request::Peers,
        Request::Memory,
        Request::Sources,
    ] {
        for line in rows(socket, request)? {
            match line {
                Line::Status(row) => status = Some(*row),
                Line::Peer(row) => peers.push(*row),
                Line::Memory(row) => memory.push(row),
                Line::Source(row) => sources.push(*row),
                _ => {}
            }
        }
    }
    Ok(Sample {
        at: Instant::now(),
        status: status.ok_or_else(|| io::Error::other("the daemon sent no status"))?,
        peers,
        memory,
        sources,
    })
}

/// Returns the rows of an answer.
///
/// # Errors
/// If the daemon does not answer, or refuses the request.
pub fn rows(socket: &Path, request: Request) -> io::Result<Vec<Line>> {
    let mut rows = Vec::new();
    for line in Client::connect(socket)?.call(request)? {
        match line? {
            Line::Done(_) => break,
            Line::Error { message, .. } => return Err(io::Error::other(message)),
            row => rows.push(row),
        }
    }
    Ok(rows)
}

/// Follows the log. A daemon that ended may come back.
fn follow_log(socket: &Path, events: &Sender<Event>) {
    loop {
        if events.send(Event::LogStarts).is_err() {
            return;
        }
        let log = Client::connect(socket).and_then(|c| c.call(Request::Log { follow: true }));
        for line in log.into_iter().flatten() {
            if let Ok(Line::Log(row)) = line
                && events.send(Event::Log(row)).is_err()
            {
                return;
            }
        }
        std::thread::sleep(AGAIN);
    }
}

/// The wait before the log is followed again.
const AGAIN: Duration = Duration::from_secs(2);
