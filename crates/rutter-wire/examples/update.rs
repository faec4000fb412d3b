//! Reads the routes of an UPDATE: `cargo run -p rutter-wire --example update`.

use rutter_wire::attr::{self, AttrContext, Disposition};
use rutter_wire::frame::{self, MAX_LEN};
use rutter_wire::notification::Notification;
use rutter_wire::{nlri, update};

fn main() -> Result<(), Notification> {
    let bytes = message();
    let mut rest = &bytes[..];
    // `next_frame` returns `None` until a whole message has arrived.
    while let Some(frame) = frame::next_frame(rest, MAX_LEN)? {
        rest = &rest[frame.wire.len()..];
        let sections = update::split(frame.body)?;
        let context = AttrContext {
            as4: true,
            external: true,
            accept_as_set: false,
            has_ipv4_nlri: !sections.nlri.is_empty(),
        };
        let mut faults = Vec::new();
        let attributes = attr::parse(sections.attributes, &context, &mut faults);
        for fault in &faults {
            println!("{fault}");
        }
        // The strongest consequence decides the fate of the routes (RFC 7606).
        let strongest = faults.iter().map(|fault| fault.disposition()).max();
        let mut prefixes = Vec::new();
        nlri::parse_ipv4(sections.nlri, false, &mut prefixes)
            .map_err(|fault| fault.notification())?;
        for (_, prefix) in prefixes {
            match (strongest, attributes.as_path(), attributes.next_hop()) {
                (None | Some(Disposition::AttributeDiscard), Some(path), Some(next_hop)) => {
                    println!("announce {prefix} via {next_hop}, path {path}");
                }
                _ => println!("withdraw {prefix}"),
            }
        }
    }
    Ok(())
}

/// An UPDATE for 203.0.113.0/24 with ORIGIN, AS_PATH and NEXT_HOP.
fn message() -> Vec<u8> {
    let mut block = Vec::new();
    attr::write_attr(&mut block, attr::TRANSITIVE, attr::code::ORIGIN, &[0]);
    let sequence: &[u32] = &[64_500, 64_501];
    attr::write_as_path(&mut block, [sequence].into_iter());
    let next_hop = [192, 0, 2, 1];
    attr::write_attr(
        &mut block,
        attr::TRANSITIVE,
        attr::code::NEXT_HOP,
        &next_hop,
    );
    let mut out = Vec::new();
    let sections = update::Sections {
        withdrawn: &[],
        attributes: &block,
        nlri: &[24, 203, 0, 113],
    };
    update::write(&mut out, &sections);
    out
}
