//! The TOML file as typed configuration with errors that name file, line and key.
