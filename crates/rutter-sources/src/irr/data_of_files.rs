//! The data of a source that has files alone, before it runs.

use rutter_irr::IrrData;

use super::assemble::{MissingAnswers, assemble};
use super::decision::Refusals;
use super::files::read_files;
use super::settings::IrrSettings;
use super::store::IrrStore;
use super::wanted::Wanted;

/// Reads the data of the files alone.
///
/// # Errors
/// If a file cannot be read, or there are too many entries.
pub(super) fn data_of_files(settings: &IrrSettings) -> Result<IrrData, String> {
    let mut store = IrrStore::default();
    read_files(settings, &mut store);
    let error = store.files.values().find_map(|file| file.error.clone());
    if let Some(error) = error {
        return Err(error);
    }
    Refusals::default().decide_files(&mut store, None);
    let wanted = Wanted::new(settings, &store);
    let data = assemble(settings, &store, &wanted, MissingAnswers::AddNothing, None);
    data.map(|(data, _)| data)
        .map_err(|error| error.to_string())
}
