//! `[communities]`: action communities.

use rutter_net::Asn;
use rutter_policy::{Action, ActionCommunity, Notation, WellKnown};

use super::tags::Tags;
use crate::key_rows::{KeyRows, section};
use crate::toml_values::{Item, Section};
use crate::value_forms;

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
        ]
        .into_iter()
        .flatten()
        .copied()
        .collect()
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
                if check_notation(&item, &community.notation, local, &known) {
                    known.push(community);
                }
            }
        }
        section.edit("tags", |item| {
            if let Some(table) = item.table() {
                let tags = Section::reopen(item, table, &[Tags::KEYS]);
                Tags::check(&tags, local, &known);
            }
        });
    }
}

fn check_notation(
    item: &Item<'_>,
    notation: &Notation,
    local: Asn,
    known: &[ActionCommunity],
) -> bool {
    if never_matches(notation, local) {
        item.error(
            format!("`{notation}`: AS{local} does not fit the 16 bits of a standard community"),
            "write a number instead of `self`, or a large community: \"self:0:peer\"",
        );
        return false;
    }
    let other = known.iter().find(|known| known.notation == *notation);
    if let Some(known) = other {
        item.error(
            format!("`{notation}` already means {}", known.action.key()),
            "a notation can have only one meaning",
        );
    }
    other.is_none()
}

fn never_matches(notation: &Notation, local: Asn) -> bool {
    matches!(notation, Notation::Standard(_)) && notation.names_self() && !local.is_two_octet()
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
