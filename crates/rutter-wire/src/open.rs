//! OPEN messages (RFC 4271 §4.2, RFC 5492, RFC 9072).

use rutter_net::Asn;

use crate::capability::Capability;
use crate::frame::{self, MessageType};
use crate::notification::{Notification, open as error};

/// The OPEN message (RFC 4271 §4.2), with the capabilities decoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Open {
    /// The AS number: from the capability if present, else from the field.
    pub asn: Asn,
    /// The two-octet field as received; AS_TRANS if `asn` does not fit.
    pub my_as_field: u16,
    /// Hold Time offered, seconds.
    pub hold_time_s: u16,
    /// BGP Identifier.
    pub bgp_id: u32,
    /// Capabilities in their order in the message.
    pub capabilities: Vec<Capability>,
}

/// Octets before the optional parameters, without the header.
const FIXED_LEN: usize = 10;
/// Type of the parameter that holds capabilities (RFC 5492 §4).
const CAPABILITIES: u8 = 2;
/// Marks the extended form (RFC 9072 §2).
const EXTENDED: u8 = 255;

impl Open {
    /// An OPEN to be sent; `my_as_field` is derived from the AS number.
    pub fn new(asn: Asn, hold_time_s: u16, bgp_id: u32, capabilities: Vec<Capability>) -> Self {
        Open {
            asn,
            my_as_field: if asn.is_two_octet() {
                asn.0 as u16
            } else {
                Asn::TRANS.0 as u16
            },
            hold_time_s,
            bgp_id,
            capabilities,
        }
    }

    /// Reads the body of an OPEN. The session checks the values (AS, identifier, hold time, roles).
    pub fn parse(body: &[u8]) -> Result<Self, Notification> {
        let (fixed, parameters) = body
            .split_at_checked(FIXED_LEN)
            .ok_or_else(error::malformed)?;
        if fixed[0] != 4 {
            return Err(error::unsupported_version());
        }
        let my_as_field = u16::from_be_bytes([fixed[1], fixed[2]]);
        let capabilities = parse_parameters(fixed[9], parameters)?;
        let four_octet = capabilities.iter().find_map(|c| match c {
            Capability::FourOctetAs(asn) => Some(*asn),
            _ => None,
        });
        Ok(Open {
            asn: four_octet.unwrap_or(Asn(u32::from(my_as_field))),
            my_as_field,
            hold_time_s: u16::from_be_bytes([fixed[3], fixed[4]]),
            bgp_id: u32::from_be_bytes([fixed[5], fixed[6], fixed[7], fixed[8]]),
            capabilities,
        })
    }

    /// Appends the whole message. All capabilities are in one parameter, which has the extended form of RFC 9072 if it
    /// needs it.
    ///
    /// # Panics
    ///
    /// If the capabilities exceed an OPEN (4,096 octets in all), which is an error of the caller.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut capabilities = Vec::new();
        for capability in &self.capabilities {
            capability.encode(&mut capabilities);
        }
        let start = frame::begin(out, MessageType::Open);
        out.push(4);
        out.extend_from_slice(&self.my_as_field.to_be_bytes());
        out.extend_from_slice(&self.hold_time_s.to_be_bytes());
        out.extend_from_slice(&self.bgp_id.to_be_bytes());
        let len = capabilities.len();
        match u8::try_from(len) {
            Ok(0) => out.push(0),
            Ok(len @ ..=252) => out.extend_from_slice(&[len + 2, CAPABILITIES, len]),
            _ => {
                let extended = u16::try_from(len + 3).expect("capabilities within an OPEN");
                out.extend_from_slice(&[EXTENDED, EXTENDED]);
                out.extend_from_slice(&extended.to_be_bytes());
                out.push(CAPABILITIES);
                out.extend_from_slice(&(len as u16).to_be_bytes());
            }
        }
        out.extend_from_slice(&capabilities);
        assert!(
            out.len() - start <= frame::MAX_LEN,
            "an OPEN within 4,096 octets"
        );
        frame::finish(out, start);
    }
}

/// Reads the optional parameters in either form.
fn parse_parameters(len: u8, bytes: &[u8]) -> Result<Vec<Capability>, Notification> {
    // RFC 9072 §2: the form is extended if the octet after a non-zero length is 255.
    let extended = len != 0 && bytes.first() == Some(&EXTENDED);
    let mut rest = if extended {
        let (&[_, high, low], rest) = bytes
            .split_first_chunk::<3>()
            .ok_or_else(error::malformed)?;
        exactly(rest, usize::from(u16::from_be_bytes([high, low])))?
    } else {
        exactly(bytes, usize::from(len))?
    };
    let mut capabilities = Vec::new();
    while !rest.is_empty() {
        let (kind, value, after) = parameter(rest, extended).ok_or_else(error::malformed)?;
        if kind != CAPABILITIES {
            return Err(error::unsupported_parameter());
        }
        parse_capabilities(value, &mut capabilities)?;
        rest = after;
    }
    Ok(capabilities)
}

fn exactly(bytes: &[u8], len: usize) -> Result<&[u8], Notification> {
    if bytes.len() == len {
        Ok(bytes)
    } else {
        Err(error::malformed())
    }
}

/// Returns type, value and rest.
fn parameter(bytes: &[u8], extended: bool) -> Option<(u8, &[u8], &[u8])> {
    let (&kind, rest) = bytes.split_first()?;
    let (len, rest) = if extended {
        let (&len, rest) = rest.split_first_chunk::<2>()?;
        (usize::from(u16::from_be_bytes(len)), rest)
    } else {
        let (&len, rest) = rest.split_first()?;
        (usize::from(len), rest)
    };
    let (value, rest) = rest.split_at_checked(len)?;
    Some((kind, value, rest))
}

fn parse_capabilities(
    mut bytes: &[u8],
    capabilities: &mut Vec<Capability>,
) -> Result<(), Notification> {
    while !bytes.is_empty() {
        let (code, value, after) = parameter(bytes, false).ok_or_else(error::malformed)?;
        let capability = Capability::parse(code, value).map_err(|_| error::malformed())?;
        capabilities.push(capability);
        bytes = after;
    }
    Ok(())
}
