//! RPKI data: VRPs and ASPAs, and what they make of a route's origin and path.
//!
//! [`RpkiData`] reads the JSON documents of validators. [`Vrps`] validates the origin of a route (RFC 6811), and
//! [`Aspas`] verifies its path (draft-ietf-sidrops-aspa-verification). Both are immutable: other data make a new set, and
//! [`Vrps::changed_prefixes`] and [`Aspas::changed_customers`] list what must be evaluated again.
//!
//! ```
//! use rutter_rpki::{Rov, Vrps};
//!
//! let vrps = Vrps::parse(br#"{"roas": [{"asn": "AS64500", "prefix": "192.0.2.0/24", "maxLength": 24}]}"#)?;
//! assert_eq!(vrps.validate("192.0.2.0/24".parse()?, Some(64500)), Rov::Valid);
//! assert_eq!(vrps.validate("192.0.2.0/25".parse()?, Some(64500)), Rov::Invalid);
//! assert_eq!(vrps.validate("198.51.100.0/24".parse()?, Some(64500)), Rov::NotFound);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod aspas;
mod aspas_builder;
mod authorization;
mod document;
mod family_vrps;
mod path_explanation;
mod path_state;
mod path_verification;
mod relation;
mod rov;
mod rpki_data;
mod vrp;
mod vrps;
mod vrps_builder;

pub use aspas::Aspas;
pub use aspas_builder::{AspasBuilder, InvalidAspa};
pub use authorization::Authorization;
pub use path_explanation::PathExplanation;
pub use path_state::PathState;
pub use path_verification::{Hop, PathFault, PathVerdict, ReceivedPath};
pub use relation::Relation;
pub use rov::Rov;
pub use rpki_data::RpkiData;
pub use vrp::{InvalidVrp, Vrp};
pub use vrps::Vrps;
pub use vrps_builder::VrpsBuilder;
