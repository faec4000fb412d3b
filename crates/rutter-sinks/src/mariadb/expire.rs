//! Old events: removed by their key, from its beginning, since they have no index by time.

use mysql::prelude::Queryable;

use super::{Session, fault};
use crate::store::Fault;

/// Old events removed at a time.
const EXPIRED: u64 = 20_000;

/// Up to where the oldest rows are old; where the clock was set back some stay until those before them are.
const OLD: &str = "SELECT run, seq FROM
    (SELECT run, seq, time FROM rutter_events WHERE collector_id = ? ORDER BY run, seq LIMIT 20000) e
    WHERE time < from_unixtime(?) ORDER BY run DESC, seq DESC LIMIT 1";

const REMOVE: &str = "DELETE FROM rutter_events
    WHERE collector_id = ? AND (run < ? OR run = ? AND seq <= ?) AND time < from_unixtime(?)";

/// `true` where there may be more.
pub(super) fn expire(session: &mut Session, before_us: u64) -> Result<bool, Fault> {
    let before_s = before_us as f64 / 1e6;
    let (conn, collector) = (&mut session.conn, session.collector);
    let old: Option<(u64, u64)> = conn
        .exec_first(OLD, (collector, before_s))
        .map_err(fault("cannot look for old events"))?;
    let Some((run, seq)) = old else {
        return Ok(false);
    };
    conn.exec_drop(REMOVE, (collector, run, run, seq, before_s))
        .map_err(fault("cannot remove old events"))?;
    Ok(conn.affected_rows() == EXPIRED)
}
