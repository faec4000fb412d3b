//! `[web]`: the looking glass and the REST interface.

use std::net::SocketAddr;

use crate::access::{Role, Token, parse_tokens};

use super::sql::{Tls, tls};
use crate::key_rows::section;
use crate::toml_values::{Item, Section};
use crate::value_forms::socket;
use crate::{PathRole, safe_file};

section! {
    /// The looking glass and the REST interface: they only read. Without this section they are off. An address that other machines can reach shows the table to everybody, unless tokens protect it.
    pub struct Web = "[web]" {
        /// The address of the looking glass; the REST interface is at `/api/v1/`.
        "listen": "address and port", default "required", reload AtOnce
            => listen: SocketAddr, require "\"127.0.0.1:8179\"" |i| socket(i, 8179);
        /// The requests a second of one address (IPv6: of a /64). After a pause it may make five times as many at once.
        "requests-per-second": "number", default "50", reload AtOnce
            => requests_per_second: u32 = 50, read |i| i.int(1..=1_000_000).map(|n| n as u32);
        /// Also serve the interface of birdwatcher below this path, for Alice-LG and IXP Manager: `"/birdwatcher"`.
        "birdwatcher": "path", default "off", reload AtOnce
            => birdwatcher: Option<String> = None, read |i| url_path(i).map(Some);
        /// The reject reasons that the interface of birdwatcher shows, as large communities: `AS:65520:n` with ARouteServer's numbers, or `AS:1101:n` with those of IXP Manager.
        "birdwatcher-reasons": "`\"arouteserver\"`, `\"ixp-manager\"`", default "`\"arouteserver\"`", reload AtOnce
            => birdwatcher_reasons: ReasonNumbers = ReasonNumbers::ARouteServer,
            read |i| i.word(&[("arouteserver", ReasonNumbers::ARouteServer), ("ixp-manager", ReasonNumbers::IxpManager)]);
        /// A file with tokens, relative to this file: a line each, with a role (`monitor`, `read` or `control`, which reads as much as `read`) and the SHA-256 of the token in hexadecimal digits. See docs/security.md.
        "token-file": "path", default "none", reload AtOnce
            => tokens: Vec<Token> = Vec::new();
        /// The role of clients without a token: `"read"` reads everything, `"monitor"` the state of process, sessions and sources without routes.
        "anonymous": "`\"read\"`, `\"monitor\"`, `\"nothing\"`", default "`\"read\"`; with `token-file` `\"nothing\"`", reload AtOnce
            => anonymous: Role = Role::Read;
        /// A file with the certificate chain of the server (PEM), relative to this file: HTTPS instead of HTTP. The file is read again when it changes.
        "tls-certificate": "path", default "none", reload AtOnce
            => tls: Option<Tls> = None, or
            /// A file with the certificate's private key (PEM), relative to this file.
            "tls-key": "path", default "none";
    }
}

impl Web {
    /// Reads the keys that depend on others.
    pub(crate) fn read_access(&mut self, section: &Section<'_>) {
        self.tls = tls(section);
        if let Some(item) = section.get("token-file") {
            self.tokens = tokens(&item).unwrap_or_default();
            // Also if the file is wrong: then nothing may be open by mistake.
            self.anonymous = Role::Nobody;
        }
        section.set("anonymous", &mut self.anonymous, |i| {
            i.word(&[
                ("read", Role::Read),
                ("monitor", Role::Monitor),
                ("nothing", Role::Nobody),
            ])
        });
    }
}

/// Reads the lines of a file with tokens.
fn tokens(item: &Item<'_>) -> Option<Vec<Token>> {
    let path = item.source.beside(item.str("tokens")?);
    item.name_path(PathRole::Data, &path);
    let text = match safe_file::read_text(&path, safe_file::LIST) {
        Ok(text) => text,
        Err(why) => {
            item.error(
                format!("cannot read {}: {why}", path.display()),
                "make sure that the file exists and is readable",
            );
            return None;
        }
    };
    match parse_tokens(&text) {
        Ok(tokens) => {
            if tokens.is_empty() {
                item.warning(
                    format!("{} has no token: nobody can send one", path.display()),
                    "add a line for each token, or remove this key to let everybody read",
                );
            }
            Some(tokens)
        }
        Err(lines) => {
            item.error(
                format!("{}, {lines}", path.display()),
                "write a role and a hash: `monitor 9f86d08…`, where the hash is the output of `sha256sum`",
            );
            None
        }
    }
}

/// The numbers of reject reasons that a looking glass knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReasonNumbers {
    /// The numbers of ARouteServer.
    ARouteServer,
    /// The numbers of IXP Manager.
    IxpManager,
}

/// Reads a path below which an interface is served: `"/birdwatcher"`.
fn url_path(item: &Item<'_>) -> Option<String> {
    let text = item.str("/birdwatcher")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let part = text.strip_prefix('/').filter(|part| !part.is_empty());
    if part.is_some_and(|part| part.chars().all(is_plain) && !part.ends_with('/'))
        && !text.starts_with("/api/v1")
    {
        return Some(text.to_owned());
    }
    item.error(
        format!("`{text}` is not a path for an interface"),
        "write \"/birdwatcher\": a slash, then letters, digits and slashes; `/api/v1` is taken",
    );
    None
}
