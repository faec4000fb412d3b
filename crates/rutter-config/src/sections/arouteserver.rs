//! `[arouteserver]`: the files of ARouteServer as the policy of the exchange.

use std::path::PathBuf;

use rutter_net::Prefix;

use crate::key_rows::section;
use crate::toml_values::Item;
use crate::value_forms::host_port;

section! {
    /// The policy of an exchange from the files of ARouteServer. They replace `[exchange]`, `[defaults]`, `[checks]`, `[communities]`, `[rpki]`, `[irr]` and `[[member]]`. `rutter import arouteserver` prints these sections.
    pub struct ARouteServer = "[arouteserver]" {
        /// `general.yml`, relative to this file.
        "general": "path", default "required", reload AtOnce
            => general: PathBuf, require "\"general.yml\"" beside;
        /// `clients.yml`, relative to this file.
        "clients": "path", default "required", reload AtOnce
            => clients: PathBuf, require "\"clients.yml\"" beside;
        /// `bogons.yml`, relative to this file. Its prefixes are rejected beside those of `checks.bogons`.
        "bogons": "path", default "none", reload AtOnce
            => bogons: Option<PathBuf> = None, read |i| beside(i).map(Some);
        /// A dump of PeeringDB's networks (`/api/net`) as JSON, relative to this file: for prefix limits, AS-SETs and networks that never use route servers.
        "peeringdb": "path", default "none", reload AtOnce
            => peeringdb: Option<PathBuf> = None, read |i| beside(i).map(Some);
        /// A file with the round-trip times of clients, as `communities.rtt-file`; relative to this file.
        "rtt-file": "path", default "none", reload AtOnce
            => rtt_file: Option<PathBuf> = None, read |i| beside(i).map(Some);
        /// The peering LANs, which ARouteServer's files do not have.
        "lan": "prefixes", default "the prefixes of the black list that contain clients, else the clients' addresses", reload AtOnce
            => lan: Vec<Prefix> = Vec::new(), read |i| Some(i.some(|i| i.parse("192.0.2.0/24")));
        /// RTR caches, as in `[rpki]`.
        "rtr": "host:port, or several", default "none", reload AtOnce
            => rtr: Vec<String> = Vec::new(), read |i| Some(i.some(|i| host_port(i, 323)));
        /// IRRd servers, as in `[irr]`.
        "irr-server": "host:port, or several", default "`\"rr.ntt.net\"`", reload AtOnce
            => irr_servers: Vec<String> = vec!["rr.ntt.net:43".to_owned()], read |i| Some(i.some(|i| host_port(i, 43)));
        /// Databases of the IRR servers, as in `[irr]`.
        "irr-sources": "names", default "those of the server", reload AtOnce
            => irr_sources: Vec<String> = Vec::new(), read |i| Some(i.some(Item::name));
    }
}

fn beside(item: &Item<'_>) -> Option<PathBuf> {
    Some(item.source.beside(&item.path()?.to_string_lossy()))
}
