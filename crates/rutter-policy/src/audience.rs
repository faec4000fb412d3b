//! The audience of a route: the clients that receive it, and the changes that its action communities ask for.

use rutter_net::Asn;

use crate::Action;
use crate::action_table::Hit;

/// The clients that may receive a route, and the changes for each of them. The form is canonical: equal audiences
/// compare and hash equal, so the table can share one audience between attribute sets.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AudienceSpec {
    /// Whether clients receive the route unless `except` names them.
    pub default_allow: bool,
    /// The clients for which `default_allow` is reversed; sorted, without duplicates.
    pub except: Vec<Asn>,
    /// How often to prepend the sender's AS for clients that `prepend` does not name.
    pub prepend_all: u8,
    /// Prepends per client; sorted by AS, without duplicates and without entries equal to `prepend_all`.
    pub prepend: Vec<(Asn, u8)>,
    /// NO_EXPORT is added for all clients; `add_no_export_to` is then empty.
    pub add_no_export: bool,
    /// NO_EXPORT is added for these clients; sorted.
    pub add_no_export_to: Vec<Asn>,
    /// NO_ADVERTISE is added for all clients; `add_no_advertise_to` is then empty.
    pub add_no_advertise: bool,
    /// NO_ADVERTISE is added for these clients; sorted.
    pub add_no_advertise_to: Vec<Asn>,
    /// NO_EXPORT was received and is honoured: no external neighbor receives the route.
    pub no_export: bool,
    /// NO_ADVERTISE was received and is honoured: no neighbor receives the route.
    pub no_advertise: bool,
}

impl AudienceSpec {
    /// All clients receive the route unchanged.
    pub const EVERYONE: AudienceSpec = AudienceSpec {
        default_allow: true,
        except: Vec::new(),
        prepend_all: 0,
        prepend: Vec::new(),
        add_no_export: false,
        add_no_export_to: Vec::new(),
        add_no_advertise: false,
        add_no_advertise_to: Vec::new(),
        no_export: false,
        no_advertise: false,
    };

    /// Returns whether all clients receive the route unchanged.
    pub fn is_everyone(&self) -> bool {
        *self == Self::EVERYONE
    }

    /// Returns whether a client with this AS may receive the route. The caller applies [`Self::no_export`], because
    /// that depends on the kind of neighbor.
    pub fn allows(&self, asn: Asn) -> bool {
        !self.no_advertise && self.default_allow != self.except.binary_search(&asn).is_ok()
    }

    /// Returns how often to prepend for a client with this AS.
    pub fn prepends_for(&self, asn: Asn) -> u8 {
        match self.prepend.binary_search_by_key(&asn, |(asn, _)| *asn) {
            Ok(index) => self.prepend[index].1,
            Err(_) => self.prepend_all,
        }
    }

    /// Returns whether NO_EXPORT is added for a client with this AS.
    pub fn adds_no_export_for(&self, asn: Asn) -> bool {
        self.add_no_export || self.add_no_export_to.binary_search(&asn).is_ok()
    }

    /// Returns whether NO_ADVERTISE is added for a client with this AS.
    pub fn adds_no_advertise_for(&self, asn: Asn) -> bool {
        self.add_no_advertise || self.add_no_advertise_to.binary_search(&asn).is_ok()
    }

    /// Returns whether some client receives changed attributes (prepends, added communities).
    pub fn transforms(&self) -> bool {
        self.prepend_all > 0
            || !self.prepend.is_empty()
            || self.add_no_export
            || !self.add_no_export_to.is_empty()
            || self.add_no_advertise
            || !self.add_no_advertise_to.is_empty()
    }
}

impl Default for AudienceSpec {
    fn default() -> Self {
        Self::EVERYONE
    }
}

/// The actions that the communities of one route ask for, collected in any order.
#[derive(Debug, Default)]
pub(crate) struct ExportActions {
    not_to_any: bool,
    deny: Vec<Asn>,
    allow: Vec<Asn>,
    prepend_any: u8,
    prepend: Vec<(Asn, u8)>,
    pub(crate) add_no_export: bool,
    add_no_export_to: Vec<Asn>,
    add_no_advertise: bool,
    add_no_advertise_to: Vec<Asn>,
    pub(crate) no_export: bool,
    pub(crate) no_advertise: bool,
}

impl ExportActions {
    /// Adds an action.
    pub(crate) fn add(
        &mut self,
        Hit {
            action,
            peer,
            times,
        }: Hit,
    ) {
        match action {
            Action::NotToAny => self.not_to_any = true,
            Action::NotToPeer => self.deny.push(peer),
            Action::ToAny => {}
            Action::ToPeer => self.allow.push(peer),
            Action::OnlyToPeer => {
                self.not_to_any = true;
                self.allow.push(peer);
            }
            Action::PrependAny => self.prepend_any = self.prepend_any.max(times),
            Action::PrependPeer => self.prepend.push((peer, times)),
            Action::NoExportAny => self.add_no_export = true,
            Action::NoExportPeer => self.add_no_export_to.push(peer),
            Action::NoAdvertiseAny => self.add_no_advertise = true,
            Action::NoAdvertisePeer => self.add_no_advertise_to.push(peer),
        }
    }

    /// Combines the actions into an audience in its canonical form.
    pub(crate) fn audience(mut self) -> AudienceSpec {
        let default_allow = !self.not_to_any;
        sort(&mut self.deny);
        let except = if default_allow {
            std::mem::take(&mut self.deny)
        } else {
            sort(&mut self.allow);
            self.allow
                .retain(|asn| self.deny.binary_search(asn).is_err());
            std::mem::take(&mut self.allow)
        };
        let nobody = self.no_advertise || (!default_allow && except.is_empty());
        if nobody {
            return AudienceSpec {
                default_allow: false,
                no_export: self.no_export,
                no_advertise: self.no_advertise,
                ..AudienceSpec::EVERYONE
            };
        }
        self.transformed(default_allow, except)
    }

    fn transformed(self, default_allow: bool, except: Vec<Asn>) -> AudienceSpec {
        let advertised_to = |asn: &Asn| default_allow != except.binary_search(asn).is_ok();
        let named = |mut asns: Vec<Asn>, all: bool| {
            asns.retain(|asn| !all && advertised_to(asn));
            sort(&mut asns);
            asns
        };
        let mut prepend = self.prepend;
        prepend.sort_unstable_by_key(|(asn, times)| (*asn, std::cmp::Reverse(*times)));
        prepend.dedup_by_key(|(asn, _)| *asn);
        prepend.retain(|(asn, times)| *times != self.prepend_any && advertised_to(asn));
        AudienceSpec {
            default_allow,
            prepend_all: self.prepend_any,
            prepend,
            add_no_export: self.add_no_export,
            add_no_export_to: named(self.add_no_export_to, self.add_no_export),
            add_no_advertise: self.add_no_advertise,
            add_no_advertise_to: named(self.add_no_advertise_to, self.add_no_advertise),
            no_export: self.no_export,
            no_advertise: false,
            except,
        }
    }
}

fn sort(asns: &mut Vec<Asn>) {
    asns.sort_unstable();
    asns.dedup();
}
