//! `[web]`: the looking glass and the REST interface.

use std::net::SocketAddr;

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
        /// A file with tokens, relative to this file: a line each, with a role (`monitor` or `read`) and the SHA-256 of the token in hexadecimal digits. See docs/security.md.
        "token-file": "path", default "none", reload AtOnce
            => tokens: Vec<WebToken> = Vec::new();
        /// The role of clients without a token: `"read"` reads everything, `"monitor"` the state of process, sessions and sources without routes.
        "anonymous": "`\"read\"`, `\"monitor\"`, `\"nothing\"`", default "`\"read\"`; with `token-file` `\"nothing\"`", reload AtOnce
            => anonymous: WebRole = WebRole::Read;
        /// A file with the certificate chain of the server (PEM), relative to this file: HTTPS instead of HTTP. The file is read again when it changes.
        "tls-certificate": "path", default "none", reload NextStart
            => tls: Option<Tls> = None, or
            /// A file with the certificate's private key (PEM), relative to this file.
            "tls-key": "path", default "none";
    }
}

/// The role of a client of `[web]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WebRole {
    /// Nothing.
    Nothing,
    /// The state of the process, the sessions and the sources, and no routes.
    Monitor,
    /// Everything.
    Read,
}

/// A token of which the file has the hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebToken {
    /// The role of its owner.
    pub role: WebRole,
    /// SHA-256 of the token.
    pub sha256: [u8; 32],
}

impl Web {
    /// Reads the keys that depend on others.
    pub(crate) fn read_access(&mut self, section: &Section<'_>) {
        self.tls = tls(section);
        if let Some(item) = section.get("token-file") {
            self.tokens = tokens(&item).unwrap_or_default();
            // Also if the file is wrong: then nothing may be open by mistake.
            self.anonymous = WebRole::Nothing;
        }
        section.set("anonymous", &mut self.anonymous, |i| {
            i.word(&[
                ("read", WebRole::Read),
                ("monitor", WebRole::Monitor),
                ("nothing", WebRole::Nothing),
            ])
        });
    }
}

/// Reads the lines of a file with tokens.
fn tokens(item: &Item<'_>) -> Option<Vec<WebToken>> {
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
    let lines = (1..).zip(
        text.lines()
            .map(|line| line.split('#').next().unwrap_or_default()),
    );
    let mut tokens = Vec::new();
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let token = token(line);
        if token.is_none() {
            item.error(
                format!("{}, line {number}: this is no token", path.display()),
                "write a role and a hash: `monitor 9f86d08…`, where the hash is the output of `sha256sum`",
            );
        }
        tokens.push(token?);
    }
    Some(tokens)
}

fn token(line: &str) -> Option<WebToken> {
    let mut words = line.split_whitespace();
    let role = match words.next()? {
        "read" => WebRole::Read,
        "monitor" => WebRole::Monitor,
        _ => return None,
    };
    let digits = words.next()?;
    let is_hash = digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !is_hash || words.next().is_some() {
        return None;
    }
    let mut sha256 = [0; 32];
    for (byte, at) in sha256.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&digits[at..at + 2], 16).ok()?;
    }
    Some(WebToken { role, sha256 })
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
