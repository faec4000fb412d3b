//! `tcp-ao`: the keys that sign the segments of a session (RFC 5925).

use crate::key_rows::{KeyRows, section};
use crate::named_path::PathRole;
use crate::toml_values::Item;
use crate::{Secret, safe_file};

section! {
    /// A key of TCP-AO (RFC 5925).
    pub struct AoKey = "tcp-ao" {
        /// The KeyID of the segments that Rutter sends. The neighbor's RecvID.
        "send-id": "number", default "required", reload Reconnects
            => send_id: u8, require "1" id;
        /// The KeyID of the segments that Rutter receives. The neighbor's SendID.
        "receive-id": "number", default "required", reload Reconnects
            => receive_id: u8, require "1" id;
        /// The file with the key, of 1 to 80 bytes. A final line end is ignored.
        "key-file": "path", default "required", reload Reconnects
            => key: Secret, require "\"keys/as64501\"" key_file;
        /// The algorithm of the signature (RFC 5926).
        "algorithm": "`\"hmac-sha-1-96\"`, `\"aes-128-cmac-96\"`", default "`\"hmac-sha-1-96\"`", reload Reconnects
            => algorithm: AoAlgorithm = AoAlgorithm::HmacSha1, read |i| i.word(ALGORITHMS);
    }
}

/// The algorithm of a key (RFC 5926 §3). The signature has 96 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AoAlgorithm {
    /// HMAC-SHA-1-96.
    HmacSha1,
    /// AES-128-CMAC-96.
    AesCmac,
}

const ALGORITHMS: &[(&str, AoAlgorithm)] = &[
    ("hmac-sha-1-96", AoAlgorithm::HmacSha1),
    ("aes-128-cmac-96", AoAlgorithm::AesCmac),
];

impl AoAlgorithm {
    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        let named = ALGORITHMS.iter().find(|(_, algorithm)| *algorithm == self);
        named.map_or("", |(name, _)| name)
    }
}

impl AoKey {
    /// Returns whether both keys have an id in common: the kernel keeps only one of them for a neighbor.
    pub fn shares_id(&self, other: &AoKey) -> bool {
        self.send_id == other.send_id || self.receive_id == other.receive_id
    }
}

/// The most keys of a session. Two are enough to replace one.
const MAX_KEYS: usize = 8;

/// Reads the keys of a session.
pub(crate) fn keys(list: &Item<'_>) -> Option<Vec<AoKey>> {
    let mut keys: Vec<AoKey> = Vec::new();
    let items = list.list();
    for item in &items {
        let key = item.section(AoKey::KEYS, EXAMPLE, |section| AoKey::read(&section));
        let Some(key) = key.flatten() else { continue };
        if keys.iter().any(|other| other.shares_id(&key)) {
            item.error(
                "two keys have the same `send-id` or `receive-id`",
                "give each key its own ids",
            );
        }
        keys.push(key);
    }
    if items.is_empty() || items.len() > MAX_KEYS {
        list.error(
            format!("a session has 1 to {MAX_KEYS} keys"),
            "write the key in use, and while it is replaced the new one before it",
        );
    }
    Some(keys)
}

/// Returns whether an established session can change from one list of keys to the other: both have a key in common.
pub(crate) fn can_roll_over(old: &[AoKey], new: &[AoKey]) -> bool {
    let is_taken = |key: &AoKey| old.iter().any(|other| other != key && other.shares_id(key));
    new.iter().any(|key| old.contains(key)) && !new.iter().any(is_taken)
}

fn id(item: &Item<'_>) -> Option<u8> {
    item.int(0..=255).map(|id| id as u8)
}

fn key_file(item: &Item<'_>) -> Option<Secret> {
    let path = item.source.beside(item.str("keys/as64501")?);
    item.name_path(PathRole::AoKey, &path);
    match safe_file::read(&path, safe_file::PASSWORD) {
        Ok(octets) => match octets.trim_ascii_end() {
            key @ [_, ..] if key.len() <= 80 => Some(Secret::new(key)),
            _ => {
                item.error(
                    "a key of TCP-AO has 1 to 80 bytes",
                    "write the key agreed with the neighbor into the file",
                );
                None
            }
        },
        Err(why) => {
            item.error(
                format!("cannot read {}: {why}", path.display()),
                "write the path of a file that this user can read",
            );
            None
        }
    }
}

const EXAMPLE: &str = "{ send-id = 1, receive-id = 1, key-file = \"keys/as64501\" }";
