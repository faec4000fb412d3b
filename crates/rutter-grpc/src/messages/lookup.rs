//! Look-ups of addresses.

use rutter_api::{LookupQuery, LookupRow, Request, RouteSelector};
use tonic::Status;

use super::{parse_all, string};
use crate::v1;

/// The largest number of addresses in one look-up.
const LOOKUPS: usize = 256;

/// Returns the request for the routes of some addresses.
pub(crate) fn request(message: v1::LookupRequest) -> Result<Request, Status> {
    let v1::LookupRequest {
        addresses,
        peers,
        next_hops,
        or_best,
    } = message;
    if addresses.is_empty() || addresses.len() > LOOKUPS {
        return Err(Status::invalid_argument(format!(
            "addresses: {} are given: write 1 to {LOOKUPS}",
            addresses.len()
        )));
    }
    Ok(Request::Lookup(LookupQuery {
        addresses: parse_all("addresses", &addresses)?,
        routes: RouteSelector {
            peers,
            next_hops: parse_all("next_hops", &next_hops)?,
        },
        or_best,
    }))
}

impl From<LookupRow> for v1::LookupResult {
    fn from(row: LookupRow) -> Self {
        let LookupRow {
            address,
            prefix,
            origin_as,
            peer,
            rov,
            fallback,
            stale,
            attributes,
        } = row;
        v1::LookupResult {
            address: string(address),
            prefix: prefix.map(string),
            origin_as,
            peer: peer.map(Into::into),
            rov,
            fallback,
            stale,
            attributes: attributes.map(Into::into),
        }
    }
}
