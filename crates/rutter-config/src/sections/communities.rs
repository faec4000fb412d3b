//! `[communities]`: action communities.

use std::net::IpAddr;

use rutter_net::Asn;
use rutter_policy::{Action, ActionCommunity, Notation, Rtt, RttThresholds, WellKnown};

use super::custom::{self, CustomCommunities};
use super::tags::Tags;
use crate::key_rows::{KeyRows, section};
use crate::toml_values::{Item, Section};
use crate::{Neighbor, rtt_file, value_forms};

section! {
    /// Action communities, with which members control the advertisement of their routes.
    pub struct Communities = "[communities]" {
        /// Advertise to no peer except those named by `to-peer`.
        "not-to-any": "notations", default "none", reload Reevaluates
            => not_to_any: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::NotToAny);
        /// Do not advertise to the peer.
        "not-to-peer": "notations", default "none", reload Reevaluates
            => not_to_peer: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::NotToPeer);
        /// Advertise to all peers, which is the default. It does not cancel other actions, and is scrubbed like them.
        "to-any": "notations", default "none", reload Reevaluates
            => to_any: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::ToAny);
        /// Advertise to the peer even with `not-to-any`.
        "to-peer": "notations", default "none", reload Reevaluates
            => to_peer: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::ToPeer);
        /// Advertise to the named peers only.
        "only-to-peer": "notations", default "none", reload Reevaluates
            => only_to_peer: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::OnlyToPeer);
        /// Prepend the sender's AS for all peers.
        "prepend-any": "notations, with range", default "none", reload Reevaluates
            => prepend_any: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::PrependAny);
        /// Prepend the sender's AS for the peer.
        "prepend-peer": "notations, with range", default "none", reload Reevaluates
            => prepend_peer: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::PrependPeer);
        /// Add NO_EXPORT for all peers.
        "no-export-any": "notations", default "none", reload Reevaluates
            => no_export_any: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::NoExportAny);
        /// Add NO_EXPORT for the peer.
        "no-export-peer": "notations", default "none", reload Reevaluates
            => no_export_peer: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::NoExportPeer);
        /// Add NO_ADVERTISE for all peers.
        "no-advertise-any": "notations", default "none", reload Reevaluates
            => no_advertise_any: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::NoAdvertiseAny);
        /// Add NO_ADVERTISE for the peer.
        "no-advertise-peer": "notations", default "none", reload Reevaluates
            => no_advertise_peer: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::NoAdvertisePeer);
        /// Do not advertise to peers with a round-trip time up to the threshold `rtt`. Peers without a known time are never concerned.
        "not-to-rtt-lower": "notations", default "none", reload Reevaluates
            => not_to_rtt_lower: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::NotToRttLower);
        /// Do not advertise to peers with a round-trip time above the threshold.
        "not-to-rtt-higher": "notations", default "none", reload Reevaluates
            => not_to_rtt_higher: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::NotToRttHigher);
        /// Advertise to peers with a round-trip time up to the threshold, even with `not-to-any`.
        "to-rtt-lower": "notations", default "none", reload Reevaluates
            => to_rtt_lower: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::ToRttLower);
        /// Advertise to peers with a round-trip time above the threshold, even with `not-to-any`.
        "to-rtt-higher": "notations", default "none", reload Reevaluates
            => to_rtt_higher: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::ToRttHigher);
        /// Prepend the sender's AS for peers with a round-trip time up to the threshold.
        "prepend-rtt-lower": "notations, with range", default "none", reload Reevaluates
            => prepend_rtt_lower: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::PrependRttLower);
        /// Prepend the sender's AS for peers with a round-trip time above the threshold.
        "prepend-rtt-higher": "notations, with range", default "none", reload Reevaluates
            => prepend_rtt_higher: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::PrependRttHigher);
        /// The round-trip times that communities can name, in milliseconds and ascending. Communities with other times are removed and do nothing.
        "rtt-thresholds": "numbers", default "`[5, 10, 15, 20, 30, 50, 100, 200, 500]`", reload Reevaluates
            => rtt_thresholds: RttThresholds = RttThresholds::default(), read thresholds;
        /// The round-trip times of clients without `rtt`: lines of address and milliseconds (`192.0.2.11,12.5`), or a JSON object (`{ "192.0.2.11": 12.5 }`); relative to this file.
        "rtt-file": "path", default "none", reload Reevaluates
            => rtts: Vec<(IpAddr, Rtt)> = Vec::new(), read rtt_file::rtts;
        /// This speaker is about to stop: add GRACEFUL_SHUTDOWN (RFC 8326) to all routes that leave our AS, so that peers move their traffic first.
        "perform-graceful-shutdown": "true, false", default "false", reload Reevaluates
            => perform_graceful_shutdown: bool = false, read Item::bool;
        /// Communities of your own that mean the same as BLACKHOLE (RFC 7999), for members without the well-known one. They count where `checks.blackhole` accepts it. Rutter adds BLACKHOLE and removes them.
        "blackhole": "notations", default "none", reload Reevaluates
            => blackhole: Vec<ActionCommunity> = Vec::new(), read |i| notations(i, Action::Blackhole);
        /// NO_EXPORT and NO_ADVERTISE of a received route: pass them on, or honour them here.
        "rfc1997": "`\"pass\"`, `\"honour\"`", default "`\"pass\"` with `[exchange]`, else `\"honour\"`", reload Reevaluates
            => rfc1997: WellKnown = WellKnown::Honour,
            read |i| i.word(&[("pass", WellKnown::Pass), ("honour", WellKnown::Honour)]);
        /// Remove action communities before advertising.
        "scrub": "true, false", default "true", reload Reevaluates
            => scrub: bool = true, read Item::bool;
        /// 16-bit aliases of members with 32-bit AS numbers, for standard communities.
        "aliases": "`{ \"64600\" = 4200000001 }`", default "none", reload Reevaluates
            => aliases: Vec<(u16, Asn)> = Vec::new(), read aliases;
        /// Informational communities that Rutter adds, see below.
        "tags": "`{ rpki-valid = \"self:1000:1\" }`", default "none", reload Reevaluates
            => tags: Tags = Tags::new(), table "{ rpki-valid = \"self:1000:1\" }";
        /// Informational communities with names of your own, which Rutter adds to the routes of some members (`attach-communities`) or prefixes, see below.
        "custom": "`{ transit = \"self:2000:1\" }`", default "none", reload Reevaluates
            => custom: CustomCommunities = CustomCommunities::default(), read custom::custom;
    }
}

