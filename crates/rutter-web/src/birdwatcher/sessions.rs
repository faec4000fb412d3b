//! The names that sessions have as protocols, tables and pipes of BIRD.

use std::collections::HashMap;
use std::net::IpAddr;

use rutter_api::{Backend, RouteSource, SessionRow};

use super::iso_long;

/// The first letters of the names of protocols, tables and pipes.
pub(super) const PROTOCOL: char = 'R';
pub(super) const TABLE: char = 'T';
pub(super) const PIPE: char = 'M';

/// Returns the name of a session without its first letter: `64511_192_0_2_11`.
pub(super) fn base_name(asn: u32, address: IpAddr) -> String {
    format!("{asn}_{}", flat(address))
}

fn flat(address: IpAddr) -> String {
    address.to_string().replace(['.', ':'], "_")
}

/// Finds the address of the session that a protocol, table or pipe is named after. An address names a session, too.
pub(super) fn address_of(name: &str, sessions: &[SessionRow]) -> Option<IpAddr> {
    let wanted = match name.parse::<IpAddr>() {
        Ok(address) => flat(address),
        Err(_) => {
            let name = name.strip_prefix([PROTOCOL, TABLE, PIPE])?;
            name.split_once('_')?.1.to_owned()
        }
    };
    let mut addresses = sessions.iter().map(|session| session.address);
    addresses.find(|address| flat(*address) == wanted)
}

/// The names of all sessions, for their routes.
pub(super) struct SessionNames(HashMap<IpAddr, SessionName>);

/// The name of a protocol, and when its session reached its state.
#[derive(Clone)]
pub(super) struct SessionName {
    pub(super) protocol: String,
    pub(super) since: String,
}

impl SessionNames {
    pub(super) fn new(backend: &dyn Backend) -> Self {
        let name = |session: SessionRow| {
            let protocol = format!("{PROTOCOL}{}", base_name(session.asn, session.address));
            let since = iso_long(session.state_changed_at);
            (session.address, SessionName { protocol, since })
        };
        SessionNames(backend.sessions().into_iter().map(name).collect())
    }

    /// Returns the names of the session that announced a route.
    pub(super) fn get(&self, source: &RouteSource) -> SessionName {
        self.0
            .get(&source.address)
            .cloned()
            .unwrap_or_else(|| SessionName {
                protocol: format!("{PROTOCOL}{}", base_name(source.asn, source.address)),
                since: String::new(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_symbols_of_bird() {
        let name = |address: &str| base_name(64511, address.parse().unwrap());
        assert_eq!(name("192.0.2.11"), "64511_192_0_2_11");
        assert_eq!(name("2001:db8::11"), "64511_2001_db8__11");
    }
}
