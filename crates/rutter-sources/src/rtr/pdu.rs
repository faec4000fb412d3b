//! The PDUs of the RPKI to Router protocol: bytes to values and back (RFC 8210 §5).

use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use super::HIGHEST_VERSION;
use super::error_code::RtrErrorCode;
use super::intervals::RtrIntervals;
use super::pdu_fault::PduFault;
use super::records::VrpRecord;

/// A PDU with its version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    /// The version in the header.
    pub version: u8,
    /// The type in the header.
    pub kind: u8,
    /// The two bytes of the header that hold a session, an error code or flags.
    field: u16,
    /// The whole PDU with its header.
    pub wire: &'a [u8],
}

/// The content of a PDU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pdu<'a> {
    /// Type 0: the cache has new data.
    SerialNotify {
        /// The session.
        session: u16,
        /// The serial number of the new data.
        serial: u32,
    },
    /// Type 1: the router asks for changes.
    SerialQuery {
        /// The session of the router's data.
        session: u16,
        /// The serial number of the router's data.
        serial: u32,
    },
    /// Type 2: the router asks for all data.
    ResetQuery,
    /// Type 3: records follow.
    CacheResponse {
        /// The session.
        session: u16,
    },
    /// Types 4 and 6: a VRP.
    Vrp {
        /// Announced, or withdrawn.
        announce: bool,
        /// The VRP.
        vrp: VrpRecord,
    },
    /// Type 7: the answer is complete.
    EndOfData {
        /// The session.
        session: u16,
        /// The serial number of the data.
        serial: u32,
        /// The intervals. Version 0 has none.
        intervals: Option<RtrIntervals>,
    },
    /// Type 8: the cache cannot send changes. The router must ask for all data.
    CacheReset,
    /// Type 9: a BGPsec router key, which Rutter does not use.
    RouterKey,
    /// Type 10: an error.
    ErrorReport {
        /// The code.
        code: RtrErrorCode,
        /// The PDU with the error, possibly cut or empty.
        erroneous: &'a [u8],
        /// A diagnostic message in UTF-8, possibly empty.
        text: &'a [u8],
    },
    /// Type 11: the providers of a customer AS.
    Aspa {
        /// Announced, or withdrawn.
        announce: bool,
        /// The customer AS.
        customer: u32,
        /// The provider ASes. Empty if withdrawn.
        providers: Vec<u32>,
    },
}

/// The length of a header in bytes.
pub const HEADER_LEN: usize = 8;
/// The longest PDU in bytes. An ASPA of this length has more providers than any AS.
pub const MAX_PDU_LEN: u32 = 65_536;

const SERIAL_NOTIFY: u8 = 0;
const SERIAL_QUERY: u8 = 1;
const RESET_QUERY: u8 = 2;
const CACHE_RESPONSE: u8 = 3;
const IPV4_PREFIX: u8 = 4;
const IPV6_PREFIX: u8 = 6;
const END_OF_DATA: u8 = 7;
const CACHE_RESET: u8 = 8;
const ROUTER_KEY: u8 = 9;
const ERROR_REPORT: u8 = 10;
const ASPA: u8 = 11;

