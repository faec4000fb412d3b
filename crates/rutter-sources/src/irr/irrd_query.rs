//! Queries in IRRd's own query language, and the contents of their answers.

use std::fmt;

use rutter_irr::{AsSetName, is_registry_name};
use rutter_net::{Asn, Family, Prefix};

/// A query of one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IrrdQuery {
    /// `!s`: selects the registries in which later queries search, in order.
    Registries(Vec<String>),
    /// `!s-lc`: the registries that are selected.
    CurrentRegistries,
    /// `!i`: the members of an AS-SET.
    Members(String),
    /// `!g` or `!6`: the prefixes of the route objects with an origin.
    Prefixes(Family, u32),
}

impl IrrdQuery {
    /// The query that selects registries.
    ///
    /// # Errors
    /// If a name has other characters than letters, digits, `-` and `_`, or there are no names.
    pub fn registries(names: &[String]) -> Result<Self, String> {
        if names.is_empty() {
            return Err("the list of registries is empty".to_owned());
        }
        match names.iter().find(|name| !is_registry_name(name)) {
            Some(name) => Err(format!(
                "`{name}` is not the name of a registry, such as RIPE"
            )),
            None => Ok(IrrdQuery::Registries(names.to_vec())),
        }
    }

    /// The members of a set, without those of the sets in it.
    pub fn members(name: &AsSetName) -> Self {
        IrrdQuery::Members(name.set().to_owned())
    }
}

impl fmt::Display for IrrdQuery {
    /// The line without its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IrrdQuery::Registries(names) => write!(f, "!s{}", names.join(",")),
            IrrdQuery::CurrentRegistries => f.write_str("!s-lc"),
            IrrdQuery::Members(set) => write!(f, "!i{set}"),
            IrrdQuery::Prefixes(Family::Ipv4Unicast, asn) => write!(f, "!gAS{asn}"),
            IrrdQuery::Prefixes(Family::Ipv6Unicast, asn) => write!(f, "!6AS{asn}"),
        }
    }
}

/// A member of an AS-SET.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AsSetMember {
    /// An AS number.
    Asn(u32),
    /// Another set.
    Set(AsSetName),
}

/// Parses the members of a set. Words of other kinds are counted and left out, because IRRs contain errors of their
/// users.
///
/// # Errors
/// If there are more than `limit` members.
pub(crate) fn members(data: &[u8], limit: usize) -> Result<(Vec<AsSetMember>, usize), String> {
    let parsed = words(data, limit, |word| {
        let asn = word
            .parse::<Asn>()
            .ok()
            .filter(|_| word.len() > 2 && is_as(word));
        let asn = asn.map(|asn| AsSetMember::Asn(asn.0));
        asn.or_else(|| word.parse().ok().map(AsSetMember::Set))
    });
    parsed.ok_or_else(|| format!("it has more than {limit} members"))
}

/// Parses prefixes of one family. Words of other kinds are counted and left out.
///
/// # Errors
/// If there are more than `limit` prefixes.
pub(crate) fn prefixes(
    data: &[u8],
    family: Family,
    limit: usize,
) -> Result<(Vec<Prefix>, usize), String> {
    let of_family = |prefix: &Prefix| prefix.family() == family;
    let parsed = words(data, limit, |word| word.parse().ok().filter(of_family));
    parsed.ok_or_else(|| format!("it has more than {limit} prefixes"))
}

fn is_as(word: &str) -> bool {
    word.get(..2)
        .is_some_and(|head| head.eq_ignore_ascii_case("AS"))
}

/// Parses words separated by spaces. Returns them with the number of words that cannot be parsed; `None` if more than
/// `limit` words can.
fn words<T>(
    data: &[u8],
    limit: usize,
    parse: impl Fn(&str) -> Option<T>,
) -> Option<(Vec<T>, usize)> {
    let mut parsed = Vec::new();
    let mut ignored = 0;
    for word in data
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
    {
        match std::str::from_utf8(word).ok().and_then(&parse) {
            Some(_) if parsed.len() == limit => return None,
            Some(item) => parsed.push(item),
            None => ignored += 1,
        }
    }
    Some((parsed, ignored))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_one_line() {
        let set: AsSetName = "RIPE::AS-FOO".parse().unwrap();
        let v6 = Family::Ipv6Unicast;
        for (query, line) in [
            (IrrdQuery::members(&set), "!iAS-FOO"),
            (
                IrrdQuery::Prefixes(Family::Ipv4Unicast, 64_500),
                "!gAS64500",
            ),
            (IrrdQuery::Prefixes(v6, 64_500), "!6AS64500"),
            (
                IrrdQuery::registries(&["RIPE".into(), "RADB".into()]).unwrap(),
                "!sRIPE,RADB",
            ),
        ] {
            assert_eq!(query.to_string(), line);
        }
        assert!(IrrdQuery::registries(&[]).is_err());
        assert!(IrrdQuery::registries(&["RIPE\n!q".into()]).is_err());
    }

    #[test]
    fn answers_are_lists_of_words() {
        let (found, ignored) = members(
            b"AS64500 as-foo AS1:AS-BAR\nPRFX AS99999999999 64500 AS\n",
            3,
        )
        .unwrap();
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], AsSetMember::Asn(64_500));
        assert_eq!(ignored, 4);
        let (found, ignored) = prefixes(
            b"192.0.2.0/24 2001:db8::/32 192.0.2.1/24",
            Family::Ipv4Unicast,
            1,
        )
        .unwrap();
        assert_eq!((found.len(), ignored), (1, 2));
        assert!(members(b"AS1 AS2 x", 1).is_err());
    }
}
