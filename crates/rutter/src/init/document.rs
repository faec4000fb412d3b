//! The configuration that `rutter init` writes.

use super::exchange::{Exchange, Member};
use crate::toml_string::{toml_string, toml_strings};

/// The community actions of a careful exchange, as most exchanges number them.
const COMMUNITIES: &str = r#"
# Communities with which members choose who receives their routes. Standard communities can name only 16-bit AS numbers.
[communities]
not-to-any   = ["0:self", "self:0:0"]
not-to-peer  = ["0:peer", "self:0:peer"]
to-peer      = ["self:peer", "self:1:peer"]
prepend-any  = ["65501..65503:self", "self:101..103:0"]
prepend-peer = ["65501..65503:peer", "self:101..103:peer"]
"#;

/// The same actions for an AS number above 65535, which no standard community can name.
const LARGE_COMMUNITIES: &str = r#"
# Communities with which members choose who receives their routes. They are large communities, because standard ones
# cannot name the AS number of this exchange.
[communities]
not-to-any   = "self:0:0"
not-to-peer  = "self:0:peer"
to-peer      = "self:1:peer"
prepend-any  = "self:101..103:0"
prepend-peer = "self:101..103:peer"
"#;

const DEFAULTS: &str = r#"
# For every member that does not set its own.
[defaults]
# ttl-security = 1          # GTSM: only when all members have turned it on too
max-prefix = { v4 = 50_000, v6 = 20_000, action = "restart" }
"#;

/// Writes the configuration, with a comment for each section.
pub(super) fn toml(exchange: &Exchange) -> String {
    let mut text = format!(
        "# The route server of an exchange. Each key that is missing here has a safe default: see rutter.toml(5).\n\
         #   rutter check FILE    every mistake at once\n\
         #   rutter diff FILE     what a reload would change\n\n\
         [exchange]\nasn = {}\nrouter-id = \"{}\"\nlan = {}\n\n\
         [metrics]\nlisten = \"127.0.0.1:9179\"   # for Prometheus\n",
        exchange.asn,
        exchange.router_id,
        toml_strings(&exchange.lan),
    );
    if !exchange.rtr.is_empty() {
        let rtr = toml_strings(&exchange.rtr);
        text +=
            &format!("\n# Routes that the RPKI contradicts are rejected.\n[rpki]\nrtr = {rtr}\n");
    }
    if let Some(server) = &exchange.irr_server {
        let server = toml_string(server);
        text += &format!(
            "\n# Routes that are not registered for a member's AS-SETs are rejected.\n\
             [irr]\nserver = {server}\nroas-as-route-objects = {}\n",
            !exchange.rtr.is_empty()
        );
    }
    text += match exchange.asn.0 <= u32::from(u16::MAX) {
        true => COMMUNITIES,
        false => LARGE_COMMUNITIES,
    };
    text += DEFAULTS;
    exchange
        .members
        .iter()
        .for_each(|member| text += &section(member, exchange));
    text
}

fn section(member: &Member, exchange: &Exchange) -> String {
    let addresses = toml_strings(&member.addresses);
    let mut text = format!(
        "\n[[member]]\nasn = {}\naddress = {addresses}\n",
        member.asn
    );
    if !member.as_sets.is_empty() {
        let as_sets = toml_strings(&member.as_sets);
        // Without a registry the key would have no effect. It stays as a reminder.
        let sign = if exchange.irr_server.is_some() {
            ""
        } else {
            "# "
        };
        text += &format!("{sign}as-sets = {as_sets}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rutter_config::Config;
    use rutter_net::Asn;

    use super::*;

    fn exchange(asn: u32, members: &[&str], rtr: bool, irr: bool) -> Exchange {
        Exchange {
            asn: Asn(asn),
            router_id: [192, 0, 2, 1].into(),
            lan: vec!["192.0.2.0/24".parse().unwrap()],
            members: members.iter().map(|text| text.parse().unwrap()).collect(),
            rtr: rtr
                .then(|| "127.0.0.1:3323".to_owned())
                .into_iter()
                .collect(),
            irr_server: irr.then(|| "rr.example.net".to_owned()),
        }
    }

    #[test]
    fn every_combination_is_valid_and_without_warnings() {
        let members = ["3333,192.0.2.11,RIPE::AS-FOO", "3334,192.0.2.12,AS-BAR"];
        for (asn, count, rtr, irr) in [
            (64_500, 0, false, false),
            (64_500, 2, false, false),
            (64_500, 2, true, false),
            (64_500, 2, false, true),
            (64_500, 2, true, true),
            (65_535, 0, false, false),
            (65_536, 0, false, false),
            (205_000, 2, true, true),
            (4_200_000_000, 2, true, true),
        ] {
            let text = toml(&exchange(asn, &members[..count], rtr, irr));
            let loaded = Config::parse(&text, Path::new("rutter.toml"))
                .unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
            assert!(loaded.warnings.is_empty(), "{:#?}\n{text}", loaded.warnings);
            assert_eq!(loaded.config.neighbors.len(), count);
        }
    }
}
