//! The origin of data.

use std::fmt;

/// The origin of data.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Origin {
    /// The RTR cache `host:port`.
    Cache(String),
    /// The files together.
    Files,
}

impl Origin {
    /// Parses the output of [`fmt::Display`].
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(' ') {
            Some(("cache", name)) => Some(Origin::Cache(name.to_owned())),
            None if text == "files" => Some(Origin::Files),
            _ => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Cache(name) => write!(f, "cache {name}"),
            Origin::Files => f.write_str("files"),
        }
    }
}
