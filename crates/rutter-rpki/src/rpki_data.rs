//! VRPs and ASPAs of one or several documents.

use crate::document::Document;
use crate::{Aspas, AspasBuilder, Vrps, VrpsBuilder};

/// The VRPs and ASPAs of a validator's JSON document, or of several.
///
/// A part is `None` where no document has it. That differs from an empty set: without ASPAs no path is verified.
#[derive(PartialEq, Debug, Default)]
pub struct RpkiData {
    /// Validated ROA payloads, from the key `roas`.
    pub vrps: Option<Vrps>,
    /// ASPAs, from the key `aspas`.
    pub aspas: Option<Aspas>,
}

impl RpkiData {
    /// Parses a JSON document. The error has line and column. One invalid entry refuses the document: a maximum length
    /// that does not fit the prefix, bits of the address below its length, an ASPA without providers.
    pub fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        let document: Document = serde_json::from_slice(text)?;
        Ok(RpkiData {
            vrps: document.vrps.map(VrpsBuilder::build),
            aspas: document.aspas.map(AspasBuilder::build),
        })
    }

    /// Merges data of several documents. Equal VRPs count once, and a customer has the providers of all its ASPAs.
    pub fn merge(all: impl IntoIterator<Item = RpkiData>) -> Self {
        let merged = all.into_iter().reduce(|one, other| RpkiData {
            vrps: merged(one.vrps, other.vrps, |one, other| {
                let mut builder = VrpsBuilder::new();
                [one, other].iter().for_each(|set| builder.add_all(set));
                builder.build()
            }),
            aspas: merged(one.aspas, other.aspas, |one, other| {
                let mut builder = AspasBuilder::new();
                [one, other].iter().for_each(|set| builder.add_all(set));
                builder.build()
            }),
        });
        merged.unwrap_or_default()
    }
}

fn merged<T>(one: Option<T>, other: Option<T>, merge: impl FnOnce(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(merge(one, other)),
        (one, other) => one.or(other),
    }
}
