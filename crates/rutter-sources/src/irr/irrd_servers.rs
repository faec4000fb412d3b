//! Several servers in order: when one fails, the next one goes on.

use super::irrd_client::{IrrdError, IrrdFault};
use super::irrd_server::IrrdServer;
use super::settings::IrrSettings;
use crate::SourceSignals;

/// The servers of one refresh.
pub(crate) struct IrrdServers<'a> {
    settings: &'a IrrSettings,
    signals: &'a SourceSignals,
    /// The server in use.
    at: usize,
    connection: Option<IrrdServer>,
    /// Connections of this server that broke.
    breaks: usize,
    /// The errors of servers, in order.
    pub errors: Vec<String>,
    /// The last server that answered.
    pub answering: Option<String>,
}

/// The state of work on one server.
pub(crate) enum Progress {
    /// Nothing is left.
    Done,
    /// Only work that this server failed to do is left.
    Partly,
}

impl<'a> IrrdServers<'a> {
    pub fn new(settings: &'a IrrSettings, signals: &'a SourceSignals) -> Self {
        IrrdServers {
            settings,
            signals,
            at: 0,
            connection: None,
            breaks: 0,
            errors: Vec::new(),
            answering: None,
        }
    }

    /// Calls `work` with a connection, and again with another one when it breaks: up to three times per server. `work`
    /// does what is left. Its argument states whether the server is another one than at the call before. Returns
    /// whether a server went through all work.
    pub fn run(
        &mut self,
        mut work: impl FnMut(&mut IrrdServer, bool) -> Result<Progress, IrrdError>,
    ) -> bool {
        let settings = self.settings;
        let mut is_other = true;
        let mut went_through_at = None;
        while let Some(name) = settings.servers.get(self.at) {
            let outcome = match self.connect(name) {
                Ok(mut server) => {
                    let outcome = work(&mut server, is_other);
                    if outcome.is_ok() {
                        self.connection = Some(server);
                        self.answering = Some(name.clone());
                    }
                    outcome
                }
                Err(error) => {
                    self.breaks = MAX_BREAKS;
                    Err(error)
                }
            };
            is_other = false;
            match outcome {
                Ok(Progress::Done) => {
                    went_through_at.get_or_insert(self.at);
                    break;
                }
                Ok(Progress::Partly) => {
                    went_through_at.get_or_insert(self.at);
                    self.breaks = MAX_BREAKS;
                }
                Err(error) => {
                    let is_stop = matches!(error.fault(), IrrdFault::Stopped);
                    self.report(error.to_string());
                    if is_stop || self.signals.is_stopped() {
                        break;
                    }
                    self.breaks += 1;
                }
            }
            if self.breaks >= MAX_BREAKS {
                self.at += 1;
                self.breaks = 0;
                self.connection = None;
                is_other = true;
            }
        }
        // The work that comes next begins at the first server that works.
        if let Some(at) = went_through_at.filter(|at| *at != self.at) {
            self.at = at;
            self.breaks = 0;
            self.connection = None;
        }
        went_through_at.is_some()
    }

    fn connect(&mut self, name: &str) -> Result<IrrdServer, IrrdError> {
        if let Some(connection) = self.connection.take() {
            return Ok(connection);
        }
        let signals = self.signals.clone();
        let stop = Box::new(move || signals.is_stopped());
        IrrdServer::connect(
            name,
            &self.settings.sources,
            self.settings.irrd_limits,
            stop,
        )
    }

    fn report(&mut self, error: String) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        }
    }
}

/// A server is given up after this many broken connections.
const MAX_BREAKS: usize = 3;
/// The most errors that are kept.
const MAX_ERRORS: usize = 100;
