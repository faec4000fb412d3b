//! Routes, and conditions on them.

use rutter_api::{
    AttributesRow, FindingRow, RejectRow, RejectedRow, RouteRow, RouteSource, UnknownAttributeRow,
};
use tonic::Status;

use super::{parse, string, strings};
use crate::v1;

/// The rows of a page without `limit`.
const PAGE: u32 = 100;
/// The largest `limit`.
const LONGEST_PAGE: u32 = 1_000;

/// Returns the filter of a list, for one page.
pub(crate) fn page_filter(
    filter: Option<v1::RouteFilter>,
    limit: u32,
    after: String,
) -> Result<rutter_api::RouteFilter, Status> {
    let limit = match limit {
        0 => PAGE,
        1..=LONGEST_PAGE => limit,
        _ => {
            return Err(Status::invalid_argument(format!(
                "limit: {limit}: write a number up to {LONGEST_PAGE}, and use `next` for more"
            )));
        }
    };
    let filter = filter.unwrap_or_default();
    let family = match v1::Family::try_from(filter.family) {
        Ok(v1::Family::Unspecified) => None,
        Ok(v1::Family::Ipv4) => Some(rutter_api::FamilyFilter::Ipv4),
        Ok(v1::Family::Ipv6) => Some(rutter_api::FamilyFilter::Ipv6),
        Err(unknown) => return Err(Status::invalid_argument(format!("family: {unknown}"))),
    };
    let within = filter.within.as_deref();
    Ok(rutter_api::RouteFilter {
        peer: filter.peer,
        family,
        within: within.map(|text| parse("within", text)).transpose()?,
        origin_as: filter.origin_as,
        path_as: filter.path_as,
        community: filter.community,
        reason: filter.reason,
        rejected: filter.rejected,
        best: filter.best,
        limit: Some(limit.into()),
        after: Some(after),
    })
}

impl From<RouteSource> for v1::RouteSource {
    fn from(row: RouteSource) -> Self {
        let RouteSource { name, address, asn } = row;
        v1::RouteSource {
            name,
            address: string(address),
            asn,
        }
    }
}

impl From<RouteRow> for v1::Route {
    fn from(row: RouteRow) -> Self {
        let RouteRow {
            prefix,
            peer,
            path_id,
            best,
            stale,
            long_lived_stale,
            locally_originated,
            rejected,
            origin_state,
            path_state,
            accepted_in_spite_of,
            attributes,
        } = row;
        v1::Route {
            prefix: string(prefix),
            peer: Some(peer.into()),
            path_id,
            best,
            stale,
            long_lived_stale,
            locally_originated,
            rejected: rejected.map(Into::into),
            origin_state,
            path_state,
            accepted_in_spite_of: accepted_in_spite_of.map(Into::into),
            attributes: Some(attributes.into()),
        }
    }
}

impl From<RejectRow> for v1::RejectReason {
    fn from(row: RejectRow) -> Self {
        let RejectRow {
            code,
            name,
            explanation,
        } = row;
        v1::RejectReason {
            code: code.into(),
            name,
            explanation,
        }
    }
}

impl From<FindingRow> for v1::Finding {
    fn from(row: FindingRow) -> Self {
        let FindingRow { reason, evidence } = row;
        let RejectRow {
            code,
            name,
            explanation,
        } = reason;
        v1::Finding {
            code: code.into(),
            name,
            explanation,
            evidence,
        }
    }
}

impl From<RejectedRow> for v1::RejectedRoute {
    fn from(row: RejectedRow) -> Self {
        let RejectedRow { route, findings } = row;
        v1::RejectedRoute {
            route: Some(route.into()),
            findings: findings.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<AttributesRow> for v1::Attributes {
    fn from(row: AttributesRow) -> Self {
        let AttributesRow {
            origin,
            as_path,
            next_hop,
            link_local_next_hop,
            multi_exit_disc,
            local_pref,
            atomic_aggregate,
            aggregator,
            communities,
            extended_communities,
            large_communities,
            originator_id,
            cluster_list,
            only_to_customer,
            aigp,
            unknown,
        } = row;
        v1::Attributes {
            origin,
            as_path,
            next_hop: next_hop.map(string),
            link_local_next_hop: link_local_next_hop.map(string),
            multi_exit_disc,
            local_pref,
            atomic_aggregate,
            aggregator,
            communities,
            extended_communities,
            large_communities,
            originator_id: originator_id.map(string),
            cluster_list: strings(cluster_list),
            only_to_customer,
            aigp,
            unknown: unknown.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<UnknownAttributeRow> for v1::UnknownAttribute {
    fn from(row: UnknownAttributeRow) -> Self {
        let UnknownAttributeRow { code, flags, value } = row;
        v1::UnknownAttribute {
            code: code.into(),
            flags: flags.into(),
            value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_checked_field_by_field() {
        let page = |filter, limit| page_filter(Some(filter), limit, String::new());
        let base = v1::RouteFilter::default;
        assert_eq!(page(base(), 0).unwrap().limit, Some(100));
        let within = Some("192.0.2.0/24".to_owned());
        let filter = page(v1::RouteFilter { within, ..base() }, 7).unwrap();
        assert_eq!(filter.within.unwrap().to_string(), "192.0.2.0/24");
        assert_eq!(filter.limit, Some(7));
        let within = Some("192.0.2.1/24".to_owned());
        let refused = page(v1::RouteFilter { within, ..base() }, 0).unwrap_err();
        assert_eq!(refused.code(), tonic::Code::InvalidArgument);
        assert!(refused.message().starts_with("within: `192.0.2.1/24`: "));
        assert!(
            page(
                v1::RouteFilter {
                    family: 9,
                    ..base()
                },
                0
            )
            .is_err()
        );
        assert!(page(base(), 1_001).is_err());
    }
}
