//! The filters of a client, as in RIS Live.

use std::fmt;
use std::net::IpAddr;

use rutter_net::Prefix;
use serde_json::Value;

use super::message::Update;

/// A subscription. All given fields must match; an empty subscription matches everything.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Filter {
    /// The name of the collector.
    pub host: Option<String>,
    /// The name of the monitored router.
    pub router: Option<String>,
    /// `UPDATE` or `RIS_PEER_STATE`.
    pub kind: Option<String>,
    /// The address of the peer.
    pub peer: Option<IpAddr>,
    /// Requires announcements, or withdrawals.
    pub require: Option<Require>,
    /// A part of the AS path.
    pub path: Option<PathPart>,
    /// The prefixes, of which one must match.
    pub prefixes: Vec<Prefix>,
    /// More specific prefixes match, too. This is the default.
    pub more_specific: bool,
    /// Less specific prefixes match, too.
    pub less_specific: bool,
}

/// The routes that an UPDATE must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Require {
    /// Announcements.
    Announcements,
    /// Withdrawals.
    Withdrawals,
}

/// Consecutive AS numbers of the path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathPart {
    asns: Vec<u32>,
    first: bool,
    last: bool,
}

/// The error of a subscription.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilterError(String);

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FilterError {}

impl Filter {
    /// Reads the `data` of a `ris_subscribe`. An unknown key is an error: if it were ignored, the filter would match
    /// too much.
    pub fn read(data: &Value) -> Result<Self, FilterError> {
        let mut filter = Filter {
            more_specific: true,
            ..Filter::default()
        };
        let keys = match data {
            Value::Null => return Ok(filter),
            Value::Object(keys) => keys,
            _ => return Err(FilterError("`data` is not an object".into())),
        };
        for (key, value) in keys {
            // Some clients write null for fields that they do not set.
            if !value.is_null() {
                filter.set(key, value)?;
            }
        }
        Ok(filter)
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), FilterError> {
        match key {
            "host" => self.host = Some(text(key, value)?.to_owned()),
            "router" => self.router = Some(text(key, value)?.to_owned()),
            "type" => self.kind = Some(word(key, value, &TYPES)?.to_owned()),
            "peer" => {
                let peer = text(key, value)?;
                self.peer = Some(peer.parse().map_err(|_| wrong(key, peer, "an address"))?);
            }
            "require" => {
                self.require = match word(key, value, &["announcements", "withdrawals", ""])? {
                    "announcements" => Some(Require::Announcements),
                    "withdrawals" => Some(Require::Withdrawals),
                    _ => None,
                }
            }
            "path" => self.path = Some(PathPart::read(&path(value)?)?),
            "prefix" => self.prefixes = prefixes(value)?,
            "moreSpecific" => self.more_specific = flag(key, value)?,
            "lessSpecific" => self.less_specific = flag(key, value)?,
            // These options concern the answer, not the filter.
            "socketOptions" => {}
            _ => {
                return Err(FilterError(format!(
                    "`{key}` is not known; known are host, router, type, peer, require, path, prefix, moreSpecific, \
                     lessSpecific and socketOptions"
                )));
            }
        }
        Ok(())
    }

    /// Returns whether a message matches.
    pub fn matches(&self, update: &Update) -> bool {
        let is =
            |wanted: &Option<String>, value: &str| wanted.as_deref().is_none_or(|w| w == value);
        is(&self.host, &update.host)
            && is(&self.router, &update.peer.router)
            && is(&self.kind, update.kind())
            && self.peer.is_none_or(|peer| peer == update.peer.address)
            && match self.require {
                None => true,
                Some(Require::Announcements) => !update.announced.is_empty(),
                Some(Require::Withdrawals) => !update.withdrawn.is_empty(),
            }
            && self
                .path
                .as_ref()
                .is_none_or(|part| update.paths().any(|p| part.matches(p)))
            && (self.prefixes.is_empty() || update.prefixes().any(|prefix| self.covers(prefix)))
    }

    fn covers(&self, prefix: Prefix) -> bool {
        self.prefixes.iter().any(|wanted| {
            *wanted == prefix
                || (self.more_specific && wanted.covers(prefix))
                || (self.less_specific && prefix.covers(*wanted))
        })
    }
}

/// The types of RIS Live. Only UPDATE and RIS_PEER_STATE are ever sent.
const TYPES: [&str; 5] = [
    "UPDATE",
    "RIS_PEER_STATE",
    "OPEN",
    "NOTIFICATION",
    "KEEPALIVE",
];

fn text<'a>(key: &str, value: &'a Value) -> Result<&'a str, FilterError> {
    let text = value.as_str();
    text.ok_or_else(|| wrong(key, &value.to_string(), "a text"))
}

fn word<'a>(key: &str, value: &'a Value, words: &[&str]) -> Result<&'a str, FilterError> {
    let text = text(key, value)?;
    match words.contains(&text) {
        true => Ok(text),
        false => Err(wrong(
            key,
            text,
            words.join(", ").trim_end_matches([',', ' ']),
        )),
    }
}

fn flag(key: &str, value: &Value) -> Result<bool, FilterError> {
    let flag = value.as_bool();
    flag.ok_or_else(|| wrong(key, &value.to_string(), "true or false"))
}

fn path(value: &Value) -> Result<String, FilterError> {
    match value {
        Value::Number(asn) => Ok(asn.to_string()),
        other => text("path", other).map(str::to_owned),
    }
}

fn prefixes(value: &Value) -> Result<Vec<Prefix>, FilterError> {
    let read = |value: &Value| {
        let text = text("prefix", value)?;
        let parsed = text.parse();
        parsed.map_err(|_| wrong("prefix", text, "a prefix like 192.0.2.0/24"))
    };
    match value {
        Value::Array(all) if all.is_empty() => Err(wrong("prefix", "[]", "a prefix, or several")),
        Value::Array(all) => all.iter().map(read).collect(),
        one => Ok(vec![read(one)?]),
    }
}

fn wrong(key: &str, value: &str, wanted: &str) -> FilterError {
    FilterError(format!("{key}: `{value}` is not {wanted}"))
}

impl PathPart {
    /// Parses `64500,64501`. A leading `^` anchors it at the start of the path, a trailing `$` at the end.
    fn read(text: &str) -> Result<Self, FilterError> {
        let (first, rest) = match text.strip_prefix('^') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (last, rest) = match rest.strip_suffix('$') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let asns = rest
            .split([',', ' '])
            .map(|asn| asn.trim().parse())
            .collect::<Result<Vec<u32>, _>>()
            .map_err(|_| wrong("path", text, "AS numbers like ^64500,64501$"))?;
        Ok(PathPart { asns, first, last })
    }

    fn matches(&self, path: &str) -> bool {
        // Members of an AS_SET count as part of the path, in their textual order.
        let separators = [' ', '{', '}', ',', '(', ')', '[', ']'];
        let asns: Vec<u32> = path
            .split(separators)
            .filter_map(|asn| asn.parse().ok())
            .collect();
        match (self.first, self.last) {
            (true, true) => asns == self.asns,
            (true, false) => asns.starts_with(&self.asns),
            (false, true) => asns.ends_with(&self.asns),
            (false, false) => asns.windows(self.asns.len()).any(|part| part == self.asns),
        }
    }
}
