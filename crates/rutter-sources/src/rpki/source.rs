//! The RPKI source: caches and files as one live set.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;

use super::candidate::Candidate;
use super::files::data_of_files;
use super::live_data::LiveRpkiData;
use super::settings::RpkiSettings;
use super::worker::{Message, Worker};
use crate::source_thread::wait_for_end;
use crate::{Source, SourceState, SourceStatus};

/// Keeps VRPs and ASPAs from RTR caches and files up to date.
#[derive(Debug)]
pub struct RpkiSource {
    messages: Sender<Message>,
    status: Arc<Mutex<Vec<SourceStatus>>>,
    refused: Arc<Mutex<Option<Candidate>>>,
    thread: JoinHandle<()>,
}

impl Source for RpkiSource {
    const NAME: &'static str = "rpki";
    type Settings = RpkiSettings;
    type Data = LiveRpkiData;

    /// Starts the source. `publish` receives the whole set whenever it changes. The last good copy and the files are read and published
    /// before this function returns. Later calls come from a thread of the source, one at a time.
    fn start(
        settings: RpkiSettings,
        state_folder: &Path,
        publish: impl Fn(LiveRpkiData) + Send + 'static,
    ) -> io::Result<Self> {
        let (messages, receiver) = mpsc::channel();
        let status = Arc::new(Mutex::new(Vec::new()));
        let refused = Arc::new(Mutex::new(None));
        let mut worker = Worker::new(
            state_folder,
            messages.clone(),
            status.clone(),
            refused.clone(),
            Box::new(publish),
        );
        worker.start(settings);
        let builder = std::thread::Builder::new().name("rpki".to_owned());
        let thread = builder.spawn(move || worker.run(&receiver))?;
        Ok(RpkiSource {
            messages,
            status,
            refused,
            thread,
        })
    }

    fn read(
        settings: RpkiSettings,
        state_folder: &Path,
    ) -> (Option<LiveRpkiData>, Vec<SourceStatus>) {
        let published = Arc::new(Mutex::new(None));
        let status = Arc::new(Mutex::new(Vec::new()));
        let publish = {
            let published = Arc::clone(&published);
            move |data| *published.lock() = Some(data)
        };
        let (messages, _) = mpsc::channel();
        let worker = Worker::new(
            state_folder,
            messages,
            status.clone(),
            Arc::default(),
            Box::new(publish),
        );
        worker.without_caches().start(settings);
        (published.lock().take(), status.lock().clone())
    }

    /// Reads the files if they alone count. With caches, the data in force stay.
    fn preview(
        settings: &RpkiSettings,
        in_force: Option<LiveRpkiData>,
    ) -> Result<Option<LiveRpkiData>, String> {
        match settings.rtr.is_empty() {
            true => data_of_files(&settings.vrps, settings.aspa).map(Some),
            false => Ok(in_force),
        }
    }

    /// The status of the whole source, named `rpki`, and then of each cache and file.
    fn status(&self) -> Vec<SourceStatus> {
        let mut rows = self.status.lock().clone();
        if let (Some(whole), true) = (rows.first_mut(), self.thread.is_finished()) {
            whole.state = SourceState::Failing;
            let why = "the thread of this source ended because of a defect: restart Rutter";
            whole.last_error = Some(why.to_owned());
        }
        rows
    }

    /// Asks all caches for new data, and reads all files again.
    fn refresh(&self) {
        self.send(Message::Refresh);
    }

    fn accept(&self) {
        self.send(Message::Accept);
    }

    /// Changes the settings. Caches and files that stay in the list keep their data, and the data in force stay until
    /// others take their place.
    fn change_settings(&self, settings: RpkiSettings) {
        self.send(Message::Settings(settings));
    }

    fn save(&self, timeout: Duration) -> bool {
        let (done, saved) = mpsc::channel();
        self.send(Message::Save(done));
        saved.recv_timeout(timeout).is_ok()
    }

    fn stop(self, timeout: Duration) -> bool {
        self.send(Message::Stop);
        wait_for_end(&self.thread, timeout)
    }
}

impl RpkiSource {
    /// The data that would be in force if an operator accepted what is refused; `None` if nothing is.
    pub fn refused(&self) -> Option<LiveRpkiData> {
        let refused = self.refused.lock().clone();
        refused.map(|candidate| candidate.content.build())
    }

    fn send(&self, message: Message) {
        // The thread ends only after a stop.
        let _ = self.messages.send(message);
    }
}

impl Drop for RpkiSource {
    fn drop(&mut self) {
        self.send(Message::Stop);
    }
}
