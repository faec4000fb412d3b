//! Answers `changes`.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{Failure, RowWriter};
use crate::{Backend, ChangeReader, ChangesQuery, Line};

/// The changes that are read from the log at a time.
const PART: usize = 64;
/// The time between two looks at the log.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A client that has nothing to read is sent its place in the log in this time.
const QUIET: Duration = Duration::from_secs(5);

/// Sends changes until the client disconnects. It costs its place in the log and one part, however slowly it reads.
pub(super) fn changes(
    backend: &dyn Backend,
    query: &ChangesQuery,
    rows: &mut RowWriter<'_>,
) -> Result<(), Failure> {
    let filter = query.filter.clone();
    let mut reader = ChangeReader::open(backend.rib(), filter, query.after, unix_us())?;
    let mut sent = send_place(&reader, rows)?;
    loop {
        let last = reader.last_number();
        let changes = reader
            .read(PART, unix_us())
            .map_err(|lost| too_late(last, lost.oldest))?;
        let is_at_the_end = changes.is_none();
        for change in changes.into_iter().flatten() {
            let change = Box::new(change);
            rows.send(&Line::Change { change })?;
            sent = Instant::now();
        }
        if sent.elapsed() >= QUIET {
            sent = send_place(&reader, rows)?;
        }
        if is_at_the_end {
            rows.flush()?;
            if rows.client_has_disconnected() {
                return Ok(());
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

/// Sends the client its place in the log.
fn send_place(reader: &ChangeReader, rows: &mut RowWriter<'_>) -> Result<Instant, Failure> {
    let number = reader.last_number();
    rows.send(&Line::ChangesRead { number })?;
    rows.flush()?;
    Ok(Instant::now())
}

/// The error of a client that has read up to change `last`, where `oldest` is the next one that is kept.
fn too_late(last: u64, oldest: u64) -> Failure {
    let lost = match oldest > last + 1 {
        true => format!(
            "the changes {} to {} are not kept any more",
            last + 1,
            oldest - 1
        ),
        false => format!("there is no change {}", last + 1),
    };
    Failure::ChangesLost(format!(
        "{lost}: read the table again, then watch from now on"
    ))
}

fn unix_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_micros() as u64)
}
