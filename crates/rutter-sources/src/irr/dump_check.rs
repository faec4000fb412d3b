//! Dumps in files, for checks before the start.

use std::path::Path;

use super::files;
use super::store::FileKey;

/// A dump whose data count beside those of the IRR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IrrDump {
    /// ARIN's whois dump: prefixes with origins.
    Arin,
    /// The dump of registro.br: prefixes with origins.
    RegistroBr,
    /// PeeringDB's networks: AS-SETs.
    PeeringDb,
}

impl IrrDump {
    /// Reads a dump as the source does. Returns the number of its prefixes, or of its networks with AS-SETs.
    ///
    /// # Errors
    /// If it cannot be read or has another form.
    pub fn count(self, path: &Path) -> Result<usize, String> {
        let key = match self {
            IrrDump::Arin => FileKey::Arin,
            IrrDump::RegistroBr => FileKey::RegistroBr,
            IrrDump::PeeringDb => FileKey::PeeringDb,
        };
        let content = files::read(&key, path)?;
        Ok(content.rows.len() + content.as_sets.len())
    }
}
