//! The configurations of an exchange: what it takes from each client, and what it sends it.

use std::collections::BTreeSet;

use rutter_net::Prefix;

use crate::Random;

/// The rules of one client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ClientRules {
    /// The prefixes that are rejected from it.
    pub black_list: BTreeSet<Prefix>,
    /// It receives routes.
    pub export: bool,
    /// The hold time that the server offers, seconds. Another one resets the session.
    pub hold_time_s: u16,
}

/// The rules of all clients, by index.
pub(crate) type Configuration = Vec<ClientRules>;

/// The hold time of a configuration that says nothing else, seconds.
const HOLD_TIME_S: u16 = 9;

impl Default for ClientRules {
    fn default() -> Self {
        ClientRules {
            black_list: BTreeSet::new(),
            export: true,
            hold_time_s: HOLD_TIME_S,
        }
    }
}

/// A change of a configuration: it concerns some clients.
pub(crate) fn changed(
    from: &Configuration,
    prefixes: &[Prefix],
    random: &mut Random,
) -> Configuration {
    let mut changed = from.clone();
    for rules in &mut changed {
        match random.below(6) {
            0..=2 => {
                let listed = prefixes.iter().filter(|_| random.once_in(4));
                rules.black_list = listed.copied().collect();
            }
            3 => rules.export = !rules.export,
            4 if random.once_in(3) => {
                rules.hold_time_s = if rules.hold_time_s == HOLD_TIME_S {
                    12
                } else {
                    HOLD_TIME_S
                };
            }
            _ => {}
        }
    }
    changed
}
