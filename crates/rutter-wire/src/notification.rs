//! NOTIFICATION messages (RFC 4271 §4.5).

/// An error that ends the session, as it is told to the neighbor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// Error code.
    pub code: u8,
    /// Error subcode, 0 where unspecific.
    pub subcode: u8,
    /// What the code says the data are.
    pub data: Vec<u8>,
}
