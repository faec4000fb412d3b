//! IRR data from servers and files.

mod as_set_limits;
mod assemble;
mod bgpq4_json;
mod copy;
mod data_of_files;
mod decision;
mod dump;
mod fetch;
mod files;
mod irrd_client;
mod irrd_limits;
mod irrd_query;
mod irrd_reply;
mod irrd_server;
mod irrd_servers;
mod list_file;
mod member_settings;
mod packed_rows;
mod record;
mod runner;
mod set_graph;
mod settings;
mod source;
mod status_rows;
mod store;
mod text_lines;
mod wanted;
mod whois_dumps;

pub use as_set_limits::AsSetLimits;
pub use dump::IrrDump;
pub use irrd_limits::IrrdLimits;
pub use irrd_reply::{IrrdReply, IrrdReplyError};
pub use list_file::ListSummary;
pub use member_settings::IrrMemberSettings;
pub use settings::IrrSettings;
pub use source::IrrSource;
