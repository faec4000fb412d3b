//! Codecs for BGP messages and MRT files as views over bytes.
