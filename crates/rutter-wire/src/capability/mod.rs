//! Capabilities (RFC 5492): a row for each code here, a file for each capability that has a value.

mod add_path;
mod extended_next_hop;
mod four_octet_as;
mod fqdn;
mod graceful_restart;
mod long_lived;
mod multi_protocol;
mod role;
mod software_version;

use rutter_net::{AfiSafi, Asn};

pub use add_path::{AddPathFamily, AddPathMode};
pub use extended_next_hop::ExtendedNextHop;
pub use fqdn::Fqdn;
pub use graceful_restart::{GracefulRestart, GracefulRestartFamily, MAX_RESTART_TIME_S};
pub use long_lived::{LongLivedFamily, MAX_STALE_TIME_S};
pub use role::Role;

/// Capability codes.
pub mod code {
    /// Multiprotocol Extensions (RFC 4760).
    pub const MULTI_PROTOCOL: u8 = 1;
    /// Route Refresh (RFC 2918).
    pub const ROUTE_REFRESH: u8 = 2;
    /// Extended Next Hop Encoding (RFC 8950).
    pub const EXTENDED_NEXT_HOP: u8 = 5;
    /// Extended Message (RFC 8654).
    pub const EXTENDED_MESSAGE: u8 = 6;
    /// BGP Role (RFC 9234).
    pub const ROLE: u8 = 9;
    /// Graceful Restart (RFC 4724).
    pub const GRACEFUL_RESTART: u8 = 64;
    /// Four-octet AS numbers (RFC 6793).
    pub const FOUR_OCTET_AS: u8 = 65;
    /// ADD-PATH (RFC 7911).
    pub const ADD_PATH: u8 = 69;
    /// Enhanced Route Refresh (RFC 7313).
    pub const ENHANCED_ROUTE_REFRESH: u8 = 70;
    /// Long-Lived Graceful Restart (RFC 9494).
    pub const LONG_LIVED_GRACEFUL_RESTART: u8 = 71;
    /// Host and domain name.
    pub const FQDN: u8 = 73;
    /// Software version.
    pub const SOFTWARE_VERSION: u8 = 75;
}

/// An ability that a speaker announces.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Capability {
    /// A family is understood.
    MultiProtocol(AfiSafi),
    /// ROUTE-REFRESH messages are understood.
    RouteRefresh,
    /// Next hops of another address family are supported.
    ExtendedNextHop(Vec<ExtendedNextHop>),
    /// Messages of up to 65,535 octets are supported.
    ExtendedMessage,
    /// The speaker's role on this session.
    Role(Role),
    /// Graceful restart.
    GracefulRestart(GracefulRestart),
    /// The speaker's AS number in full.
    FourOctetAs(Asn),
    /// Path identifiers.
    AddPath(Vec<AddPathFamily>),
    /// BoRR and EoRR are supported.
    EnhancedRouteRefresh,
    /// Long-lived graceful restart.
    LongLivedGracefulRestart(Vec<LongLivedFamily>),
    /// The speaker's name.
    Fqdn(Fqdn),
    /// The speaker's software.
    SoftwareVersion(String),
    /// Any other capability, and a known one whose value is invalid but has no effect on the encoding.
    Unknown {
        /// Its code.
        code: u8,
        /// Its value as received.
        value: Vec<u8>,
    },
}

/// The value is invalid, and the capability would change the encoding of later messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MalformedCapability {
    /// The capability's code.
    pub code: u8,
}

impl Capability {
    /// The capability's code.
    pub fn code(&self) -> u8 {
        match self {
            Capability::MultiProtocol(_) => code::MULTI_PROTOCOL,
            Capability::RouteRefresh => code::ROUTE_REFRESH,
            Capability::ExtendedNextHop(_) => code::EXTENDED_NEXT_HOP,
            Capability::ExtendedMessage => code::EXTENDED_MESSAGE,
            Capability::Role(_) => code::ROLE,
            Capability::GracefulRestart(_) => code::GRACEFUL_RESTART,
            Capability::FourOctetAs(_) => code::FOUR_OCTET_AS,
            Capability::AddPath(_) => code::ADD_PATH,
            Capability::EnhancedRouteRefresh => code::ENHANCED_ROUTE_REFRESH,
            Capability::LongLivedGracefulRestart(_) => code::LONG_LIVED_GRACEFUL_RESTART,
            Capability::Fqdn(_) => code::FQDN,
            Capability::SoftwareVersion(_) => code::SOFTWARE_VERSION,
            Capability::Unknown { code, .. } => *code,
        }
    }

