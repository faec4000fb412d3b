//! The relation of two AS numbers under the ASPAs.

/// The result of the provider authorization function (draft-ietf-sidrops-aspa-verification-28 §5.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Authorization {
    /// `Provider+`: an ASPA of the customer lists the provider.
    Provider,
    /// `Not Provider+`: the customer has ASPAs, and none lists the provider.
    NotProvider,
    /// `No Attestation`: the customer has no ASPA.
    NoAttestation,
}