impl<'a> Frame<'a> {
    /// Cuts the first PDU from received bytes. `None` if it is not complete. The header is checked as soon as it is
    /// complete, so a wrong length is never waited for.
    ///
    /// # Errors
    /// If the version or type is unknown, or the length is wrong for the type.
    pub fn next(bytes: &'a [u8]) -> Result<Option<Frame<'a>>, PduFault> {
        let Some(head) = bytes.first_chunk::<HEADER_LEN>() else {
            return Ok(None);
        };
        let [version, kind, high, low, len @ ..] = *head;
        let len = u32::from_be_bytes(len);
        if version > HIGHEST_VERSION {
            return Err(PduFault::UnknownVersion(version));
        }
        if !is_length(version, kind, len)? {
            return Err(PduFault::Length { kind, len });
        }
        Ok(bytes.get(..len as usize).map(|wire| Frame {
            version,
            kind,
            field: u16::from_be_bytes([high, low]),
            wire,
        }))
    }

    /// Returns whether this is an ASPA.
    pub fn is_aspa(&self) -> bool {
        self.kind == ASPA
    }

    /// Decodes the content.
    ///
    /// # Errors
    /// If a value is out of range.
    pub fn decode(&self) -> Result<Pdu<'a>, PduFault> {
        let (session, body) = (self.field, &self.wire[HEADER_LEN..]);
        Ok(match self.kind {
            SERIAL_NOTIFY => Pdu::SerialNotify {
                session,
                serial: number(body, 0),
            },
            SERIAL_QUERY => Pdu::SerialQuery {
                session,
                serial: number(body, 0),
            },
            RESET_QUERY => Pdu::ResetQuery,
            CACHE_RESPONSE => Pdu::CacheResponse { session },
            IPV4_PREFIX | IPV6_PREFIX => Pdu::Vrp {
                announce: body[0] & 1 != 0,
                vrp: vrp(self.kind, body)?,
            },
            END_OF_DATA => Pdu::EndOfData {
                session,
                serial: number(body, 0),
                intervals: (body.len() == 16).then(|| RtrIntervals {
                    refresh_s: number(body, 4),
                    retry_s: number(body, 8),
                    expire_s: number(body, 12),
                }),
            },
            CACHE_RESET => Pdu::CacheReset,
            ROUTER_KEY => Pdu::RouterKey,
            ERROR_REPORT => self.error_report(body)?,
            _ => aspa(self.field >> 8 & 1 != 0, body)?,
        })
    }

    fn error_report(&self, body: &'a [u8]) -> Result<Pdu<'a>, PduFault> {
        let parts = || {
            let (erroneous, rest) = counted(body)?;
            let (text, rest) = counted(rest)?;
            rest.is_empty().then_some((erroneous, text))
        };
        let (erroneous, text) = parts().ok_or(PduFault::Length {
            kind: self.kind,
            len: self.wire.len() as u32,
        })?;
        Ok(Pdu::ErrorReport {
            code: RtrErrorCode(self.field),
            erroneous,
            text,
        })
    }
}

/// Returns whether a type has the length in this version.
fn is_length(version: u8, kind: u8, len: u32) -> Result<bool, PduFault> {
    Ok(match kind {
        SERIAL_NOTIFY | SERIAL_QUERY => len == 12,
        RESET_QUERY | CACHE_RESPONSE | CACHE_RESET => len == 8,
        IPV4_PREFIX => len == 20,
        IPV6_PREFIX => len == 32,
        END_OF_DATA => len == if version == 0 { 12 } else { 24 },
        ROUTER_KEY if version > 0 => (32..=MAX_PDU_LEN).contains(&len),
        ERROR_REPORT => (16..=MAX_PDU_LEN).contains(&len),
        ASPA if version > 1 => (12..=MAX_PDU_LEN).contains(&len) && len.is_multiple_of(4),
        _ => return Err(PduFault::UnknownType { version, kind }),
    })
}

/// The 32-bit number at an offset. The caller has checked the length.
fn number(body: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]])
}

/// Bytes after their count, and the rest.
fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (count, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_be_bytes(*count) as usize)
}

/// Bits below the prefix length are cleared: some caches send an operator's local entries as written.
fn vrp(kind: u8, body: &[u8]) -> Result<VrpRecord, PduFault> {
    let (len, max_len) = (body[1], body[2]);
    let asn = number(body, body.len() - 4);
    let prefix = if kind == IPV4_PREFIX {
        Ipv4Prefix::new(number(body, 4), len).map(Prefix::V4)
    } else {
        let words = [4, 8, 12, 16].map(|at| u128::from(number(body, at)));
        let bits = words.into_iter().fold(0, |bits, word| bits << 32 | word);
        Ipv6Prefix::new(bits, len).map(Prefix::V6)
    };
    let vrp = prefix.and_then(|prefix| VrpRecord::new(prefix, max_len, asn));
    vrp.ok_or(PduFault::PrefixLength { len, max_len })
}

