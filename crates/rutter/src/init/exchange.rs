//! The exchange that `rutter init` describes.

use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use rutter_net::{Asn, Prefix};

use crate::cli::InitArgs;
use crate::failure::Failure;

/// An exchange: the answers to all questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) asn: Asn,
    pub(crate) router_id: Ipv4Addr,
    pub(crate) lan: Vec<Prefix>,
    pub(crate) members: Vec<Member>,
    pub(crate) rtr: Vec<String>,
    pub(crate) irr_server: Option<String>,
}

impl Exchange {
    /// Takes all answers from the options. A missing one is an error.
    pub(crate) fn from_options(args: InitArgs) -> Result<Self, Failure> {
        let missing = |option: &str| {
            Failure::text(format!(
                "{option} is missing, and standard input is no terminal to ask on: see `rutter init --help`"
            ))
        };
        if args.lan.is_empty() {
            return Err(missing("--lan"));
        }
        Ok(Self {
            asn: args.asn.ok_or_else(|| missing("--asn"))?.0,
            router_id: args.router_id.ok_or_else(|| missing("--router-id"))?,
            lan: args.lan,
            members: args.member,
            rtr: args.rtr,
            irr_server: args.irr_server,
        })
    }
}

/// The AS number of a session's end: never 0, which no session may use (RFC 7607).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UsableAsn(pub(crate) Asn);

impl FromStr for UsableAsn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match Asn::from_str(text).map_err(|error| error.to_string())? {
            Asn(0) => Err("0 is no AS number: write 1 to 4294967295".to_owned()),
            asn => Ok(Self(asn)),
        }
    }
}

/// A member, written as `3333,192.0.2.11,2001:db8:1:1::11,RIPE::AS-FOO`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) asn: Asn,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) as_sets: Vec<String>,
}

impl FromStr for Member {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words = text.split(',').map(str::trim);
        let asn = words.next().unwrap_or_default();
        let UsableAsn(asn) = asn
            .parse()
            .map_err(|error| format!("the first part: {error}"))?;
        let (mut addresses, mut as_sets) = (Vec::new(), Vec::new());
        for word in words {
            match word.parse() {
                Ok(address) => addresses.push(address),
                Err(_) if is_as_set(word) => as_sets.push(word.to_owned()),
                Err(_) => return Err(format!("`{word}` is neither an address nor an AS-SET")),
            }
        }
        if addresses.is_empty() {
            return Err("an address is missing, as in 3333,192.0.2.11,AS-FOO".to_owned());
        }
        Ok(Self {
            asn,
            addresses,
            as_sets,
        })
    }
}

/// Returns whether this looks like `AS-FOO`, `RIPE::AS-FOO` or `AS3333:AS-CUSTOMERS`. The configuration checks it fully.
fn is_as_set(word: &str) -> bool {
    let name = word.rsplit(':').next().unwrap_or_default();
    name.get(..3)
        .is_some_and(|start| start.eq_ignore_ascii_case("AS-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_has_a_number_addresses_and_as_sets() {
        let member: Member = "AS3333,192.0.2.11, 2001:db8:1:1::11,RIPE::AS-FOO"
            .parse()
            .unwrap();
        assert_eq!(member.asn, Asn(3333));
        assert_eq!(member.addresses.len(), 2);
        assert_eq!(member.as_sets, ["RIPE::AS-FOO"]);
    }

    #[test]
    fn an_incomplete_member_is_an_error_that_names_the_part() {
        for (text, part) in [
            ("", "first part"),
            ("FOO,192.0.2.1", "first part"),
            ("0,192.0.2.1", "0 is no AS number"),
            ("3333", "address is missing"),
            ("3333,AS-FOO", "address is missing"),
            ("3333,192.0.2.256", "`192.0.2.256`"),
        ] {
            let error = text.parse::<Member>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
