//! The process of the daemon.

use rutter_api::{AwaitedNeighbor, SelectionDeferralRow, StatusRow};

use super::string;
use crate::v1;

impl From<StatusRow> for v1::Status {
    fn from(row: StatusRow) -> Self {
        let StatusRow {
            version,
            pid,
            uptime_s,
            started_at,
            asn,
            router_id,
            threads,
            config_file,
            config_loaded_at,
            last_reload_error,
            peers,
            established,
            cpu_s,
            rss_bytes,
            table_bytes,
            table_limit_bytes,
            table_limit_exceeded,
            selection_deferral,
        } = row;
        v1::Status {
            version,
            pid,
            uptime_s,
            started_at,
            asn,
            router_id: string(router_id),
            threads,
            config_file,
            config_loaded_at,
            last_reload_error,
            peers,
            established,
            cpu_s,
            rss_bytes,
            table_bytes,
            table_limit_bytes,
            table_limit_exceeded,
            selection_deferral: selection_deferral.map(Into::into),
        }
    }
}

impl From<SelectionDeferralRow> for v1::SelectionDeferral {
    fn from(row: SelectionDeferralRow) -> Self {
        let SelectionDeferralRow {
            remaining_s,
            awaited,
        } = row;
        v1::SelectionDeferral {
            remaining_s,
            awaited: awaited.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<AwaitedNeighbor> for v1::AwaitedNeighbor {
    fn from(row: AwaitedNeighbor) -> Self {
        let AwaitedNeighbor { address, families } = row;
        v1::AwaitedNeighbor {
            address: string(address),
            families,
        }
    }
}
