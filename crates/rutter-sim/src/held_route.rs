//! A route as a client has received it.

use rutter_net::LargeCommunity;

/// The parts of a received route that the reference models determine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldRoute {
    /// The AS path. Its first AS is the sender's.
    pub path: Vec<u32>,
    /// The large communities, in ascending order: the marks of the route's class.
    pub marks: Vec<LargeCommunity>,
}