impl Communities {
    /// Returns the communities of all actions.
    pub fn actions(&self) -> Vec<ActionCommunity> {
        [
            &self.not_to_any,
            &self.not_to_peer,
            &self.to_any,
            &self.to_peer,
            &self.only_to_peer,
            &self.prepend_any,
            &self.prepend_peer,
            &self.no_export_any,
            &self.no_export_peer,
            &self.no_advertise_any,
            &self.no_advertise_peer,
            &self.not_to_rtt_lower,
            &self.not_to_rtt_higher,
            &self.to_rtt_lower,
            &self.to_rtt_higher,
            &self.prepend_rtt_lower,
            &self.prepend_rtt_higher,
            &self.blackhole,
        ]
        .into_iter()
        .flatten()
        .copied()
        .collect()
    }

    /// Returns the round-trip time of an address in `rtt-file`.
    pub fn rtt_of(&self, address: IpAddr) -> Option<Rtt> {
        let place = self.rtts.binary_search_by_key(&address, |(of, _)| *of);
        Some(self.rtts[place.ok()?].1)
    }

    /// Warns of communities by round-trip time where no time is known.
    pub(crate) fn check_rtts(&self, section: &Section<'_>, neighbors: &[Neighbor]) {
        let has_file = section.get("rtt-file").is_some();
        let is_known = has_file || neighbors.iter().any(|n| n.session.rtt.is_some());
        let by_rtt = Action::ALL.iter().filter(|(action, _)| action.names_rtt());
        let Some(item) = by_rtt.clone().find_map(|(_, key)| section.get(key)) else {
            return;
        };
        if !is_known {
            item.warning(
                "this has no effect, because no client has a round-trip time",
                "write rtt-file = \"rtt.csv\" here, or rtt = 12.5 in [[member]]",
            );
        }
    }

