//! The PDUs of a cache, in each state of the client.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Position, RtrClient, RtrOutput, State};
use crate::rtr::error_code::RtrErrorCode;
use crate::rtr::fault::RtrFault;
use crate::rtr::intervals::RtrIntervals;
use crate::rtr::pdu::{Frame, Pdu};
use crate::rtr::records::{RtrData, RtrRecords};
use crate::rtr::records_update::RtrUpdate;

impl RtrClient {
    /// Handles a PDU. An error ends the connection.
    pub(super) fn frame(&mut self, now: Instant, frame: &Frame<'_>) -> Result<(), RtrFault> {
        let pdu = frame.decode()?;
        if let Pdu::ErrorReport { code, text, .. } = pdu {
            return self.error_report(now, frame.version, code, text);
        }
        if let (None, Pdu::SerialNotify { .. }) = (self.agreed, &pdu) {
            // Its version does not count before the negotiation (RFC 8210 §7). A query is under way.
            return Ok(());
        }
        self.check_version(now, frame.version, &pdu)?;
        match pdu {
            Pdu::SerialNotify { session, serial } => self.serial_notify(now, session, serial),
            Pdu::CacheResponse { session } => self.cache_response(session),
            Pdu::EndOfData {
                session,
                serial,
                intervals,
            } => {
                let intervals = intervals.unwrap_or_default();
                let position = Position {
                    version: frame.version,
                    session,
                    serial,
                };
                self.end_of_data(now, position, intervals)
            }
            Pdu::CacheReset => match self.state {
                State::Queried { reset: false, .. } => {
                    self.position = None;
                    self.query(now);
                    Ok(())
                }
                _ => Err(RtrFault::Unexpected(frame.kind)),
            },
            record => self.record(record, frame.kind),
        }
    }

    /// Agrees on the version of the cache's first PDU, and holds the cache to it (RFC 8210 §7).
    fn check_version(&mut self, now: Instant, received: u8, pdu: &Pdu<'_>) -> Result<(), RtrFault> {
        let expected = self.agreed.unwrap_or(self.versions.offer());
        if received == expected {
            self.agreed = Some(received);
            return Ok(());
        }
        let fault = RtrFault::Version { expected, received };
        if self.agreed.is_some() || received > expected {
            return Err(fault);
        }
        let probe = self.settings.limits.version_probe;
        self.versions.agree(received, now, probe);
        // A cache that sends changes since a session of another version means another session.
        let is_change = matches!(self.state, State::Queried { reset: false, .. });
        if is_change && !matches!(pdu, Pdu::CacheReset) {
            return Err(fault);
        }
        self.agreed = Some(received);
        Ok(())
    }

    fn serial_notify(&mut self, now: Instant, session: u16, serial: u32) -> Result<(), RtrFault> {
        match (&mut self.state, self.position) {
            (
                State::Idle {
                    query_at,
                    answered_at,
                },
                Some(known),
            ) => {
                if session != known.session {
                    return Err(RtrFault::Session {
                        expected: known.session,
                        received: session,
                    });
                }
                if serial != known.serial {
                    let earliest = *answered_at + self.settings.limits.notify_gap;
                    *query_at = (*query_at).min(earliest.max(now));
                }
            }
            // The cache had no data, and has them now.
            (
                State::Idle {
                    query_at,
                    answered_at,
                },
                None,
            ) => {
                let earliest = *answered_at + self.settings.limits.notify_gap;
                *query_at = (*query_at).min(earliest.max(now));
            }
            _ => self.notified = Some(serial),
        }
        Ok(())
    }

    fn cache_response(&mut self, session: u16) -> Result<(), RtrFault> {
        let State::Queried { reset, wait } = self.state else {
            return Err(RtrFault::Unexpected(3));
        };
        if let Some(known) = self
            .position
            .filter(|known| !reset && known.session != session)
        {
            return Err(RtrFault::Session {
                expected: known.session,
                received: session,
            });
        }
        let update = RtrUpdate::default();
        self.state = State::Receiving {
            reset,
            session,
            update,
            wait,
        };
        Ok(())
    }

