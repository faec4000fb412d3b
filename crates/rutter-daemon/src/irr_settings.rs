//! The configuration of the IRR source, in its own terms.

use std::time::Duration;

use rutter_config::{Config, IrrMemberSettings, WhiteList};
use rutter_irr::ListEntry;
use rutter_net::Asn;
use rutter_policy::PrefixMatch;
use rutter_sources::irr::{self, IrrSettings};

/// Returns the settings of the IRR source; `None` without `[irr]`.
pub(crate) fn irr_settings(config: &Config) -> Option<IrrSettings> {
    let irr = config.irr.as_ref()?;
    let members = config.irr_members.iter();
    Some(IrrSettings {
        servers: irr.servers.clone(),
        sources: irr.sources.clone(),
        refresh: Duration::from_secs(irr.refresh_s.into()),
        keep_last_good: Duration::from_secs(irr.keep_last_good_s.into()),
        refuse_shrink: irr.refuse_shrink,
        files: irr.files.clone(),
        arin_whois: irr.arin_whois.clone(),
        registro_br: irr.registro_br.clone(),
        peeringdb: irr.peeringdb.clone(),
        members: members
            .map(|member| member.as_ref().map(member_settings))
            .collect(),
        ..IrrSettings::default()
    })
}

fn member_settings(member: &IrrMemberSettings) -> irr::IrrMemberSettings {
    let WhiteList {
        prefixes,
        asns,
        routes,
    } = &member.white_list;
    irr::IrrMemberSettings {
        asn: member.asn.0,
        as_sets: member.as_sets.clone(),
        is_unnamed: member.is_unnamed,
        rules: member.rules,
        white_asns: asns.iter().map(|asn| asn.0).collect(),
        white_prefixes: prefixes.iter().map(|prefix| entry(*prefix, None)).collect(),
        white_routes: routes
            .iter()
            .map(|route| entry(route.prefix, route.origin))
            .collect(),
    }
}

fn entry(prefix: PrefixMatch, origin: Option<Asn>) -> ListEntry {
    ListEntry {
        prefix: prefix.prefix,
        min_len: prefix.min_len,
        max_len: prefix.max_len,
        origin: origin.map(|asn| asn.0),
        line: None,
    }
}
