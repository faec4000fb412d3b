//! Threads that read the daemon's state and its log again and again.

use std::io;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

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
    /// The same moment, in microseconds since 1970.
    pub unix_us: u64,
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
        for line in rows(socket, request, PATIENCE)? {
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
        unix_us: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_micros() as u64),
        status: status.ok_or_else(|| io::Error::other("the daemon sent no status"))?,
        peers,
        memory,
        sources,
    })
}

/// Returns the rows of an answer.
///
/// # Errors
/// If the daemon does not answer for so long, or refuses the request.
pub fn rows(socket: &Path, request: Request, patience: Duration) -> io::Result<Vec<Line>> {
    let mut rows = Vec::new();
    let client = Client::connect(socket)?;
    client.set_patience(patience)?;
    for line in client.call(request).map_err(in_words)? {
        match line.map_err(in_words)? {
            Line::Done(_) => break,
            Line::Error { message, .. } => return Err(io::Error::other(message)),
            row => rows.push(row),
        }
    }
    Ok(rows)
}

/// The error of a wait that ended without an answer has words of its own.
fn in_words(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => io::Error::new(
            io::ErrorKind::TimedOut,
            "the daemon accepts connections only; is its process stopped?",
        ),
        _ => error,
    }
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

/// The longest wait for the state of the daemon.
const PATIENCE: Duration = Duration::from_secs(10);
/// The wait before the log is followed again.
const AGAIN: Duration = Duration::from_secs(2);
