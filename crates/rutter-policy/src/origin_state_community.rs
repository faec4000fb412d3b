//! The Origin Validation State extended community (RFC 8097).

use rutter_net::ExtendedCommunity;
use rutter_rpki::Rov;
use rutter_wire::attr::Attributes;

/// The type and subtype: opaque, not transitive (RFC 8097 §2).
const TYPE: [u8; 2] = [0x43, 0x00];

/// Returns whether the community has the type, whatever its value.
pub(crate) fn is_origin_state(community: ExtendedCommunity) -> bool {
    community.0[..2] == TYPE
}

/// The community for a state: 0 valid, 1 not found, 2 invalid.
pub(crate) fn of(state: Rov) -> ExtendedCommunity {
    let value = match state {
        Rov::Valid => 0,
        Rov::NotFound => 1,
        Rov::Invalid => 2,
    };
    ExtendedCommunity([TYPE[0], TYPE[1], 0, 0, 0, 0, 0, value])
}

/// The state that a route carries. Of several the greatest value counts; values above 2 are discarded (RFC 8097 §2).
pub(crate) fn received(attributes: &Attributes<'_>) -> Option<Rov> {
    let communities = attributes.extended_communities();
    let values = communities.filter(|community| is_origin_state(*community));
    match values
        .map(|community| community.0[7])
        .filter(|value| *value <= 2)
        .max()?
    {
        0 => Some(Rov::Valid),
        1 => Some(Rov::NotFound),
        _ => Some(Rov::Invalid),
    }
}
