//! The interface that all sources share.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::SourceStatus;

/// A running source of outside data. Dropping it stops its threads without waiting for them.
pub trait Source: Sized {
    /// The name, for management.
    const NAME: &'static str;
    /// The settings.
    type Settings: Clone + PartialEq;
    /// The whole set of data.
    type Data;

    /// Starts the source. Its last good copy lies in `state_folder`. `publish` receives each new set of data; it must
    /// not wait long.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    fn start(
        settings: Self::Settings,
        state_folder: &Path,
        publish: impl Fn(Self::Data) + Send + 'static,
    ) -> io::Result<Self>;

    /// Reads the files and the last good copy once, for a program that asks no server and changes nothing on disk.
    /// Returns the data that a start would put in force, if there are any, and the status.
    fn read(
        settings: Self::Settings,
        state_folder: &Path,
    ) -> (Option<Self::Data>, Vec<SourceStatus>);

    /// The data that the source would have with other settings, as far as they are known now: files are read, and answers of
    /// servers are those in force.
    ///
    /// # Errors
    /// If a file cannot be read, or has too many entries.
    fn preview(
        settings: &Self::Settings,
        in_force: Option<Self::Data>,
    ) -> Result<Option<Self::Data>, String>;

    /// The status of the whole source, and then of its parts.
    fn status(&self) -> Vec<SourceStatus>;

    /// Asks for new data now.
    fn refresh(&self);

    /// Puts the data in force that were refused because they shrank too much.
    fn accept(&self);

    /// Changes the settings. Data that are known stay in force until others take their place.
    fn change_settings(&self, settings: Self::Settings);

    /// Writes the last good copy if it is older than the data in force. Waits at most for `timeout`, and returns whether
    /// it was written or was up to date. A source may leave out what can be fetched again.
    fn save(&self, timeout: Duration) -> bool {
        let _ = timeout;
        true
    }

    /// Stops the source's threads and waits for their end, at most for `timeout`. Returns whether they ended. A thread
    /// that waits for a name server or a disk ends when that wait is over. The source publishes nothing afterwards.
    fn stop(self, timeout: Duration) -> bool;
}
