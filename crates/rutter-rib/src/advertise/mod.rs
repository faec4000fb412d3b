//! The advertised routes: which of them each client receives, and the messages that announce them.

pub(crate) mod audience;
mod audience_search;
pub(crate) mod audience_specs;
pub(crate) mod audiences;
pub(crate) mod catch_up;
pub(crate) mod client_stream;
pub(crate) mod clients;
pub(crate) mod encode;
pub(crate) mod export_filter;
pub(crate) mod export_view;
pub(crate) mod fast_path;
pub(crate) mod first_paths;
pub(crate) mod group;
pub(crate) mod lines;
pub(crate) mod log;
pub(crate) mod members;
pub(crate) mod memfd_segment;
pub(crate) mod octet_count;
pub(crate) mod recorder;
#[cfg(test)]
pub(crate) mod test_support;
pub(crate) mod transition;
pub(crate) mod unsent;