    /// Reads one capability from its code and value.
    pub fn parse(code: u8, value: &[u8]) -> Result<Self, MalformedCapability> {
        let typed = match code {
            code::MULTI_PROTOCOL => multi_protocol::parse(value).map(Self::MultiProtocol),
            code::ROUTE_REFRESH => value.is_empty().then_some(Self::RouteRefresh),
            code::EXTENDED_NEXT_HOP => extended_next_hop::parse(value).map(Self::ExtendedNextHop),
            code::EXTENDED_MESSAGE => value.is_empty().then_some(Self::ExtendedMessage),
            code::ROLE => Role::parse(value).map(Self::Role),
            code::GRACEFUL_RESTART => graceful_restart::parse(value).map(Self::GracefulRestart),
            code::FOUR_OCTET_AS => four_octet_as::parse(value).map(Self::FourOctetAs),
            code::ADD_PATH => add_path::parse(value).map(Self::AddPath),
            code::ENHANCED_ROUTE_REFRESH => value.is_empty().then_some(Self::EnhancedRouteRefresh),
            code::LONG_LIVED_GRACEFUL_RESTART => {
                long_lived::parse(value).map(Self::LongLivedGracefulRestart)
            }
            code::FQDN => fqdn::parse(value).map(Self::Fqdn),
            code::SOFTWARE_VERSION => software_version::parse(value).map(Self::SoftwareVersion),
            _ => None,
        };
        let changes_the_wire = [code::MULTI_PROTOCOL, code::FOUR_OCTET_AS, code::ADD_PATH];
        match typed {
            Some(capability) => Ok(capability),
            None if changes_the_wire.contains(&code) => Err(MalformedCapability { code }),
            None => Ok(Self::Unknown {
                code,
                value: value.to_vec(),
            }),
        }
    }

    /// Appends code, length and value.
    ///
    /// # Panics
    ///
    /// If the value exceeds 255 octets, which is an error of the caller.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.code(), 0]);
        let start = out.len();
        match self {
            Self::RouteRefresh | Self::ExtendedMessage | Self::EnhancedRouteRefresh => {}
            Self::MultiProtocol(afi_safi) => multi_protocol::write(out, *afi_safi),
            Self::ExtendedNextHop(entries) => extended_next_hop::write(out, entries),
            Self::Role(role) => out.push(*role as u8),
            Self::GracefulRestart(body) => graceful_restart::write(out, body),
            Self::FourOctetAs(asn) => out.extend_from_slice(&asn.0.to_be_bytes()),
            Self::AddPath(families) => add_path::write(out, families),
            Self::LongLivedGracefulRestart(families) => long_lived::write(out, families),
            Self::Fqdn(name) => fqdn::write(out, name),
            Self::SoftwareVersion(version) => software_version::write(out, version),
            Self::Unknown { value, .. } => out.extend_from_slice(value),
        }
        let len = u8::try_from(out.len() - start).expect("a capability within 255 octets");
        out[start - 1] = len;
    }
}

/// The longest prefix of `text` with at most `max` bytes that ends at a character boundary.
fn cut(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// `value` in chunks of `N` octets; `None` if a remainder is left.
fn chunks<const N: usize>(value: &[u8]) -> Option<impl Iterator<Item = [u8; N]> + '_> {
    let pieces = value.chunks_exact(N);
    let even = pieces.remainder().is_empty();
    even.then(|| pieces.filter_map(|piece| piece.try_into().ok()))
}
