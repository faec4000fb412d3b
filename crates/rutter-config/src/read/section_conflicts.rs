//! Conflicts between sections: addresses to listen on, and folders to write to.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use super::Root;
use crate::Severity;
use crate::config::Config;

/// Reports addresses and folders that two sections use.
pub(super) fn check(root: &Root<'_>, config: &Config) {
    let mut claims = Claims {
        root,
        sockets: Vec::new(),
        folders: Vec::new(),
    };
    claims.listen("daemon", &config.daemon.listen);
    if let Some(metrics) = &config.metrics {
        claims.listen("metrics", &[metrics.listen]);
    }
    if let Some(web) = &config.web {
        claims.listen("web", &[web.listen]);
    }
    if let Some(bmp) = &config.bmp {
        claims.listen("bmp", &bmp.listen);
    }
    if let Some(sql) = &config.sql {
        claims.listen("sql", &sql.listen);
    }
    if let Some(stream) = &config.stream {
        claims.listen("stream", &[stream.listen]);
    }
    if let Some(mrt) = &config.mrt {
        claims.folder("mrt", "directory", &mrt.directory);
    }
    if let Some(history) = &config.history {
        claims.folder("history", "path", &history.path);
    }
}

struct Claims<'a> {
    root: &'a Root<'a>,
    sockets: Vec<(SocketAddr, &'static str)>,
    folders: Vec<(PathBuf, String)>,
}

impl Claims<'_> {
    fn listen(&mut self, section: &'static str, addresses: &[SocketAddr]) {
        for address in addresses {
            let other = self.sockets.iter().find(|(held, _)| clash(*held, *address));
            if let Some((held, by)) = other {
                self.report(
                    section,
                    "listen",
                    format!("{address} is in use: {by}.listen has {held}"),
                    "give each its own port or address",
                );
            }
            self.sockets.push((*address, section));
        }
    }

    fn folder(&mut self, section: &'static str, key: &str, folder: &Path) {
        if let Some((_, by)) = self.folders.iter().find(|(held, _)| held == folder) {
            let message = format!("{} is the folder of {by}", folder.display());
            self.report(section, key, message, "give each its own folder");
        }
        self.folders
            .push((folder.to_owned(), format!("{section}.{key}")));
    }

    /// Reports an error at the key, or at the section if the key is absent.
    fn report(&self, section: &str, key: &str, message: String, hint: &str) {
        let table = self.root.table.get_ref().get(section);
        let value = table.and_then(|value| value.get_ref().as_table()?.get(key));
        let span = value.or(table).map_or(0..0, |value| value.span());
        let key = format!("{section}.{key}");
        let source = self.root.source;
        source.report(Severity::Error, span, &key, message, hint);
    }
}

/// Returns whether both cannot listen. IPv6 sockets do not accept IPv4 connections.
fn clash(one: SocketAddr, other: SocketAddr) -> bool {
    let everywhere = |ip: IpAddr| ip.is_unspecified();
    let overlap = one.ip() == other.ip() || everywhere(one.ip()) || everywhere(other.ip());
    // For port 0 the kernel chooses a free port.
    one.port() == other.port() && one.port() != 0 && one.is_ipv4() == other.is_ipv4() && overlap
}
