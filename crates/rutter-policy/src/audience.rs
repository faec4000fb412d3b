//! The audience of a route: the clients that receive it, and the changes that its action communities ask for.

use rutter_net::Asn;

use crate::action_table::Hit;
use crate::{Action, Recipient, RttClasses, RttPrepends, RttThresholds};

/// The clients that may receive a route, and the changes for each of them. The form is canonical: equal audiences
/// compare and hash equal, so the table can share one audience between attribute sets.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AudienceSpec {
    /// Whether clients receive the route unless `except` names them.
    pub default_allow: bool,
    /// The clients for which `default_allow` is reversed; sorted, without duplicates.
    pub except: Vec<Asn>,
    /// The round-trip times for which `default_allow` is reversed, unless `except` or `confirmed` names the client.
    pub rtt_reversed: RttClasses,
    /// The clients for which `default_allow` holds whatever their round-trip time; sorted. Empty without
    /// `rtt_reversed`.
    pub confirmed: Vec<Asn>,
    /// How often to prepend the sender's AS for clients that neither `prepend` nor `rtt_prepend` names.
    pub prepend_all: u8,
    /// Prepends per client; sorted by AS, without duplicates. Entries equal to `prepend_all` are left out where
    /// `rtt_prepend` is empty.
    pub prepend: Vec<(Asn, u8)>,
    /// Prepends by round-trip time for clients that `prepend` does not name.
    pub rtt_prepend: RttPrepends,
    /// NO_EXPORT is added for all clients; `add_no_export_to` is then empty.
    pub add_no_export: bool,
    /// NO_EXPORT is added for these clients; sorted.
    pub add_no_export_to: Vec<Asn>,
    /// NO_ADVERTISE is added for all clients; `add_no_advertise_to` is then empty.
    pub add_no_advertise: bool,
    /// NO_ADVERTISE is added for these clients; sorted.
    pub add_no_advertise_to: Vec<Asn>,
    /// GRACEFUL_SHUTDOWN is added for all external clients, because this speaker is about to stop (RFC 8326).
    pub add_graceful_shutdown: bool,
    /// BLACKHOLE was received, or a community that means the same: some clients do not receive routes that were accepted for it (RFC 7999).
    pub blackhole: bool,
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
        rtt_reversed: RttClasses::NONE,
        confirmed: Vec::new(),
        prepend_all: 0,
        prepend: Vec::new(),
        rtt_prepend: RttPrepends::NONE,
        add_no_export: false,
        add_no_export_to: Vec::new(),
        add_no_advertise: false,
        add_no_advertise_to: Vec::new(),
        add_graceful_shutdown: false,
        blackhole: false,
        no_export: false,
        no_advertise: false,
    };

    /// Returns whether all clients receive the route unchanged.
    pub fn is_everyone(&self) -> bool {
        *self == Self::EVERYONE
    }

    /// Returns whether a client may receive the route. The caller applies [`Self::no_export`], because that depends on the
    /// kind of neighbor.
    pub fn allows(&self, client: impl Into<Recipient>) -> bool {
        let Recipient { asn, rtt } = client.into();
        let reversed = self.except.binary_search(&asn).is_ok()
            || self.rtt_reversed.contains(rtt) && self.confirmed.binary_search(&asn).is_err();
        !self.no_advertise && self.default_allow != reversed
    }

    /// Returns how often to prepend for a client.
    pub fn prepends_for(&self, client: impl Into<Recipient>) -> u8 {
        let Recipient { asn, rtt } = client.into();
        match self.prepend.binary_search_by_key(&asn, |(asn, _)| *asn) {
            Ok(index) => self.prepend[index].1,
            Err(_) => self.rtt_prepend.times(rtt).unwrap_or(self.prepend_all),
        }
    }

    /// Returns whether the audience distinguishes clients by their round-trip times.
    pub fn depends_on_rtt(&self) -> bool {
        !self.rtt_reversed.is_empty() || !self.rtt_prepend.is_empty()
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
            || !self.rtt_prepend.is_empty()
            || self.add_no_export
            || !self.add_no_export_to.is_empty()
            || self.add_no_advertise
            || !self.add_no_advertise_to.is_empty()
            || self.add_graceful_shutdown
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
    rtt_deny: RttClasses,
    rtt_allow: RttClasses,
    prepend_any: u8,
    prepend: Vec<(Asn, u8)>,
    /// Threshold in milliseconds and number of prepends.
    prepend_rtt_lower: Vec<(u32, u8)>,
    prepend_rtt_higher: Vec<(u32, u8)>,
    pub(crate) add_no_export: bool,
    add_no_export_to: Vec<Asn>,
    add_no_advertise: bool,
    add_no_advertise_to: Vec<Asn>,
    pub(crate) add_graceful_shutdown: bool,
    pub(crate) blackhole: bool,
    pub(crate) no_export: bool,
    pub(crate) no_advertise: bool,
}

