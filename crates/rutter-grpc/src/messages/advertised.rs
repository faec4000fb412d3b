//! Routes as a client is sent them, and routes that it is not sent.

use rutter_api::{
    AdvertisedCountRow, AdvertisedList, AdvertisedQuery, AdvertisedRow, Request, RouteFilter,
    WithheldCountRow, WithheldReasonRow, WithheldRouteRow,
};
use tonic::Status;

use super::route::page_filter;
use super::{required, string};
use crate::v1;

/// Returns the request for a page of one of the lists.
pub(crate) fn request(
    message: v1::ListAdvertisedRequest,
    list: AdvertisedList,
) -> Result<Request, Status> {
    let v1::ListAdvertisedRequest {
        to,
        filter,
        limit,
        after,
    } = message;
    Ok(Request::Advertised(AdvertisedQuery {
        to: required("to", to)?,
        list,
        filter: page_filter(filter, limit, after)?,
    }))
}

/// Returns the request for the numbers of routes, from this place on.
pub(crate) fn count_request(
    message: v1::CountAdvertisedRequest,
    after: String,
) -> Result<Request, Status> {
    Ok(Request::Advertised(AdvertisedQuery {
        to: required("to", message.to)?,
        list: AdvertisedList::Count,
        filter: RouteFilter {
            after: Some(after),
            ..RouteFilter::default()
        },
    }))
}

impl From<AdvertisedRow> for v1::AdvertisedRoute {
    fn from(row: AdvertisedRow) -> Self {
        let AdvertisedRow {
            to,
            prefix,
            peer,
            path_id,
            best,
            stale,
            attributes,
        } = row;
        v1::AdvertisedRoute {
            to: Some(to.into()),
            prefix: string(prefix),
            peer: Some(peer.into()),
            path_id,
            best,
            stale,
            attributes: Some(attributes.into()),
        }
    }
}

impl From<WithheldRouteRow> for v1::WithheldRoute {
    fn from(row: WithheldRouteRow) -> Self {
        let WithheldRouteRow {
            to,
            withheld,
            route,
        } = row;
        let WithheldReasonRow { name, explanation } = withheld;
        v1::WithheldRoute {
            to: Some(to.into()),
            withheld: Some(v1::WithheldReason { name, explanation }),
            route: Some(route.into()),
        }
    }
}

impl From<AdvertisedCountRow> for v1::AdvertisedCount {
    fn from(row: AdvertisedCountRow) -> Self {
        let AdvertisedCountRow {
            to,
            family,
            prefixes,
            routes,
            withheld,
        } = row;
        v1::AdvertisedCount {
            to: Some(to.into()),
            family,
            prefixes,
            routes,
            withheld: withheld.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<WithheldCountRow> for v1::WithheldCount {
    fn from(row: WithheldCountRow) -> Self {
        let WithheldCountRow { routes, why } = row;
        let WithheldReasonRow { name, explanation } = why;
        v1::WithheldCount {
            routes,
            name,
            explanation,
        }
    }
}
