//! Removes old events. They have no index by time, so they are removed by key from the beginning.

use mysql_async::params;

use super::{Session, store_error};
use crate::store::StoreError;

/// The number of old events removed at once.
const EXPIRED: u64 = 20_000;

/// The next rows after a key.
const PAGE: &str = "FROM rutter_events WHERE collector_id = :collector AND (run > :run OR run = :run AND seq > :seq)
    ORDER BY run, seq LIMIT 20000";

/// The last run and number of a page, the number of its rows, and the number of its rows with a future time.
type Page = (Option<u64>, Option<u64>, u64, u64);

/// Selects the last old row of the page. The rows before it are removed with it.
fn last_old() -> String {
    format!(
        "SELECT run, seq FROM (SELECT run, seq, time {PAGE}) e
         WHERE time < from_unixtime(:before) ORDER BY run DESC, seq DESC LIMIT 1"
    )
}

fn page() -> String {
    format!(
        "SELECT max(run), (SELECT max(seq) FROM (SELECT run, seq {PAGE}) l WHERE l.run = max(e.run)), count(*),
         coalesce(sum(time > utc_timestamp()), 0) FROM (SELECT run, seq, time {PAGE}) e"
    )
}

const REMOVE: &str = "DELETE FROM rutter_events
    WHERE collector_id = :collector AND (run > :run OR run = :run AND seq > :seq)
      AND (run < :last_run OR run = :last_run AND seq <= :last_seq) AND time < from_unixtime(:before)";

/// Removes some old events. Returns `true` if there may be more.
///
/// Rows are in the order of their arrival, which is the order of their times unless the clock was set. Rows
/// with a future time are skipped, and the search continues after them.
pub(super) fn expire(session: &mut Session, before_us: u64) -> Result<bool, StoreError> {
    let before = before_us as f64 / 1e6;
    let (collector, (run, seq)) = (session.collector, session.searched);
    let conn = &mut session.conn;
    let looked = || store_error("cannot look for old events");
    let from = params! { collector, run, seq, before };
    let old: Option<(u64, u64)> = conn.exec_first(last_old(), from).map_err(looked())?;
    if let Some((last_run, last_seq)) = old {
        let all = params! { collector, run, seq, last_run, last_seq, before };
        conn.exec_drop(REMOVE, all)
            .map_err(store_error("cannot remove old events"))?;
        if conn.affected_rows() == EXPIRED {
            return Ok(true);
        }
    }
    let from = params! { collector, run, seq };
    let page: Option<Page> = conn.exec_first(page(), from).map_err(looked())?;
    session.searched = match page {
        Some((Some(run), Some(seq), EXPIRED, 1..)) => (run, seq),
        _ => (0, 0),
    };
    Ok(session.searched != (0, 0))
}
