//! The last configurations that ran, on disk: the text of the daemon's own file, who put it in force, and when.

use std::path::{Path, PathBuf};

use rutter_config::Config;
use rutter_sources::LastGood;
use serde_json::{Value, json};

use crate::restart_record::state_file;
use crate::shared::unix_us;

/// The beginning of the action of a daemon that went back from a change.
pub(crate) const WENT_BACK: &str = "went back";
/// The action of a change that waits for its confirmation.
pub(crate) const TRIED: &str = "apply, not confirmed";
/// The action of a change that was confirmed, or needed no confirmation.
pub(crate) const APPLIED: &str = "apply";
/// The configurations that are kept. The oldest are dropped first.
const KEPT: usize = 20;
/// The maximum size of all of them, bytes.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// The version of the format. A file in another version is not used.
const VERSION: u32 = 1;

/// A configuration that ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// Its number. Numbers grow and are never used again.
    pub(crate) number: u64,
    /// The time when it was put in force, Unix seconds.
    pub(crate) unix_s: u64,
    /// The user who did it, or the cause.
    pub(crate) by: String,
    /// The command or event.
    pub(crate) action: String,
    /// The text of the daemon's own file.
    pub(crate) text: String,
    /// The member files that it named, each with a checksum.
    pub(crate) members: Vec<(PathBuf, u64)>,
}

/// A configuration that is put in force, for [`History::record`].
pub(crate) struct Ran<'a> {
    pub(crate) config: &'a Config,
    pub(crate) text: &'a str,
    pub(crate) by: &'a str,
    pub(crate) action: &'a str,
}

/// The configurations that ran, the oldest first. The last one is in force.
pub(crate) struct History {
    file: LastGood,
    entries: Vec<Entry>,
}

impl History {
    /// Reads the history of a daemon. A file that cannot be read is replaced by the next change.
    pub(crate) fn open(config: &Config) -> Self {
        let limit = 2 * MAX_BYTES as u64;
        let file = LastGood::new(
            state_file(config, "configurations"),
            "configurations",
            VERSION,
            limit,
        );
        let entries = match file.load() {
            Ok(copy) => copy.map(|copy| decode(&copy.data)).unwrap_or_default(),
            Err(error) => {
                tracing::warn!("the earlier configurations are lost: {error}");
                Vec::new()
            }
        };
        History { file, entries }
    }

    /// The configurations that ran, the oldest first.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the configuration with this number, or the one before that in force.
    pub(crate) fn find(&self, number: Option<u64>) -> Result<Entry, String> {
        let has_gone_back = |last: &Entry| last.action.starts_with(WENT_BACK);
        let found = match number {
            Some(number) => self.entries.iter().find(|entry| entry.number == number),
            // The one before is the one that failed.
            None if self.entries.last().is_some_and(has_gone_back) => {
                return Err(
                    "the daemon went back by itself already; `rutter history` has the numbers of the others"
                        .to_owned(),
                );
            }
            None => self.entries.iter().rev().nth(1),
        };
        found.cloned().ok_or_else(|| match number {
            Some(number) => {
                format!("configuration {number} is not kept; `rutter history` lists those that are")
            }
            None => "no earlier configuration is kept".to_owned(),
        })
    }

    /// Records that a configuration is in force, unless the last one is the same. A history that cannot be written is
    /// kept in memory.
    pub(crate) fn record(&mut self, ran: &Ran<'_>) {
        let members = ran.config.member_files.iter();
        let entry = Entry {
            number: self.entries.last().map_or(1, |last| last.number + 1),
            unix_s: unix_us() / 1_000_000,
            by: ran.by.to_owned(),
            action: ran.action.to_owned(),
            text: ran.text.to_owned(),
            members: members.map(|path| (path.clone(), digest(path))).collect(),
        };
        let is_same = |last: &Entry| last.text == entry.text && last.members == entry.members;
        if self.entries.last().is_some_and(is_same) {
            return;
        }
        self.entries.push(entry);
        self.save();
    }

    /// Records the configuration of a start, which the daemon's own file has. Without a confirmation the change before it
    /// is not that.
    pub(crate) fn record_start(&mut self, config: &Config, text: &str) {
        let last = self.entries.last().filter(|last| last.action == TRIED);
        let action = match last {
            Some(last) if last.text == text => return self.confirm(),
            Some(_) => format!("{WENT_BACK}: started again before the confirmation"),
            None => "start".to_owned(),
        };
        self.record(&Ran {
            config,
            text,
            by: "the daemon",
            action: &action,
        });
    }

