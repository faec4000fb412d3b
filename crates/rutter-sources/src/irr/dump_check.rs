//! Dumps in files, for checks before the start.

use std::path::Path;
use std::sync::Arc;

use rutter_irr::PrefixLimits;

use super::files;
use super::store::FileKey;

/// A dump whose data count beside those of the IRR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IrrDump {
    /// ARIN's whois dump: prefixes with origins.
    Arin,
    /// The dump of registro.br: prefixes with origins.
    RegistroBr,
    /// PeeringDB's networks: AS-SETs and prefix limits.
    PeeringDb,
}

impl IrrDump {
    /// Reads a dump as the source does. Returns the number of its prefixes, or of its facts about networks.
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
        Ok(content.rows.len() + content.facts())
    }
}

/// Reads the prefix limits in a dump of PeeringDB, for a program that runs no source.
///
/// # Errors
/// If the dump cannot be read or has another form.
pub fn prefix_limits_in(dump: &Path) -> Result<PrefixLimits, String> {
    let content = files::read(&FileKey::PeeringDb, dump)?;
    Ok(content
        .prefix_limits
        .map(Arc::unwrap_or_clone)
        .unwrap_or_default())
}