    /// Reports notations that have two meanings, or that no community can match.
    pub(crate) fn check(section: &Section<'_>, local: Asn) {
        let mut known: Vec<ActionCommunity> = Vec::new();
        for (action, key) in Action::ALL {
            let items = section.get(key).map_or_else(Vec::new, |item| item.list());
            for item in items {
                let Some(community) = item
                    .as_str()
                    .and_then(|text| ActionCommunity::new(action, text.parse().ok()?).ok())
                else {
                    continue;
                };
                if check_notation(&item, &community, local, &known) {
                    known.push(community);
                }
            }
        }
        let mut tags: Vec<(Notation, String)> = Vec::new();
        section.edit("tags", |item| {
            if let Some(table) = item.table() {
                let section = Section::reopen(item, table, &[Tags::KEYS]);
                Tags::check(&section, local, &known, &mut tags);
            }
        });
        custom::check(section, local, &known, &mut tags);
    }
}

fn check_notation(
    item: &Item<'_>,
    community: &ActionCommunity,
    local: Asn,
    known: &[ActionCommunity],
) -> bool {
    let notation = &community.notation;
    if never_matches(notation, local) {
        item.error(
            format!("`{notation}`: AS{local} does not fit the 16 bits of a standard community"),
            "write a number instead of `self`, or a large community: \"self:0:peer\"",
        );
        return false;
    }
    let Some(other) = known.iter().find(|known| known.collides(community, local)) else {
        return true;
    };
    let key = other.action.key();
    match other.notation == *notation {
        true => item.error(
            format!("`{notation}` already means {key}"),
            "a notation can have only one meaning",
        ),
        false => item.error(
            format!(
                "`{notation}` and `{}` of {key} can be the same community",
                other.notation
            ),
            "give each action numbers of its own",
        ),
    }
    false
}

fn never_matches(notation: &Notation, local: Asn) -> bool {
    notation.is_standard() && notation.names_self() && !local.is_two_octet()
}

/// Reads the notations of an action.
fn notations(item: &Item<'_>, action: Action) -> Option<Vec<ActionCommunity>> {
    Some(item.each(|item| {
        let notation = item.parse::<Notation>("self:0:peer")?;
        let community = ActionCommunity::new(action, notation);
        if let Err(why) = &community {
            item.error(why.to_string(), "see \"Action communities\" in the manual");
        }
        community.ok()
    }))
}

/// Reads thresholds of round-trip times.
fn thresholds(item: &Item<'_>) -> Option<RttThresholds> {
    let ms = item.each(|item| item.int(0..=60_000).map(|ms| ms as u32));
    if ms.len() < item.list().len() {
        return None;
    }
    let thresholds = RttThresholds::new(ms);
    if thresholds.is_none() {
        item.error(
            format!(
                "the thresholds are not in ascending order, or more than {}",
                RttThresholds::MAX
            ),
            "write milliseconds like [5, 10, 20, 50]",
        );
    }
    thresholds
}

fn aliases(item: &Item<'_>) -> Option<Vec<(u16, Asn)>> {
    let Some(table) = item.table() else {
        item.error("expected a table", "write { \"64600\" = 4200000001 }");
        return None;
    };
    let mut aliases = Vec::new();
    for (short, value) in table.iter() {
        let key = format!("{}.{}", item.key, short.get_ref());
        let value = Item {
            source: item.source,
            key,
            value,
        };
        match short.get_ref().parse::<u16>() {
            Ok(number) if number > 0 => {
                aliases.extend(value_forms::asn(&value).map(|asn| (number, asn)))
            }
            _ => value.error(
                "the alias is not a 16-bit number",
                "write { \"64600\" = 4200000001 }",
            ),
        }
    }
    Some(aliases)
}
