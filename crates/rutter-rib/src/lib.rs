//! The one table: every received route, the decision process and the outbound streams.
