//! The thread of one cache: it runs an [`RtrClient`] on a TCP connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::client::{RtrClient, RtrInput, RtrOutput};
use super::client_settings::RtrClientSettings;
use super::connect::connect;
use super::records::RtrData;
use crate::source_thread::{SourceSignals, SourceThread};

/// A cache that a thread keeps in contact with. Dropping it stops the thread without waiting for it.
#[derive(Debug)]
pub(crate) struct CacheThread {
    settings: Arc<Mutex<RtrClientSettings>>,
    thread: SourceThread,
}

/// The state of a cache after a complete answer or a fault.
#[derive(Clone, Debug)]
pub(crate) struct CacheReport {
    /// The data of the last complete answer.
    pub data: Option<RtrData>,
    /// The last fault, if no complete answer followed.
    pub fault: Option<String>,
}

impl CacheThread {
    /// Connects to `host:port`, and reports each complete answer and each fault.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn start(
        host: &str,
        settings: RtrClientSettings,
        report: impl Fn(CacheReport) + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(Mutex::new(settings));
        let mut connection = Connection {
            host: host.to_owned(),
            client: RtrClient::new(settings, Instant::now()),
            stream: None,
            settings: shared.clone(),
            report,
        };
        let thread = SourceThread::start("rtr", move |signals| connection.run(signals))?;
        let settings = shared;
        Ok(CacheThread { settings, thread })
    }

    /// Asks for new data now.
    pub fn refresh(&self) {
        self.thread.refresh();
    }

    /// Changes the settings. Data stay.
    pub fn change_settings(&self, settings: RtrClientSettings) {
        *self.settings.lock() = settings;
        self.thread.change_settings();
    }

    /// Asks the thread to end, without waiting for it.
    pub fn signal_stop(&self) {
        self.thread.signal_stop();
    }

    /// Stops the thread and waits for its end, at most for `timeout`.
    pub fn stop(self, timeout: Duration) {
        self.thread.stop(timeout);
    }
}

struct Connection<R> {
    host: String,
    client: RtrClient,
    stream: Option<TcpStream>,
    settings: Arc<Mutex<RtrClientSettings>>,
    report: R,
}

impl<R: Fn(CacheReport)> Connection<R> {
    fn run(&mut self, signals: &SourceSignals) {
        loop {
            self.handle(RtrInput::Timer);
            while let Some(output) = self.client.poll_output() {
                if !self.perform(output, signals) {
                    return;
                }
            }
            // An open connection is waited for in `receive`.
            let wait = match self.stream {
                Some(_) => Duration::ZERO,
                None => self.time_to_deadline(),
            };
            let Some(wake) = signals.wait(wait) else {
                return;
            };
            if wake.settings {
                let settings = *self.settings.lock();
                self.client.change_settings(settings, Instant::now());
            }
            if wake.refresh {
                self.handle(RtrInput::Refresh);
            }
            self.receive();
        }
    }

    fn handle(&mut self, input: RtrInput<'_>) {
        self.client.handle(Instant::now(), input);
    }

    fn time_to_deadline(&self) -> Duration {
        let deadline = self.client.next_deadline();
        deadline.map_or(SLICE, |at| at.saturating_duration_since(Instant::now()))
    }

    /// Performs an output. Returns false if the thread must end.
    fn perform(&mut self, output: RtrOutput, signals: &SourceSignals) -> bool {
        match output {
            RtrOutput::Connect => {
                let connected = connect(&self.host, || signals.is_stopped());
                let prepared = connected.and_then(|stream| stream.map(prepare).transpose());
                match prepared {
                    Ok(None) => return false,
                    Ok(stream) => {
                        self.stream = stream;
                        self.handle(RtrInput::Connected);
                    }
                    Err(why) => self.handle(RtrInput::ConnectFailed(why)),
                }
            }
            RtrOutput::Send(bytes) => {
                let sent = self.stream.as_mut().map(|stream| stream.write_all(&bytes));
                if let Some(Err(why)) = sent {
                    self.stream = None;
                    self.handle(RtrInput::Closed(Some(why.to_string())));
                }
            }
            RtrOutput::Disconnect => {
                if let Some(stream) = self.stream.take() {
                    let _ = stream.shutdown(Shutdown::Both);
                }
            }
            RtrOutput::Data { .. } | RtrOutput::Fault(_) => (self.report)(CacheReport {
                data: self.client.data().cloned(),
                fault: self.client.fault().map(ToString::to_string),
            }),
        }
        true
    }

    /// Reads what has arrived, or waits for a moment.
    fn receive(&mut self) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        let mut chunk = [0; CHUNK];
        match stream.read(&mut chunk) {
            Ok(0) => {
                self.stream = None;
                self.handle(RtrInput::Closed(None));
            }
            Ok(len) => self.handle(RtrInput::Received(&chunk[..len])),
            Err(why) if is_pause(&why) => {}
            Err(why) => {
                self.stream = None;
                self.handle(RtrInput::Closed(Some(why.to_string())));
            }
        }
    }
}

/// Reads wait for a short time, so that the thread can be stopped. Queries fit into the socket's buffer.
fn prepare(stream: TcpStream) -> Result<TcpStream, String> {
    let prepared = stream
        .set_read_timeout(Some(SLICE))
        .and_then(|()| stream.set_write_timeout(Some(SLICE)))
        .and_then(|()| stream.set_nodelay(true));
    prepared.map_err(|why| why.to_string())?;
    Ok(stream)
}

fn is_pause(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

const SLICE: Duration = Duration::from_millis(100);
/// The bytes of one read.
const CHUNK: usize = 64 << 10;