/// Providers may come in any order here, although the draft sorts them.
fn aspa<'a>(announce: bool, body: &[u8]) -> Result<Pdu<'a>, PduFault> {
    let customer = number(body, 0);
    let mut providers: Vec<u32> = (4..body.len())
        .step_by(4)
        .map(|at| number(body, at))
        .collect();
    providers.sort_unstable();
    providers.dedup();
    let is_list = match providers.as_slice() {
        [] => !announce,
        [_] => announce,
        [first, ..] => announce && *first != 0,
    };
    if !is_list {
        return Err(PduFault::AspaProviders { customer });
    }
    Ok(Pdu::Aspa {
        announce,
        customer,
        providers,
    })
}

impl Pdu<'_> {
    /// Appends the PDU in a version. An End of Data in version 0 has no intervals.
    ///
    /// # Panics
    /// If the version does not have this PDU, which is an error of the caller.
    pub fn write(&self, version: u8, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[version, self.kind(), 0, 0, 0, 0, 0, 0]);
        out[start + 2..start + 4].copy_from_slice(&self.field().to_be_bytes());
        self.write_body(version, out);
        let len = (out.len() - start) as u32;
        assert_eq!(
            is_length(version, self.kind(), len),
            Ok(true),
            "{self:?} in version {version}"
        );
        out[start + 4..start + 8].copy_from_slice(&len.to_be_bytes());
    }

    fn kind(&self) -> u8 {
        match self {
            Pdu::SerialNotify { .. } => SERIAL_NOTIFY,
            Pdu::SerialQuery { .. } => SERIAL_QUERY,
            Pdu::ResetQuery => RESET_QUERY,
            Pdu::CacheResponse { .. } => CACHE_RESPONSE,
            Pdu::Vrp { vrp, .. } if vrp.is_ipv4() => IPV4_PREFIX,
            Pdu::Vrp { .. } => IPV6_PREFIX,
            Pdu::EndOfData { .. } => END_OF_DATA,
            Pdu::CacheReset => CACHE_RESET,
            Pdu::RouterKey => ROUTER_KEY,
            Pdu::ErrorReport { .. } => ERROR_REPORT,
            Pdu::Aspa { .. } => ASPA,
        }
    }

    fn field(&self) -> u16 {
        match self {
            Pdu::SerialNotify { session, .. }
            | Pdu::SerialQuery { session, .. }
            | Pdu::CacheResponse { session }
            | Pdu::EndOfData { session, .. } => *session,
            Pdu::ErrorReport { code, .. } => code.0,
            Pdu::Aspa { announce, .. } => u16::from(*announce) << 8,
            _ => 0,
        }
    }

    fn write_body(&self, version: u8, out: &mut Vec<u8>) {
        match self {
            Pdu::SerialNotify { serial, .. } | Pdu::SerialQuery { serial, .. } => {
                out.extend_from_slice(&serial.to_be_bytes());
            }
            Pdu::ResetQuery | Pdu::CacheResponse { .. } | Pdu::CacheReset => {}
            Pdu::Vrp { announce, vrp } => {
                let prefix = vrp.prefix();
                out.extend_from_slice(&[u8::from(*announce), prefix.len(), vrp.max_len(), 0]);
                match prefix {
                    Prefix::V4(prefix) => out.extend_from_slice(&prefix.bits().to_be_bytes()),
                    Prefix::V6(prefix) => out.extend_from_slice(&prefix.bits().to_be_bytes()),
                }
                out.extend_from_slice(&vrp.asn().to_be_bytes());
            }
            Pdu::EndOfData {
                serial, intervals, ..
            } => {
                out.extend_from_slice(&serial.to_be_bytes());
                if version > 0 {
                    let used = intervals.unwrap_or_default();
                    for number in [used.refresh_s, used.retry_s, used.expire_s] {
                        out.extend_from_slice(&number.to_be_bytes());
                    }
                }
            }
            // An empty key: 20 bytes of identifier and an AS number.
            Pdu::RouterKey => out.extend_from_slice(&[0; 24]),
            Pdu::ErrorReport {
                erroneous, text, ..
            } => {
                for part in [erroneous, text] {
                    out.extend_from_slice(&(part.len() as u32).to_be_bytes());
                    out.extend_from_slice(part);
                }
            }
            Pdu::Aspa {
                customer,
                providers,
                ..
            } => {
                for number in std::iter::once(customer).chain(providers) {
                    out.extend_from_slice(&number.to_be_bytes());
                }
            }
        }
    }
}