    fn record(&mut self, record: Pdu<'_>, kind: u8) -> Result<(), RtrFault> {
        let limit = self.settings.limits.max_records;
        let State::Receiving { update, .. } = &mut self.state else {
            return Err(RtrFault::Unexpected(kind));
        };
        match record {
            Pdu::Vrp { announce, vrp } => update.push_vrp(announce, vrp),
            Pdu::Aspa {
                announce,
                customer,
                providers,
            } => {
                update.push_aspa(customer, announce.then_some(providers));
            }
            Pdu::RouterKey => {}
            _ => return Err(RtrFault::Unexpected(kind)),
        }
        if update.counted() > limit {
            return Err(RtrFault::TooManyRecords(limit));
        }
        Ok(())
    }

    fn end_of_data(
        &mut self,
        now: Instant,
        position: Position,
        intervals: RtrIntervals,
    ) -> Result<(), RtrFault> {
        let state = std::mem::replace(&mut self.state, State::Connecting);
        let State::Receiving {
            reset,
            session,
            update,
            wait,
        } = state
        else {
            self.state = state;
            return Err(RtrFault::Unexpected(7));
        };
        // A fault below reads only the connection's state.
        self.state = State::Queried { reset, wait };
        if session != position.session {
            let received = position.session;
            return Err(RtrFault::Session {
                expected: session,
                received,
            });
        }
        if let Some(known) = self.position.filter(|_| !reset)
            && is_before(position.serial, known.serial)
        {
            return Err(RtrFault::SerialBack {
                old: known.serial,
                new: position.serial,
            });
        }
        let known = self.data.as_ref().map(|data| &data.records);
        let is_unchanged = !reset && update.counted() == 0;
        let records = match known {
            Some(known) if is_unchanged => known.clone(),
            Some(known) if !reset => self.apply(update, known)?,
            _ => self.apply(update, &RtrRecords::default())?,
        };
        let changed = known.is_none_or(|known| !Arc::ptr_eq(known, &records) && *known != records);
        let intervals = self.settings.intervals(intervals);
        self.data = Some(RtrData {
            records: match known {
                Some(known) if !changed => known.clone(),
                _ => records,
            },
            version: position.version,
            session: position.session,
            serial: position.serial,
            received_at: now,
            intervals,
        });
        self.position = Some(position);
        self.fault = None;
        self.outputs.push_back(RtrOutput::Data { changed });
        let limits = self.settings.limits;
        let is_behind = self
            .notified
            .take()
            .is_some_and(|serial| is_before(position.serial, serial));
        let refresh = if is_behind {
            limits.notify_gap
        } else {
            Duration::from_secs(intervals.refresh_s.into())
        };
        self.state = State::Idle {
            query_at: now + refresh,
            answered_at: now,
        };
        Ok(())
    }

    fn apply(&self, update: RtrUpdate, base: &RtrRecords) -> Result<Arc<RtrRecords>, RtrFault> {
        let records = update.apply(base).map_err(RtrFault::Conflict)?;
        let limit = self.settings.limits.max_records;
        if records.counted() > limit {
            return Err(RtrFault::TooManyRecords(limit));
        }
        Ok(Arc::new(records))
    }

    /// An Error Report ends the connection, unless the cache only lacks data (RFC 8210 §8.4, §12).
    fn error_report(
        &mut self,
        now: Instant,
        version: u8,
        code: RtrErrorCode,
        text: &[u8],
    ) -> Result<(), RtrFault> {
        let is_query = matches!(self.state, State::Queried { .. });
        if code == RtrErrorCode::NO_DATA_AVAILABLE
            && is_query
            && version <= self.agreed.unwrap_or(self.versions.offer())
        {
            self.agreed = self.agreed.or(Some(version));
            self.position = None;
            self.report(RtrFault::NoData);
            self.state = State::Idle {
                query_at: now + self.backoff(),
                answered_at: now,
            };
            return Ok(());
        }
        let offer = self.versions.offer();
        if self.agreed.is_none() && (code == RtrErrorCode::UNSUPPORTED_VERSION || version < offer) {
            let probe = self.settings.limits.version_probe;
            self.versions.refuse(version, now, probe);
        }
        let text = printable(text);
        Err(RtrFault::Reported { code, text })
    }
}

/// Compares serial numbers, which wrap around (RFC 1982).
fn is_before(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}

/// The message of an Error Report without control characters.
fn printable(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}
