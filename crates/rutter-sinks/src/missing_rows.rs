//! Describes the rows that a store acknowledged and does not have any more, for `gap` rows.

use std::io;

use rutter_events::{Missing, utc};

use crate::spool::{Cursor, Damage, Gap, Position, Spool, Storage};
use crate::store::StoreProgress;

/// The reason for a gap if no other is known.
pub(crate) const STORE_CHANGED: &str = "the store is not at the committed position";

/// The rows that neither the store nor the spool has when a run begins.
pub(crate) fn at_start<M: Storage>(
    spool: &mut Spool<M>,
    held: StoreProgress,
    run: u64,
    cursor: Cursor,
) -> io::Result<Option<String>> {
    let StoreProgress {
        position, time_us, ..
    } = held;
    // A position of a later run means that the clock was set back: no rows are known to be missing.
    if position.is_some_and(|position| position.run > run) {
        return Ok(None);
    }
    if spool.is_new() {
        let before = position.filter(|position| position.run < run);
        return Ok(before.map(|position| {
            let missing = position.rest_of_run();
            // The number of a run is the time at which it began.
            missing.between(time_us, Some(run), "the spool with them was removed")
        }));
    }
    Ok(match spool.gap_between(position, cursor)? {
        Gap::None | Gap::AtEnd => None,
        Gap::Rows { damage, until_us } => {
            let missing = damage.missing();
            Some(missing.between(
                time_us,
                until_us,
                "neither the store nor the spool has them",
            ))
        }
    })
}

/// The rows that are missing after a store went back to an earlier position, as far as the spool no longer has
/// them. `committed` is the last committed position with its time.
pub(crate) fn after_rollback(
    held: StoreProgress,
    gap: Option<Gap>,
    committed: (Position, Option<u64>),
) -> String {
    let (damage, until_us) = match gap {
        Some(Gap::None) => return format!("no rows are missing: {STORE_CHANGED}"),
        Some(Gap::Rows { damage, until_us }) => (damage, until_us),
        Some(Gap::AtEnd) | None => {
            let damage = Damage {
                behind: held.position,
                before: Some(committed.0),
                bytes: 0,
            };
            (damage, None)
        }
    };
    let missing = damage.missing();
    missing.between(held.time_us, until_us.or(committed.1), STORE_CHANGED)
}

/// The rows that are missing after a store lost its position. `what` describes its loss up to the `committed`
/// position.
pub(crate) fn after_reset(
    committed: Position,
    last_us: Option<u64>,
    what: Option<String>,
) -> String {
    let Some(what) = what else {
        return format!("no rows are missing: {STORE_CHANGED}");
    };
    let missing = Missing::Before {
        run: committed.run,
        row: committed.next_seq,
    };
    missing.between(None, last_us, format_args!("{STORE_CHANGED}: {what}"))
}

/// The text for current routes that are not those we wrote.
pub(crate) fn changed_routes(counted_us: Option<u64>, now_us: u64) -> String {
    let since = counted_us.map_or_else(String::new, |at| format!("from {} ", utc(at)));
    let until = utc(now_us);
    format!(
        "somebody else added or removed rows of rutter_routes, {since}to {until}; no events are missing"
    )
}
