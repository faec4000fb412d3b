//! What a start must know of the run before it: which neighbors keep our routes (RFC 4724).

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rutter_config::Config;
use rutter_net::{Family, PerFamily};
use rutter_sources::{LastGood, LastGoodCopy};

/// The content of the restart file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RestartRecord {
    /// Our AS. A file of another speaker is not used.
    pub(crate) asn: u32,
    /// Our BGP Identifier.
    pub(crate) router_id: Ipv4Addr,
    /// The restart time that the neighbors were offered, seconds.
    pub(crate) restart_time_s: u16,
    /// The neighbors with which Graceful Restart was agreed.
    pub(crate) neighbors: BTreeMap<IpAddr, KeptRoutes>,
}

/// The routes that one neighbor keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeptRoutes {
    /// The families for which it sends End-of-RIB.
    pub(crate) families: PerFamily<bool>,
    /// The time when its session was established, Unix seconds.
    pub(crate) since_unix_s: u64,
}

/// More data than 65,535 neighbors need.
const MAX_LEN: u64 = 8 * 1024 * 1024;
/// The version of the format. A file in another version is not used.
const VERSION: u32 = 1;

/// The restart file of this daemon.
pub(crate) fn restart_file(config: &Config) -> LastGood {
    LastGood::new(state_file(config, "restart"), "restart", VERSION, MAX_LEN)
}

/// A file in the state folder. Two daemons on one machine have different control sockets, and so different files.
pub(crate) fn state_file(config: &Config, kind: &str) -> PathBuf {
    let socket = config.daemon.control_socket.display().to_string();
    let name: String = socket
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' => c,
            _ => '-',
        })
        .collect();
    // The name of a file has at most 255 bytes. The end of a path tells more than its start.
    let kept = name.len().saturating_sub(200);
    config.daemon.state.join(format!("{kind}{}", &name[kept..]))
}

impl RestartRecord {
    /// A record without neighbors.
    pub(crate) fn new(config: &Config) -> Self {
        RestartRecord {
            asn: config.asn.0,
            router_id: config.router_id,
            restart_time_s: config.graceful_restart.restart_time_s,
            neighbors: BTreeMap::new(),
        }
    }

    /// The record as text, one line a neighbor.
    pub(crate) fn encode(&self) -> String {
        let RestartRecord {
            asn,
            router_id,
            restart_time_s,
            neighbors,
        } = self;
        let mut out = format!("speaker {asn} {router_id} {restart_time_s}\n");
        for (address, kept) in neighbors {
            let has = |family| if kept.families[family] { "1" } else { "0" };
            let families = Family::ALL.map(has).concat();
            out.push_str(&format!(
                "neighbor {address} {families} {}\n",
                kept.since_unix_s
            ));
        }
        out
    }

    /// Reads [`RestartRecord::encode`]. `None` for anything else.
    pub(crate) fn parse(data: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(data).ok()?;
        let mut lines = text.lines();
        let mut head = lines.next()?.split(' ');
        if head.next() != Some("speaker") {
            return None;
        }
        let mut record = RestartRecord {
            asn: head.next()?.parse().ok()?,
            router_id: head.next()?.parse().ok()?,
            restart_time_s: head.next()?.parse().ok()?,
            neighbors: BTreeMap::new(),
        };
        for line in lines {
            let (address, kept) = parse_neighbor(line)?;
            record.neighbors.insert(address, kept);
        }
        // Writing it again must give the same bytes.
        (record.encode().as_bytes() == data).then_some(record)
    }

