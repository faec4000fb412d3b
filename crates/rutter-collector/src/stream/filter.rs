//! What a client wants to hear: the filters of RIS Live.

use std::fmt;
use std::net::IpAddr;

use rutter_net::Prefix;
use serde_json::Value;

use super::message::Update;

/// A subscription. Everything that is given must match; nothing given matches all.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Filter {
    /// Name of the collector.
    pub host: Option<String>,
    /// Name of the monitored router.
    pub router: Option<String>,
    /// `UPDATE` or `RIS_PEER_STATE`.
    pub kind: Option<String>,
    /// Address of the peer.
    pub peer: Option<IpAddr>,
    /// UPDATEs with announcements, or with withdrawals.
    pub require: Option<Require>,
    /// Part of the AS path.
    pub path: Option<PathPart>,
    /// Prefixes, of which one must match.
    pub prefixes: Vec<Prefix>,
    /// Parts of the prefixes match too; they do unless the client says otherwise.
    pub more_specific: bool,
    /// Prefixes around them match too.
    pub less_specific: bool,
}

/// What an UPDATE must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Require {
    /// Announcements.
    Announcements,
    /// Withdrawals.
    Withdrawals,
}

/// AS numbers that stand in the path in this order, without others between.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathPart {
    asns: Vec<u32>,
    first: bool,
    last: bool,
}

/// Why a subscription is not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilterError(String);

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FilterError {}

impl Filter {
    /// Reads the `data` of a `ris_subscribe`.
    pub fn read(data: &Value) -> Result<Self, FilterError> {
        let text = |key: &str| data[key].as_str().map(str::to_owned);
        let flag = |key: &str, default| data[key].as_bool().unwrap_or(default);
        let peer = match text("peer") {
            None => None,
            Some(peer) => {
                let parsed = peer.parse();
                Some(parsed.map_err(|_| wrong("peer", &peer, "an address"))?)
            }
        };
        let require = match text("require").as_deref() {
            None | Some("") => None,
            Some("announcements") => Some(Require::Announcements),
            Some("withdrawals") => Some(Require::Withdrawals),
            Some(other) => return Err(wrong("require", other, "announcements or withdrawals")),
        };
        let path = match &data["path"] {
            Value::String(path) => Some(PathPart::read(path)?),
            Value::Number(asn) => Some(PathPart::read(&asn.to_string())?),
            _ => None,
        };
        Ok(Filter {
            host: text("host"),
            router: text("router"),
            kind: text("type"),
            peer,
            require,
            path,
            prefixes: prefixes(&data["prefix"])?,
            more_specific: flag("moreSpecific", true),
            less_specific: flag("lessSpecific", false),
        })
    }

    /// Whether a message is wanted.
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

fn prefixes(value: &Value) -> Result<Vec<Prefix>, FilterError> {
    let read = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        let parsed = text.parse();
        parsed.map_err(|_| wrong("prefix", text, "a prefix like 192.0.2.0/24"))
    };
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(all) => all.iter().map(read).collect(),
        one => Ok(vec![read(one)?]),
    }
}

fn wrong(key: &str, value: &str, wanted: &str) -> FilterError {
    FilterError(format!("{key}: `{value}` is not {wanted}"))
}

impl PathPart {
    /// Reads `64500,64501`, with `^` before and `$` behind where the path must begin or end so.
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
        // Members of sets stand in no order, but they do stand in the path.
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
