//! IRR data from servers and files.

mod as_set_expansion;
mod as_set_name;
mod bgpq4_json;
mod irrd_client;
mod irrd_query;
mod irrd_reply;
mod list_file;
mod parse_error;
mod peering_db;
mod whois_dumps;

pub use as_set_expansion::ExpansionLimits;
pub use as_set_name::{AsSetName, ParseAsSetError};
pub use bgpq4_json::Bgpq4Lists;
pub use irrd_client::{IrrdClient, IrrdError, IrrdFault, IrrdLimits, StopCheck};
pub use irrd_query::{AsSetMember, IrrdQuery};
pub use irrd_reply::{IrrdReply, IrrdReplyError};
pub use list_file::{parse_asn_list, parse_prefix_list};
pub use parse_error::ParseFileError;
pub use peering_db::{PeeringDb, PeeringDbNet};
pub use whois_dumps::{PrefixOrigins, parse_arin_dump, parse_registro_br_dump};
