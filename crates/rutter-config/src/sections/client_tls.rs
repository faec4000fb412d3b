//! The `tls-` keys of a section whose connection we open.

use std::path::PathBuf;

use super::sql::{Tls, tls};
use crate::PathRole;
use crate::key_rows::{Key, Reload};
use crate::toml_values::{Item, Section};

/// An encrypted connection to a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientTls {
    /// How much of the server's certificate is checked.
    pub check: CertificateCheck,
    /// The file with the certificates of trusted authorities, PEM; `None`: those of the machine.
    pub ca_file: Option<PathBuf>,
    /// Our own certificate, if the server wants one.
    pub own: Option<Tls>,
    /// The name that the certificate must have; `None`: the name or address that we connect to.
    pub server_name: Option<String>,
}

/// How much of a server's certificate is checked, as in the `sslmode` of PostgreSQL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CertificateCheck {
    /// `require`: nothing. Nobody reads along, but anybody can pose as the server.
    Nothing,
    /// `verify-ca`: that a trusted authority signed it.
    Authority,
    /// `verify-full`: also that it has the name of the server.
    AuthorityAndName,
}

/// The rows of the manual. Defaults depend on the server, so these are no rows of a struct.
pub(crate) const CLIENT_TLS: [Key; 5] = [
    key(
        "tls",
        "`\"verify-full\"`, `\"verify-ca\"`, `\"require\"`, `\"disable\"`",
        "`\"verify-full\"`; on this machine `\"disable\"`, without other `tls-` keys",
        "Encryption, with the words of PostgreSQL's `sslmode`. `verify-full` checks that a trusted authority signed the certificate and that it has the server's name; `verify-ca` checks the first alone; `require` encrypts and checks nothing. If encryption fails, no connection is made.",
    ),
    key(
        "tls-ca-file",
        "path",
        "the authorities that this machine trusts",
        "A file with the certificates of trusted authorities (PEM), relative to this file. No other authority is trusted then.",
    ),
    key(
        "tls-server-name",
        "name or address",
        "that of the server",
        "The name that the server's certificate must have.",
    ),
    key(
        "tls-certificate",
        "path",
        "none",
        "A file with our own certificate chain (PEM), relative to this file, if the server wants one. These files are read for each connection.",
    ),
    key(
        "tls-key",
        "path",
        "none",
        "A file with the private key of our certificate (PEM), relative to this file.",
    ),
];

const fn key(
    name: &'static str,
    form: &'static str,
    default: &'static str,
    text: &'static str,
) -> Key {
    Key::new(name, form, default, text, Reload::NextCollect)
}

/// The way to a server.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Way {
    /// A socket in the file system.
    Socket,
    /// An address of this machine.
    Loopback,
    /// Another machine, or a name that may be one.
    Network,
}

/// The value of `tls`.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Disable,
    Check(CertificateCheck),
}

const MODES: &[(&str, Mode)] = &[
    (
        "verify-full",
        Mode::Check(CertificateCheck::AuthorityAndName),
    ),
    ("verify-ca", Mode::Check(CertificateCheck::Authority)),
    ("require", Mode::Check(CertificateCheck::Nothing)),
    ("disable", Mode::Disable),
];

const FILES: [&str; 2] = ["tls-certificate", "tls-key"];
const CA_FILE: &str = "tls-ca-file";
const SERVER_NAME: &str = "tls-server-name";

/// Reads the keys. Returns `None` for a connection in plain text.
pub(crate) fn client_tls(section: &Section<'_>, way: Way) -> Option<ClientTls> {
    let others = [CA_FILE, SERVER_NAME, FILES[0], FILES[1]];
    let asked = others.iter().any(|key| section.get(key).is_some());
    let mut mode = match way {
        Way::Network => Mode::Check(CertificateCheck::AuthorityAndName),
        _ if asked => Mode::Check(CertificateCheck::AuthorityAndName),
        _ => Mode::Disable,
    };
    section.set("tls", &mut mode, |i| i.word(MODES));
    let Mode::Check(check) = mode else {
        useless(section, &others, "`tls = \"disable\"` encrypts nothing");
        return None;
    };
    if way == Way::Socket {
        let all = ["tls", CA_FILE, SERVER_NAME, FILES[0], FILES[1]];
        useless(section, &all, "a socket of this machine is not encrypted");
        return None;
    }
    let unused: &[&str] = match check {
        CertificateCheck::Nothing => &[CA_FILE, SERVER_NAME],
        CertificateCheck::Authority => &[SERVER_NAME],
        CertificateCheck::AuthorityAndName => &[],
    };
    let why = match check {
        CertificateCheck::Nothing => "`tls = \"require\"` does not check the certificate",
        _ => "`tls = \"verify-ca\"` does not check the name",
    };
    useless(section, unused, why);
    Some(ClientTls {
        check,
        ca_file: section.get(CA_FILE).and_then(|i| ca_file(&i)),
        own: tls(section),
        server_name: section.get(SERVER_NAME).and_then(|i| server_name(&i)),
    })
}

fn useless(section: &Section<'_>, keys: &[&str], why: &str) {
    for key in keys {
        if let Some(item) = section.get(key) {
            item.error(
                format!("`{key}` has no effect: {why}"),
                "remove it, or write `tls = \"verify-full\"` for a server in the network",
            );
        }
    }
}

fn ca_file(item: &Item<'_>) -> Option<PathBuf> {
    let path = item.source.beside(&item.path()?.to_string_lossy());
    item.name_path(PathRole::Authorities, &path);
    Some(path)
}

fn server_name(item: &Item<'_>) -> Option<String> {
    let name = item.name()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    if name.chars().all(is_plain) {
        return Some(name);
    }
    item.error(
        format!("`{name}` is not a name of a server"),
        "write a name or an address, like \"db.example.net\"",
    );
    None
}
