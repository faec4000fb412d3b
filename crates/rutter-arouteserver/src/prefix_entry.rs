//! Entries of ARouteServer's prefix lists.

use rutter_net::Prefix;

use crate::yaml::{Section, Value};

/// An entry of a prefix list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PrefixEntry {
    pub(crate) prefix: Prefix,
    /// The lengths that match.
    lengths: (u8, u8),
}

impl PrefixEntry {
    /// Reads an entry. The caller may read further keys.
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        let network = section.get("prefix");
        let length = section.get("length");
        let exact = section.bool("exact");
        let _ = section.get("comment");
        let (from, to) = (section.get("ge"), section.get("le"));
        let (Some(network), Some(length)) = (network, length) else {
            section.error("write `prefix` and `length`");
            return None;
        };
        let text = format!("{}/{}", network.text()?, length.text()?);
        let Ok(prefix) = text.parse::<Prefix>() else {
            network.error(format!("`{text}` is not a prefix"));
            return None;
        };
        let longest = match prefix {
            Prefix::V4(_) => 32,
            Prefix::V6(_) => 128,
        };
        let bound = |value: Option<Value<'_>>| value.and_then(|v| v.parse::<u8>("a prefix length"));
        let lengths = match exact {
            Some(true) => (prefix.len(), prefix.len()),
            _ => (
                bound(from).unwrap_or(prefix.len()),
                bound(to).unwrap_or(longest),
            ),
        };
        if lengths.0 < prefix.len() || lengths.0 > lengths.1 || lengths.1 > longest {
            network.error(format!(
                "the lengths {} to {} do not fit {prefix}",
                lengths.0, lengths.1
            ));
            return None;
        }
        Some(PrefixEntry { prefix, lengths })
    }

    /// Reads a list of entries without further keys.
    pub(crate) fn read_list(list: Option<Value<'_>>) -> Vec<Self> {
        let items = list.map_or_else(Vec::new, |list| list.list());
        let entries = items.iter().map(Value::section);
        entries.filter_map(|entry| Self::read(&entry)).collect()
    }
}

impl std::fmt::Display for PrefixEntry {
    /// Writes the entry as Rutter's lists have it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let longest = match self.prefix {
            Prefix::V4(_) => 32,
            Prefix::V6(_) => 128,
        };
        let own = self.prefix.len();
        match self.lengths {
            (from, to) if from == own && to == longest => write!(f, "{}", self.prefix),
            (from, to) if from == own && to == own => write!(f, "{} exact", self.prefix),
            (from, to) => write!(f, "{} {from}-{to}", self.prefix),
        }
    }
}

/// Returns entries as strings.
pub(crate) fn notations(entries: &[PrefixEntry]) -> Vec<String> {
    entries.iter().map(PrefixEntry::to_string).collect()
}
