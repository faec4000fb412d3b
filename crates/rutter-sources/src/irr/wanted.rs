//! The sets that the members need.

use std::collections::BTreeSet;

use rutter_irr::{AsSetName, IrrMember, OriginSet};

use super::settings::IrrSettings;
use super::store::{FileKey, IrrStore};

/// The members' sets, by the settings and PeeringDB.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Wanted {
    /// The number of each member with its sets. The last one is its own AS.
    pub members: Vec<(u16, Vec<OriginSet>)>,
    /// The sets of all members.
    pub sets: BTreeSet<OriginSet>,
    /// Names in the settings that are none.
    pub wrong_names: Vec<String>,
}

impl Wanted {
    pub fn new(settings: &IrrSettings, store: &IrrStore) -> Self {
        let mut wanted = Wanted::default();
        let peering_db = store.file(&FileKey::PeeringDb);
        for (number, member) in (0..=IrrMember::MAX.0).zip(&settings.members) {
            let Some(member) = member else { continue };
            let mut sets = Vec::new();
            for name in &member.as_sets {
                match name.parse() {
                    Ok(set) => sets.push(set),
                    Err(why) => wanted.wrong_names.push(format!("AS{}: {why}", member.asn)),
                }
            }
            if let (true, Some(db)) = (member.as_sets.is_empty(), peering_db) {
                let named = db.as_sets.get(&member.asn).into_iter().flatten();
                sets.extend(named.cloned().map(OriginSet::Named));
            }
            let own = OriginSet::Asn(member.asn);
            sets.retain(|set| *set != own);
            sets.push(own);
            wanted.sets.extend(sets.iter().cloned());
            wanted.members.push((number, sets));
        }
        wanted
    }

    /// The AS-SETs, without single AS numbers.
    pub fn named(&self) -> impl Iterator<Item = &AsSetName> {
        self.sets.iter().filter_map(|set| match set {
            OriginSet::Named(name) => Some(name),
            OriginSet::Asn(_) => None,
        })
    }
}
