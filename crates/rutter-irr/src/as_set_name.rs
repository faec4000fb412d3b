//! Names of AS-SETs, as operators, members and IRRs write them.

use std::fmt;
use std::str::FromStr;

use rutter_net::Asn;

/// The name of an AS-SET, and the registry if the name has one: `AS-FOO`, `AS64500:AS-FOO` or `RIPE::AS-FOO`.
///
/// In upper case. Letters, digits, `-`, `_` and `:` only, so a name cannot leave its line of a query.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AsSetName {
    registry: Option<String>,
    set: String,
}

impl AsSetName {
    /// The registry that the name requires, such as `RIPE`.
    pub fn registry(&self) -> Option<&str> {
        self.registry.as_deref()
    }

    /// The name in the registry.
    pub fn set(&self) -> &str {
        &self.set
    }

    /// Finds the names in a member's free text, as in PeeringDB's `irr_as_set`: separated by spaces, commas, slashes or
    /// `&`, with or without `RIPE::`, `RIPE:` or `ipv6:`. Words that are no names are left out.
    pub fn find_all(text: &str) -> Vec<AsSetName> {
        let mut names = Vec::new();
        for word in text.split(|c: char| c.is_whitespace() || ",;/&".contains(c)) {
            let bare = without_label(word);
            if let Ok(name) = bare.parse()
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }
}

/// Removes `ipv4:` or `ipv6:`, and doubles a single colon behind a registry (`RADB:AS-FOO`).
fn without_label(word: &str) -> String {
    let upper = word.trim().to_ascii_uppercase();
    let bare = ["IPV4:", "IPV6:"]
        .iter()
        .find_map(|label| upper.strip_prefix(label));
    let bare = bare.unwrap_or(&upper);
    match bare.split_once(':') {
        Some((first, rest)) if !first.starts_with("AS") && !rest.starts_with(':') => {
            format!("{first}::{rest}")
        }
        _ => bare.to_owned(),
    }
}

impl FromStr for AsSetName {
    type Err = ParseAsSetError;

    /// Parses a name (RFC 2622 §5): components separated by colons, each an AS number or a name that begins with `AS-`,
    /// at least one a name. `AS-FOO@RIPE` means `RIPE::AS-FOO`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseAsSetError(text.chars().take(MAX_NAME).collect());
        let upper = text.trim().to_ascii_uppercase();
        let (registry, set) = if let Some((registry, set)) = upper.split_once("::") {
            (Some(registry), set)
        } else if let Some((set, registry)) = upper.split_once('@') {
            (Some(registry), set)
        } else {
            (None, upper.as_str())
        };
        let has_name = set.split(':').any(|part| part.starts_with("AS-"));
        let is_set = has_name && set.split(':').all(is_component);
        if upper.len() > MAX_NAME || !is_set || !registry.is_none_or(is_registry_name) {
            return Err(error());
        }
        Ok(AsSetName {
            registry: registry.map(str::to_owned),
            set: set.to_owned(),
        })
    }
}

/// Longer names are refused. The longest in use have about 60 characters.
const MAX_NAME: usize = 200;

fn is_component(part: &str) -> bool {
    match part.strip_prefix("AS-") {
        Some(name) => !name.is_empty() && name.bytes().all(is_name_byte),
        None => part.starts_with("AS") && part.parse::<Asn>().is_ok() && !part.contains('.'),
    }
}

/// The registries that IRR servers mirror. Operators have others of their own.
pub const REGISTRIES: &[&str] = &[
    "AFRINIC",
    "ALTDB",
    "APNIC",
    "ARIN",
    "ARIN-NONAUTH",
    "BBOI",
    "BELL",
    "CANARIE",
    "IDNIC",
    "JPIRR",
    "KRNIC",
    "LACNIC",
    "LEVEL3",
    "NESTEGG",
    "NTTCOM",
    "OPENFACE",
    "PANIX",
    "RADB",
    "REACH",
    "RGNET",
    "RIPE",
    "RIPE-NONAUTH",
    "RPKI",
    "TC",
    "TWNIC",
    "WCGDB",
];

/// Returns whether a string can be the name of a registry: letters, digits, `-` and `_`.
pub fn is_registry_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 64 && name.bytes().all(is_name_byte)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

impl fmt::Display for AsSetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(registry) = &self.registry {
            write!(f, "{registry}::")?;
        }
        f.pad(&self.set)
    }
}

/// A string that is not the name of an AS-SET.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseAsSetError(String);

impl fmt::Display for ParseAsSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.0;
        write!(
            f,
            "`{text}` is not the name of an AS-SET: write AS-FOO, AS64500:AS-FOO or RIPE::AS-FOO"
        )
    }
}

impl std::error::Error for ParseAsSetError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_with_and_without_registry() {
        for (text, written) in [
            ("as-foo", "AS-FOO"),
            ("AS64500:AS-FOO:AS64501", "AS64500:AS-FOO:AS64501"),
            ("RIPE::AS-FOO", "RIPE::AS-FOO"),
            ("AS-FOO@ripe", "RIPE::AS-FOO"),
            (" arin-nonauth::as-foo_bar ", "ARIN-NONAUTH::AS-FOO_BAR"),
        ] {
            let name: AsSetName = text.parse().unwrap();
            assert_eq!(name.to_string(), written);
            assert_eq!(written.parse::<AsSetName>().unwrap(), name);
        }
        for text in [
            "",
            "AS64500",
            "AS-",
            "FOO",
            "AS-FOO\n!q",
            "AS-FOO,1",
            "::AS-FOO",
            "RI PE::AS-FOO",
            "AS-FOO:",
            "AS1.10:AS-FOO",
            "RIPE:AS-FOO",
            "AS-FOO BAR",
        ] {
            assert!(text.parse::<AsSetName>().is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_found_in_free_text() {
        for (text, names) in [
            ("RIPE::AS-FOO AS-BAR", "RIPE::AS-FOO AS-BAR"),
            (
                "RADB:AS-FOO, as-foo/AS-FOO & AS64500:AS-X",
                "RADB::AS-FOO AS-FOO AS64500:AS-X",
            ),
            ("ipv4:AS-FOO ipv6:AS-FOO-V6", "AS-FOO AS-FOO-V6"),
            ("none, please ask AS64500", ""),
            ("", ""),
        ] {
            let found: Vec<String> = AsSetName::find_all(text)
                .iter()
                .map(|n| n.to_string())
                .collect();
            assert_eq!(found.join(" "), names, "{text}");
        }
    }
}
