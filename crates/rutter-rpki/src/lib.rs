//! RPKI origin validation: validated ROA payloads (VRPs) and the validity of route origins.
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

mod vrps;

pub use vrps::{Rov, Vrp, Vrps};
