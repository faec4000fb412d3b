//! RPKI data from validators over RTR and from files.
//!
//! [`RpkiSource`] keeps one set of VRPs and ASPAs in force. Its data come from the first of these that has any: the RTR
//! caches in order of preference, then the files, which are merged with each other. A cache that fails keeps its place
//! until its data expire, and takes it back when it delivers again.

mod candidate;
mod copy;
mod document_file;
mod files;
mod live_data;
mod origin;
mod selection;
mod settings;
mod source;
mod worker;

pub use document_file::{read_rpki_data, read_vrps};
pub use live_data::LiveRpkiData;
pub use settings::RpkiSettings;
pub use source::RpkiSource;