impl ExportActions {
    /// Adds an action.
    pub(crate) fn add(
        &mut self,
        Hit {
            action,
            variable,
            times,
        }: Hit,
        thresholds: &RttThresholds,
    ) {
        let peer = Asn(variable);
        let (up_to, above) = match action.names_rtt() {
            true => (thresholds.up_to(variable), thresholds.above(variable)),
            false => Default::default(),
        };
        match action {
            Action::NotToRttLower => self.rtt_deny = self.rtt_deny.or(up_to),
            Action::NotToRttHigher => self.rtt_deny = self.rtt_deny.or(above),
            Action::ToRttLower => self.rtt_allow = self.rtt_allow.or(up_to),
            Action::ToRttHigher => self.rtt_allow = self.rtt_allow.or(above),
            Action::PrependRttLower => self.prepend_rtt_lower.push((variable, times)),
            Action::PrependRttHigher => self.prepend_rtt_higher.push((variable, times)),
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
            Action::Blackhole => self.blackhole = true,
        }
    }

    /// Combines the actions into an audience in its canonical form.
    pub(crate) fn audience(mut self, thresholds: &RttThresholds) -> AudienceSpec {
        let default_allow = !self.not_to_any;
        sort(&mut self.deny);
        sort(&mut self.allow);
        self.allow
            .retain(|asn| self.deny.binary_search(asn).is_err());
        let rtt_reversed = match default_allow {
            true => self.rtt_deny,
            false => self.rtt_allow.minus(self.rtt_deny),
        };
        let (deny, allow) = (
            std::mem::take(&mut self.deny),
            std::mem::take(&mut self.allow),
        );
        let (except, mut confirmed) = if default_allow {
            (deny, allow)
        } else {
            (allow, deny)
        };
        if rtt_reversed.is_empty() {
            confirmed.clear();
        }
        let nobody =
            self.no_advertise || (!default_allow && except.is_empty() && rtt_reversed.is_empty());
        if nobody {
            return AudienceSpec {
                default_allow: false,
                no_export: self.no_export,
                no_advertise: self.no_advertise,
                ..AudienceSpec::EVERYONE
            };
        }
        let to = AudienceSpec {
            default_allow,
            except,
            rtt_reversed,
            confirmed,
            ..AudienceSpec::EVERYONE
        };
        self.transformed(to, thresholds)
    }

    /// Adds the modifications for clients that may receive the route.
    fn transformed(self, to: AudienceSpec, thresholds: &RttThresholds) -> AudienceSpec {
        let may_receive = |asn: &Asn| {
            let is_in = |asns: &[Asn]| asns.binary_search(asn).is_ok();
            let depends_on_rtt = !to.rtt_reversed.is_empty() && !is_in(&to.confirmed);
            match to.default_allow {
                true => !is_in(&to.except),
                false => is_in(&to.except) || depends_on_rtt,
            }
        };
        let named = |mut asns: Vec<Asn>, all: bool| {
            asns.retain(|asn| !all && may_receive(asn));
            sort(&mut asns);
            asns
        };
        let rtt_prepend = self.rtt_prepends(thresholds);
        let mut prepend = self.prepend;
        prepend.sort_unstable_by_key(|(asn, times)| (*asn, std::cmp::Reverse(*times)));
        prepend.dedup_by_key(|(asn, _)| *asn);
        prepend.retain(|(asn, times)| {
            let is_default = *times == self.prepend_any && rtt_prepend.is_empty();
            !is_default && may_receive(asn)
        });
        AudienceSpec {
            prepend_all: self.prepend_any,
            prepend,
            rtt_prepend,
            add_no_export: self.add_no_export,
            add_no_export_to: named(self.add_no_export_to, self.add_no_export),
            add_no_advertise: self.add_no_advertise,
            add_no_advertise_to: named(self.add_no_advertise_to, self.add_no_advertise),
            add_graceful_shutdown: self.add_graceful_shutdown,
            blackhole: self.blackhole,
            no_export: self.no_export,
            ..to
        }
    }

    /// The prepends by round-trip time: the threshold that is closest to the client's time decides, and the largest
    /// number among those with the same threshold.
    fn rtt_prepends(&self, thresholds: &RttThresholds) -> RttPrepends {
        let mut prepends = RttPrepends::NONE;
        let mut higher = self.prepend_rtt_higher.clone();
        higher.sort_unstable_by(|a, b| b.cmp(a));
        for (ms, times) in higher {
            prepends.add(thresholds.above(ms), times);
        }
        let mut lower = self.prepend_rtt_lower.clone();
        lower.sort_unstable_by_key(|(ms, times)| (*ms, std::cmp::Reverse(*times)));
        for (ms, times) in lower {
            prepends.add(thresholds.up_to(ms), times);
        }
        prepends
    }
}

fn sort(asns: &mut Vec<Asn>) {
    asns.sort_unstable();
    asns.dedup();
}
