//! The verification of paths by ASPAs, under the settings of a neighbor.

use rutter_rpki::{PathExplanation, PathVerdict, ReceivedPath};
use rutter_wire::attr::AsPath;

use crate::{ImportSettings, OutsideData};

/// Verifies a path; an absent one counts as empty. `None` if the policy verifies no paths, or without ASPAs.
pub(crate) fn verify(
    settings: &ImportSettings,
    data: &OutsideData,
    path: Option<AsPath<'_>>,
) -> Option<PathVerdict> {
    let relation = settings.path_relation()?;
    let aspas = data.aspas.as_ref()?;
    let path = path.unwrap_or(AsPath::EMPTY);
    Some(aspas.verify(ReceivedPath {
        relation,
        neighbor: settings.peer_asn,
        has_set: path.has_set(),
        asns: path.asns(),
    }))
}

/// Describes why a path is invalid, if it is.
pub(crate) fn explain(
    settings: &ImportSettings,
    data: &OutsideData,
    path: Option<AsPath<'_>>,
) -> Option<String> {
    let aspas = data.aspas.as_ref()?;
    match verify(settings, data, path)? {
        PathVerdict::Invalid(fault) => Some(PathExplanation { fault, aspas }.to_string()),
        PathVerdict::Valid | PathVerdict::Unknown => None,
    }
}