    /// Returns the record of a copy if it shows that this speaker restarted a moment ago, else the reason why not.
    pub(crate) fn of_restart(
        copy: &LastGoodCopy,
        own: &RestartRecord,
        now: SystemTime,
    ) -> Result<Self, String> {
        let Some(record) = RestartRecord::parse(&copy.data) else {
            return Err("its content is damaged".into());
        };
        if (record.asn, record.router_id) != (own.asn, own.router_id) {
            let (asn, id) = (record.asn, record.router_id);
            return Err(format!("it is that of AS {asn} with router-id {id}"));
        }
        // The clock may have been set. Without a known age the neighbors may have removed our routes long ago.
        let Ok(age) = now.duration_since(UNIX_EPOCH + Duration::from_secs(copy.time)) else {
            return Err("its time is in the future".into());
        };
        if age.as_secs() > u64::from(record.restart_time_s) {
            let (age_s, limit_s) = (age.as_secs(), record.restart_time_s);
            return Err(format!(
                "it is {age_s} s old, and the restart time is {limit_s} s"
            ));
        }
        Ok(record)
    }
}

fn parse_neighbor(line: &str) -> Option<(IpAddr, KeptRoutes)> {
    let mut words = line.split(' ');
    if words.next() != Some("neighbor") {
        return None;
    }
    let address = words.next()?.parse().ok()?;
    let bits = words.next()?.as_bytes();
    let families = PerFamily::from_fn(|f: Family| bits.get(f.index()) == Some(&b'1'));
    let since_unix_s = words.next()?.parse().ok()?;
    let kept = KeptRoutes {
        families,
        since_unix_s,
    };
    words.next().is_none().then_some((address, kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> RestartRecord {
        let kept = |ipv4, ipv6| KeptRoutes {
            families: PerFamily::new(ipv4, ipv6),
            since_unix_s: 1_700_000_000,
        };
        RestartRecord {
            asn: 64500,
            router_id: [192, 0, 2, 254].into(),
            restart_time_s: 120,
            neighbors: BTreeMap::from([
                (IpAddr::from([192, 0, 2, 1]), kept(true, true)),
                (
                    "2001:db8::1".parse().expect("an address"),
                    kept(false, true),
                ),
            ]),
        }
    }

    fn copy(record: &RestartRecord, time: u64) -> LastGoodCopy {
        let data = record.encode().into_bytes();
        LastGoodCopy { data, time }
    }

    fn at(unix_s: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(unix_s)
    }

    #[test]
    fn a_record_is_read_as_written() {
        let text = record().encode();
        assert_eq!(
            text,
            "speaker 64500 192.0.2.254 120\n\
             neighbor 192.0.2.1 11 1700000000\n\
             neighbor 2001:db8::1 01 1700000000\n"
        );
        assert_eq!(RestartRecord::parse(text.as_bytes()), Some(record()));
    }

    #[test]
    fn damaged_records_are_refused() {
        let text = record().encode();
        for end in 0..text.len() {
            assert_eq!(
                RestartRecord::parse(&text.as_bytes()[..end]).filter(|r| *r == record()),
                None
            );
        }
        for wrong in [
            "",
            "speaker 1 1.1.1.1 70000\n",
            "neighbor 1.1.1.1 11 1\n",
            "\u{fffd}",
        ] {
            assert_eq!(RestartRecord::parse(wrong.as_bytes()), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_record_of_the_restart_time_is_a_restart() {
        let found = |now| RestartRecord::of_restart(&copy(&record(), 1_000), &record(), at(now));
        assert_eq!(found(1_000), Ok(record()));
        assert_eq!(found(1_120), Ok(record()));
        let error = found(1_121).expect_err("too old");
        assert!(error.contains("121 s old"), "{error}");
    }

    /// The clock was set back between the runs.
    #[test]
    fn a_record_of_the_future_is_no_restart() {
        let found = RestartRecord::of_restart(&copy(&record(), 1_001), &record(), at(1_000));
        assert_eq!(found, Err("its time is in the future".into()));
    }

    #[test]
    fn the_record_of_another_speaker_is_no_restart() {
        let other = RestartRecord {
            asn: 64501,
            ..record()
        };
        let found = RestartRecord::of_restart(&copy(&other, 1_000), &record(), at(1_000));
        let error = found.expect_err("another speaker");
        assert!(error.contains("AS 64501"), "{error}");
    }
}
