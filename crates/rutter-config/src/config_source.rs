//! Where a configuration comes from: for the start and for each reload.

use std::path::{Path, PathBuf};

use crate::{Config, ConfigError, Loaded};

/// A configuration that can be read again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConfigSource {
    /// A file, which each reload reads again.
    File(PathBuf),
    /// A text of the command line. Files that it names are read again with it.
    Text {
        /// The name for messages. Files that the text names are relative to its folder.
        name: PathBuf,
        /// The text, in TOML.
        text: String,
    },
}

impl From<PathBuf> for ConfigSource {
    fn from(path: PathBuf) -> Self {
        ConfigSource::File(path)
    }
}

impl ConfigSource {
    /// Returns the name of the file or text.
    pub fn name(&self) -> &Path {
        match self {
            ConfigSource::File(path) => path,
            ConfigSource::Text { name, .. } => name,
        }
    }

    /// Reads the configuration. The error holds all errors and warnings.
    pub fn load(&self) -> Result<Loaded, Vec<ConfigError>> {
        match self {
            ConfigSource::File(path) => Config::load(path),
            ConfigSource::Text { name, text } => Config::parse(text, name),
        }
    }

    /// Reads a configuration that is to replace a running one, as [`Config::load_to_replace`].
    pub fn load_to_replace(&self, running: &Config) -> Result<Loaded, Vec<ConfigError>> {
        self.load()?.replacing(running)
    }
}
