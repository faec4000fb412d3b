//! The live source of IRR data.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rutter_irr::{IrrData, PrefixLimits};

use super::data_of_files::data_of_files;
use super::runner::{Runner, Shared};
use super::settings::IrrSettings;
use super::status_rows::NAME;
use super::store_file;
use crate::{LastGood, Source, SourceState, SourceStatus, SourceThread};

/// A thread that keeps [`IrrData`] up to date from IRRd servers and files.
///
/// * It starts with the last good copy on disk, if there is one, and publishes it at once.
/// * It then refreshes in the configured interval, and publishes new data only if something changed.
/// * A server, AS-SET or file that fails keeps its last good answer in force. The next server is used when one fails.
/// * Data that shrank too much wait for [`accept`](Source::accept). An AS-SET that became empty, or lost many entries, is
///   refused alone.
/// * Before the first complete refresh, the routes of a member of which an answer is missing are not checked. If there is
///   a last good copy, such a member is new: it is left out of the data, and its routes are rejected. An unnamed member
///   always is. Later, missing answers of a member add nothing.
/// * Other unnamed members change the copy on disk with the next refresh, or when [`save`](Source::save) asks for it.
#[derive(Debug)]
pub struct IrrSource {
    thread: SourceThread,
    shared: Arc<Shared>,
}

impl IrrSource {
    /// The data that would be in force if an operator accepted what is refused; `None` if nothing is.
    pub fn refused(&self) -> Option<Arc<IrrData>> {
        self.shared.refused.lock().clone()
    }

    /// The prefix limits of PeeringDB that would be in force then; `None` if nothing is refused.
    pub fn refused_prefix_limits(&self) -> Option<Arc<PrefixLimits>> {
        self.shared.refused_limits.lock().clone()
    }

    /// The prefix limits of PeeringDB that are in force; none for a network if its dump cannot be read. `None` before the
    /// first attempt to read it, and without it in the settings.
    pub fn prefix_limits(&self) -> Option<Arc<PrefixLimits>> {
        self.shared.prefix_limits.lock().clone()
    }
}

impl Source for IrrSource {
    const NAME: &'static str = NAME;
    type Settings = IrrSettings;
    type Data = Arc<IrrData>;

    /// Publishes the last good copy, and starts the thread. The copy is the file `irr` in `state_folder`.
    fn start(
        settings: IrrSettings,
        state_folder: &Path,
        publish: impl Fn(Arc<IrrData>) + Send + 'static,
    ) -> io::Result<IrrSource> {
        let shared = Arc::new(Shared::new(settings));
        let path = state_folder.join(NAME);
        let copy = LastGood::new(path, NAME, store_file::VERSION, MAX_COPY);
        let mut runner = Runner::new(Arc::clone(&shared), copy, publish);
        // Before the first session: without data no route would be checked.
        runner.load();
        let thread = SourceThread::start("source-irr", move |signals| runner.run(signals))?;
        Ok(IrrSource { thread, shared })
    }

    fn read(
        settings: IrrSettings,
        state_folder: &Path,
    ) -> (Option<Arc<IrrData>>, Vec<SourceStatus>) {
        let shared = Arc::new(Shared::new(settings));
        let published = Mutex::new(None);
        let copy = LastGood::new(state_folder.join(NAME), NAME, store_file::VERSION, MAX_COPY);
        let publish = |data| *published.lock() = Some(data);
        Runner::new(Arc::clone(&shared), copy, publish).load_with_files();
        let status = shared.status.lock().clone();
        (published.into_inner(), status)
    }

    /// Reads the files if they alone count. With servers, the registrations in force stay, under the rules and white lists of
    /// the settings.
    fn preview(
        settings: &IrrSettings,
        in_force: Option<Arc<IrrData>>,
    ) -> Result<Option<Arc<IrrData>>, String> {
        let data = match in_force {
            _ if settings.servers.is_empty() => data_of_files(settings)?,
            Some(data) => {
                let terms = data.under(settings.terms());
                terms.map_err(|error| error.to_string())?
            }
            None => return Ok(None),
        };
        Ok(Some(Arc::new(data)))
    }

    /// The status: one row for the whole source, then one for each file. At most 100 rows follow, one for each AS-SET
    /// that failed, was refused or does not exist.
    fn status(&self) -> Vec<SourceStatus> {
        let mut rows = self.shared.status.lock().clone();
        if let (Some(whole), false) = (rows.first_mut(), self.thread.is_running()) {
            whole.state = SourceState::Failing;
            let why = "the thread of this source ended because of a defect: restart Rutter";
            whole.last_error = Some(why.to_owned());
        }
        rows
    }

    fn refresh(&self) {
        self.thread.refresh();
    }

    fn accept(&self) {
        self.thread.accept();
    }

    /// Changes the settings. Answers that are known stay; the others are fetched, and then the data are published.
    fn change_settings(&self, settings: IrrSettings) {
        *self.shared.settings.lock() = settings;
        self.thread.change_settings();
    }

    /// A copy that lacks unnamed members is written now. Their routes can do without it, so nobody has to wait longer.
    fn save(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        if self.shared.is_unsaved.load(Ordering::Acquire) {
            self.thread.save();
        }
        while self.shared.is_unsaved.load(Ordering::Acquire) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    fn stop(self, timeout: Duration) -> bool {
        self.thread.stop(timeout)
    }
}

/// The longest copy on disk, in bytes.
const MAX_COPY: u64 = 1 << 30;
