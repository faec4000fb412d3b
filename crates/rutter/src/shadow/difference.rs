//! A route that Rutter and the other route server do not advertise alike, and why.

use rutter_api::{AttributesRow, RouteSource};
use rutter_net::Prefix;
use serde::Serialize;

/// The kind of a difference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// The other route server advertises the prefix, and Rutter would not.
    Missing,
    /// Rutter would advertise the prefix, and the other route server does not.
    Extra,
    /// Both advertise the prefix, in another form or from another member.
    Differs,
}

impl Kind {
    /// All kinds.
    pub(super) const ALL: [Kind; 3] = [Kind::Missing, Kind::Extra, Kind::Differs];

    /// The name in rows.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Missing => "missing",
            Kind::Extra => "extra",
            Kind::Differs => "differs",
        }
    }
}

/// The reason of a difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reason {
    /// A stable name, by which reasons are counted.
    pub(super) name: String,
    /// The reason for people, with its evidence.
    pub(super) text: String,
}

/// A difference, as `--json` prints it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Difference {
    /// Always `shadow-difference`.
    #[serde(rename = "type")]
    pub(super) row: &'static str,
    /// The member that the routes are advertised to.
    pub(super) member: RouteSource,
    /// The destination.
    #[serde(serialize_with = "as_text")]
    pub(super) prefix: Prefix,
    /// The kind.
    pub(super) kind: Kind,
    /// The stable name of the reason.
    pub(super) reason: String,
    /// The reason for people.
    pub(super) explanation: String,
    /// The attributes that differ, if both routes come from one member.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) attributes: Vec<String>,
    /// The route that the other route server advertises.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advertised: Option<Side>,
    /// The route that Rutter would advertise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rutter: Option<Side>,
}

/// A route of one side.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Side {
    /// The member that announced it, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<RouteSource>,
    /// Its attributes, as advertised.
    #[serde(flatten)]
    pub(super) attributes: AttributesRow,
}

fn as_text<S: serde::Serializer>(prefix: &Prefix, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(prefix)
}
