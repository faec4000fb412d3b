//! MRT files (RFC 6396, RFC 8050): table dumps and message logs, written and read.
