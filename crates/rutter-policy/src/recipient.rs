//! A client as audiences see it.

use rutter_net::Asn;

use crate::RttClass;

/// A client as audiences see it: the facts that action communities name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Recipient {
    /// The client's AS.
    pub asn: Asn,
    /// The class of its round-trip time; `None` if the time is unknown.
    pub rtt: Option<RttClass>,
}

impl From<Asn> for Recipient {
    /// A client whose round-trip time is unknown.
    fn from(asn: Asn) -> Self {
        Recipient { asn, rtt: None }
    }
}
