//! The members whose routes are compared with IRR data, each with a number.

use std::collections::BTreeSet;
use std::net::IpAddr;

use rutter_irr::{IrrMember, IrrRules};
use rutter_net::Asn;
use rutter_policy::ImportRule;

use crate::stable_numbers::StableNumbers;
use crate::{Config, DynamicNeighbor, IrrCheck, Neighbor, WhiteList};

/// A member whose routes are compared with IRR data. Neighbors with equal settings share it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IrrMemberSettings {
    /// The member's AS.
    pub asn: Asn,
    /// Its AS-SETs in capitals. Empty: those in PeeringDB, if `irr.peeringdb` is configured. The member's own AS always
    /// belongs to them. If no section names the AS, it never has the AS-SETs in PeeringDB: anybody may claim a number, and
    /// would choose how much Rutter requests.
    pub as_sets: Vec<String>,
    /// A dynamic neighbor whose AS no section names.
    pub is_unnamed: bool,
    /// Exceptions.
    pub white_list: WhiteList,
    /// The rules for its routes.
    pub rules: IrrRules,
}

impl Config {
    /// The number of a neighbor in IRR data; `None` if its routes are not compared with them. A dynamic neighbor of which no
    /// data were requested yet has [`IrrMember::WITHOUT_DATA`].
    pub fn irr_member(&self, neighbor: &Neighbor) -> Option<IrrMember> {
        let wanted = self.irr_settings(neighbor)?;
        let number = self.irr_members.number(&wanted);
        let number = number.and_then(|number| u16::try_from(number).ok().map(IrrMember));
        let number = number.filter(|number| *number <= IrrMember::MAX);
        Some(number.unwrap_or(IrrMember::WITHOUT_DATA))
    }

    /// Returns whether neighbors may connect whose routes are compared with IRR data and whose AS no section names.
    pub fn admits_unknown_members(&self) -> bool {
        let mut sections = self.dynamic_neighbors.iter();
        sections.any(|section| self.compares_unnamed(section))
    }

    /// Returns whether a connection from this address may be of a neighbor whose routes are compared with IRR data and
    /// whose AS no section names.
    pub fn admits_unknown_member(&self, address: IpAddr) -> bool {
        let mut sections = self.dynamic_neighbors.iter();
        let section = sections.find(|section| section.admits(address));
        section.is_some_and(|section| self.compares_unnamed(section))
    }

    fn compares_unnamed(&self, section: &DynamicNeighbor) -> bool {
        section.asns.is_empty() && self.irr_settings(&section.template).is_some()
    }

    /// This configuration while these dynamic neighbors are connected.
    pub fn with_dynamic_members(&self, members: BTreeSet<(IpAddr, Asn)>) -> Config {
        let mut config = self.clone();
        config.dynamic_members = members;
        config.number_irr_members(&self.irr_members);
        config
    }

    /// The dynamic neighbors whose AS is known, because a section names it or because they are connected.
    fn known_dynamic_neighbors(&self) -> impl Iterator<Item = Neighbor> {
        let named = self.dynamic_neighbors.iter().flat_map(|section| {
            let anybody = section.template.address;
            let asns = section.asns.iter();
            asns.map(move |asn| section.neighbor(anybody, *asn))
        });
        let connected = self.dynamic_members.iter().filter_map(|(address, asn)| {
            let mut sections = self.dynamic_neighbors.iter();
            let section = sections.find(|section| section.admits(*address))?;
            let is_admitted = section.admits_asn(*asn);
            is_admitted.then(|| section.neighbor(*address, *asn))
        });
        named.chain(connected)
    }

    /// Gives numbers to the members. A member keeps the number that it has in `running`, so that the routes of others
    /// need no evaluation after a reload.
    pub(crate) fn number_irr_members(&mut self, running: &StableNumbers<IrrMemberSettings>) {
        let configured = self
            .neighbors
            .iter()
            .map(|neighbor| self.irr_settings(neighbor));
        let dynamic = self.known_dynamic_neighbors();
        let dynamic = dynamic.map(|neighbor| self.irr_settings(&neighbor));
        let wanted = configured.chain(dynamic).flatten();
        // Equal settings first, then other settings of the same AS.
        self.irr_members = running.renumbered(wanted, |settings| settings.asn);
    }

    fn irr_settings(&self, neighbor: &Neighbor) -> Option<IrrMemberSettings> {
        let irr = self.irr.as_ref()?;
        let check = neighbor.checks.irr;
        let wanted = check != IrrCheck::Off || self.marks_irr_state();
        if !wanted || neighbor.import != ImportRule::Checks {
            return None;
        }
        let as_sets = match neighbor.as_sets.as_slice() {
            [] if neighbor.is_unnamed => vec![format!("AS{}", neighbor.asn)],
            named => named.to_vec(),
        };
        Some(IrrMemberSettings {
            asn: neighbor.asn,
            as_sets,
            is_unnamed: neighbor.is_unnamed,
            white_list: neighbor.white_list.clone(),
            rules: IrrRules {
                origin: matches!(
                    check,
                    IrrCheck::Origin | IrrCheck::OriginAndPrefix | IrrCheck::Bound
                ),
                prefix: matches!(check, IrrCheck::Prefix | IrrCheck::OriginAndPrefix),
                bound: check == IrrCheck::Bound,
                longer: irr.allow_longer_prefixes,
                roas: irr.roas_as_route_objects,
            },
        })
    }
}
