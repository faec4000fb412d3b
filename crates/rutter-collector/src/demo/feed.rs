//! One speaker of the demonstration. It sends a full feed while generating it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use rutter_bench::rng::Rng;
use rutter_bench::workload::attributes::origin_asn;
use rutter_bench::workload::{Family as Form, NextHops, draw, write_nlri, write_update};
use rutter_ingest::replay::Speaker;
use rutter_net::{AfiSafi, Asn, Prefix};
use rutter_service::ShutdownSignal;
use rutter_wire::update::write_end_of_rib;

use super::table::Table;

/// The number of prefixes that share an attribute set.
const SHARED: usize = 5;
/// The buffer size in bytes at which the speaker writes to the socket.
const FLUSH_AT: usize = 64 * 1024;

/// Announces its part of the table and reports the time when it has sent everything. Then keeps the session up until
/// the shutdown.
pub(super) fn run(
    number: u16,
    from: IpAddr,
    to: SocketAddr,
    table: &Table,
    shutdown: &ShutdownSignal,
    sent: &Sender<Instant>,
) -> Result<(), String> {
    let asn = Asn(200_001 + u32::from(number));
    let mut speaker = Speaker::connect(to, Some(from), asn, 0x0a63_0001 + u32::from(number))?;
    let hops = NextHops {
        v4: [10, 99, 0, number as u8].into(),
        v6: Ipv6Addr::new(0x2a0e, 0x99, 0, 0, 0, 0, 0, number + 1),
    };
    let mut rng = Rng::new(7).fork(u64::from(number));
    // All feeds have the same origins.
    let mut origins = Rng::new(11);
    let mut nlri = Vec::new();
    for group in table.of_feed(number).chunks(SHARED) {
        nlri.clear();
        group
            .iter()
            .for_each(|prefix| write_nlri(&mut nlri, *prefix));
        let form = match group[0] {
            Prefix::V4(_) => Form::V4,
            Prefix::V6(_) => Form::V6,
        };
        let set = draw(asn, origin_asn(&mut origins), &mut rng);
        write_update(&mut speaker.out, &set, &hops, form, &nlri);
        if speaker.out.len() >= FLUSH_AT {
            speaker.flush()?;
        }
    }
    write_end_of_rib(&mut speaker.out, AfiSafi::IPV4_UNICAST);
    write_end_of_rib(&mut speaker.out, AfiSafi::IPV6_UNICAST);
    speaker.flush()?;
    // The receiver may be dropped already.
    let _ = sent.send(Instant::now());
    while !shutdown.wait(Duration::from_millis(200)) {
        if let Some(why) = speaker.ended() {
            return Err(why);
        }
    }
    Ok(())
}
