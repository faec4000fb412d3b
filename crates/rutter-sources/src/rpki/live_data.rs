//! The VRPs and ASPAs in force.

use std::fmt;
use std::sync::Arc;

use rutter_rpki::{Aspas, Vrps};

/// The VRPs and ASPAs in force. A part is `None` if no source has it: then no route is judged by it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LiveRpkiData {
    /// The VRPs.
    pub vrps: Option<Arc<Vrps>>,
    /// The ASPAs.
    pub aspas: Option<Arc<Aspas>>,
}

impl LiveRpkiData {
    /// The numbers of VRPs and ASPAs.
    pub(super) fn sizes(&self) -> Sizes {
        Sizes {
            vrps: self.vrps.as_ref().map(|vrps| vrps.len()),
            aspas: self.aspas.as_ref().map(|aspas| aspas.len()),
        }
    }
}

/// The numbers of VRPs and ASPAs of a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sizes {
    pub vrps: Option<usize>,
    pub aspas: Option<usize>,
}

impl Sizes {
    /// The number of entries.
    pub fn total(self) -> u64 {
        (self.vrps.unwrap_or(0) + self.aspas.unwrap_or(0)) as u64
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.vrps, self.aspas) {
            (None, None) => f.write_str("nothing"),
            (Some(vrps), None) => write!(f, "{vrps} VRPs"),
            (None, Some(aspas)) => write!(f, "{aspas} ASPAs"),
            (Some(vrps), Some(aspas)) => write!(f, "{vrps} VRPs, {aspas} ASPAs"),
        }
    }
}
