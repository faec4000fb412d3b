//! Converts views of the table into rows.

mod attributes;
mod change;
mod explain;
mod peer;
mod route;

pub(crate) use attributes::{attributes_row, sent_attributes_row};
pub(crate) use change::change_row;
pub(crate) use explain::{explain_row, withheld_row};
pub(crate) use peer::{Sources, peer_rows};
pub(crate) use route::{
    finding_row, findings_of, is_locally_originated, origin_state, path_state, reject_row,
    route_row,
};
