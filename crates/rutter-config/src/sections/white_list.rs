//! `white-list`: routes of a member that are accepted although the registry does not have them.

use rutter_net::Asn;
use rutter_policy::PrefixMatch;

use crate::key_rows::section;
use crate::list_file::entries;
use crate::toml_values::Item;
use crate::value_forms::{asns, parse_prefix_match, prefix_matches};

section! {
    /// Exceptions to `checks.irr` for a member.
    #[derive(Hash)]
    pub struct WhiteList = "white-list" {
        /// Prefixes that count as registered.
        "prefixes": "prefixes", default "none", reload Reevaluates
            => prefixes: Vec<PrefixMatch> = Vec::new(), read prefix_matches;
        /// Origins that count as members of the AS-SETs.
        "asns": "AS numbers", default "none", reload Reevaluates
            => asns: Vec<Asn> = Vec::new(), read asns;
        /// Routes that pass the check: a prefix as in other lists, and an origin. Without an origin, any.
        "routes": "`[\"192.0.2.0/24 AS64500\"]`", default "none", reload Reevaluates
            => routes: Vec<WhiteRoute> = Vec::new(), read |i| Some(entries(i, route));
    }
}

/// A route of a white list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WhiteRoute {
    /// The prefixes.
    pub prefix: PrefixMatch,
    /// The origin; `None`: any.
    pub origin: Option<Asn>,
}

/// Reads `"192.0.2.0/24 AS64500"`, `"192.0.2.0/24 exact AS64500"` or `"192.0.2.0/24 25-28 AS64500"`.
fn route(item: &Item<'_>) -> Option<WhiteRoute> {
    let text = item.str("192.0.2.0/24 AS64500")?;
    let (prefix, origin) = match text.rsplit_once(char::is_whitespace) {
        Some((prefix, origin)) if origin.starts_with("AS") => (prefix.trim_end(), Some(origin)),
        _ => (text, None),
    };
    let origin = match origin.map(str::parse::<Asn>) {
        None => None,
        Some(Ok(asn)) if asn.0 != 0 => Some(asn),
        Some(_) => {
            item.error(
                format!("`{text}` does not end with an AS number"),
                "write a prefix and an origin like \"192.0.2.0/24 AS64500\"",
            );
            return None;
        }
    };
    match parse_prefix_match(prefix) {
        Ok(prefix) => Some(WhiteRoute { prefix, origin }),
        Err(why) => {
            item.error(
                why,
                "write a prefix and an origin like \"192.0.2.0/24 AS64500\"",
            );
            None
        }
    }
}