    /// The change in force was confirmed.
    pub(crate) fn confirm(&mut self) {
        if let Some(last) = self.entries.last_mut().filter(|last| last.action == TRIED) {
            last.action = APPLIED.to_owned();
            self.save();
        }
    }

    /// Drops what is too much, and writes the rest.
    fn save(&mut self) {
        let too_many = self.entries.len().saturating_sub(KEPT);
        self.entries.drain(..too_many);
        while self.entries.len() > 1 && self.bytes() > MAX_BYTES {
            self.entries.remove(0);
        }
        let text = encode(&self.entries);
        let saved = self
            .file
            .save(unix_us() / 1_000_000, |out| out.write_all(text.as_bytes()));
        if let Err(error) = saved {
            tracing::error!("the history of configurations is not on disk: {error}");
        }
    }

    fn bytes(&self) -> usize {
        self.entries.iter().map(|entry| entry.text.len()).sum()
    }
}

impl Entry {
    /// The member files that are others now than when this configuration ran.
    pub(crate) fn changed_members(&self) -> impl Iterator<Item = &Path> {
        let changed = |(path, before): &&(PathBuf, u64)| digest(path) != *before;
        self.members
            .iter()
            .filter(changed)
            .map(|(path, _)| path.as_path())
    }
}

/// A checksum of a file (FNV-1a); 0 if it cannot be read.
fn digest(path: &Path) -> u64 {
    let bytes = std::fs::read(path).unwrap_or_default();
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    match bytes.is_empty() {
        true => 0,
        false => bytes.iter().fold(0xcbf2_9ce4_8422_2325, step),
    }
}

/// One JSON object a line.
fn encode(entries: &[Entry]) -> String {
    let line = |entry: &Entry| {
        let members: Vec<Value> = entry
            .members
            .iter()
            .map(|(path, digest)| json!([path.to_string_lossy(), digest]))
            .collect();
        let value = json!({
            "number": entry.number, "unix-s": entry.unix_s, "by": entry.by, "action": entry.action,
            "members": members, "text": entry.text,
        });
        format!("{value}\n")
    };
    entries.iter().map(line).collect()
}

/// Reads [`encode`]. The checksum of the file has proved that nothing is damaged; a line that is none is left out.
fn decode(data: &[u8]) -> Vec<Entry> {
    let text = String::from_utf8_lossy(data);
    text.lines().filter_map(decode_line).collect()
}

fn decode_line(line: &str) -> Option<Entry> {
    let value: Value = serde_json::from_str(line).ok()?;
    let string = |key: &str| value[key].as_str().map(str::to_owned);
    let member = |pair: &Value| Some((PathBuf::from(pair[0].as_str()?), pair[1].as_u64()?));
    Some(Entry {
        number: value["number"].as_u64()?,
        unix_s: value["unix-s"].as_u64()?,
        by: string("by")?,
        action: string("action")?,
        text: string("text")?,
        members: value["members"]
            .as_array()?
            .iter()
            .filter_map(member)
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(folder: &Path) -> Config {
        let text = format!(
            "[exchange]\nasn = 64500\nrouter-id = \"192.0.2.1\"\nlan = []\n[daemon]\nstate = \"{}\"\n",
            folder.display()
        );
        let loaded = Config::parse(&text, "test.toml".as_ref());
        loaded.expect("a configuration").config
    }

    #[test]
    fn the_last_configurations_are_kept_and_found_again() {
        let folder = std::env::temp_dir().join(format!("rutter-history-{}", std::process::id()));
        let config = config(&folder);
        let mut history = History::open(&config);
        for number in 0..30 {
            let text = format!("# {number} \"ü\"\n");
            for _ in 0..2 {
                history.record(&Ran {
                    config: &config,
                    text: &text,
                    by: "root",
                    action: "apply",
                });
            }
        }
        let again = History::open(&config);
        let _ = std::fs::remove_dir_all(&folder);
        assert_eq!(again.entries(), history.entries());
        assert_eq!(again.entries().len(), KEPT);
        assert_eq!(again.find(None).map(|entry| entry.number), Ok(29));
        assert_eq!(
            again.find(Some(12)).map(|entry| entry.text),
            Ok("# 11 \"ü\"\n".into())
        );
        assert!(again.find(Some(3)).is_err());
    }
}
