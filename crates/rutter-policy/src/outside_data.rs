//! Outside data that import policies read: validated ROA payloads, ASPAs and IRR registrations.

use std::sync::Arc;

use rutter_irr::IrrData;
use rutter_net::{Asn, Prefix};
use rutter_rpki::{Aspas, Rov, Vrps};

/// The outside data of all import policies, shared by all neighbors. A change makes a new one; the table evaluates only
/// the routes again that the change concerns.
///
/// Data that were never received are `None`: no route fails a check for want of data.
#[derive(Clone, Debug, Default)]
pub struct OutsideData {
    /// Validated ROA payloads, for origin validation (RFC 6811).
    pub vrps: Option<Arc<Vrps>>,
    /// ASPAs, for the verification of paths (draft-ietf-sidrops-aspa-verification).
    pub aspas: Option<Arc<Aspas>>,
    /// Registrations of routes, and the AS-SETs of members.
    pub irr: Option<Arc<IrrData>>,
}

impl OutsideData {
    /// Validates the origin of a route (RFC 6811 §2), `None` without VRPs. A route that is accepted for BLACKHOLE may be
    /// longer than the VRPs allow.
    pub fn validate_origin(
        &self,
        prefix: Prefix,
        origin: Option<Asn>,
        blackhole: bool,
    ) -> Option<Rov> {
        let vrps = self.vrps.as_ref()?;
        let asn = origin.map(|asn| asn.0);
        Some(match blackhole {
            false => vrps.validate(prefix, asn),
            true => validate_any_length(vrps, prefix, asn),
        })
    }
}

/// Validates the origin of a route without regard to the maximum lengths of VRPs.
fn validate_any_length(vrps: &Vrps, prefix: Prefix, origin: Option<u32>) -> Rov {
    let mut state = Rov::NotFound;
    for vrp in vrps.covering(prefix) {
        if Some(vrp.asn) == origin && vrp.asn != 0 {
            return Rov::Valid;
        }
        state = Rov::Invalid;
    }
    state
}
