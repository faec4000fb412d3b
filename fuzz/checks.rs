//! The promises of the codec for arbitrary bytes. Shared by the fuzz targets and the corpus test of the stable toolchain.
#![allow(dead_code)]

use rutter_wire::attr::{self, AttrContext, Attributes, MpReach};
use rutter_wire::bmp::{self, Message};
use rutter_wire::frame::{MAX_EXTENDED_LEN, MessageType, next_frame};
use rutter_wire::mrt::{Content, Records};
use rutter_wire::notification::Notification;
use rutter_wire::open::Open;
use rutter_wire::{nlri as codec, update as message_parts};

/// An UPDATE: the first byte chooses the context and Add-Path, the rest is the body.
pub fn update(data: &[u8]) {
    let Some((&choice, body)) = data.split_first() else {
        return;
    };
    let end_of_rib = message_parts::is_end_of_rib(body);
    let Ok(sections) = message_parts::split(body) else {
        assert!(end_of_rib.is_none(), "an End-of-RIB that does not split");
        return;
    };
    let context = AttrContext {
        as4: choice & 1 != 0,
        external: choice & 2 != 0,
        accept_as_set: choice & 4 != 0,
        has_ipv4_nlri: !sections.nlri.is_empty(),
    };
    let mut faults = Vec::new();
    let attributes = attr::parse(sections.attributes, &context, &mut faults);
    for fault in &faults {
        assert!(fault.offset <= sections.attributes.len(), "{fault}");
        assert_eq!(fault.notification().code, 3);
    }
    canonical(&attributes);
    reported(sections.attributes, &context, faults.is_empty());
    let add_path = choice & 8 != 0;
    routes(sections.withdrawn, add_path);
    routes(sections.nlri, add_path);
    if let Some(MpReach { nlri, .. }) = attributes.mp_reach() {
        routes(nlri, add_path);
    }
    if let Some(unreach) = attributes.mp_unreach() {
        routes(unreach.withdrawn, add_path);
    }
}

/// A reported block has a canonical form, also if it is malformed. Without faults both readers agree.
fn reported(block: &[u8], context: &AttrContext, is_sound: bool) {
    let mut faults = Vec::new();
    let reported = attr::parse_reported(block, context, &mut faults);
    let bytes = canonical_block(&reported);
    for fault in &faults {
        assert!(!fault.summary().to_string().is_empty());
        reported.is_hidden_by(fault);
    }
    if is_sound {
        let unchecked = Attributes::as_reported(block, context.as4);
        if reported.next_hop() == unchecked.next_hop() {
            assert_eq!(canonical_block(&unchecked), bytes);
        }
    }
}

/// The canonical block keeps its path length when it passes a two-octet neighbor.
fn canonical(attributes: &Attributes<'_>) {
    let block = canonical_block(attributes);
    let view = Attributes::from_canonical(&block);
    let mut narrow = Vec::new();
    view.write_two_octet(&mut narrow);
    let path_len = |path: Option<attr::AsPath<'_>>| path.map(|path| path.path_len());
    let lenient = AttrContext {
        as4: false,
        external: false,
        accept_as_set: true,
        has_ipv4_nlri: false,
    };
    let narrow = attr::parse(&narrow, &lenient, &mut Vec::new());
    assert_eq!(path_len(narrow.as_path()), path_len(view.as_path()));
}

/// The canonical form of a canonical block is the same block.
fn canonical_block(attributes: &Attributes<'_>) -> Vec<u8> {
    let mut block = Vec::new();
    attributes.write_canonical(&mut block);
    if attributes.is_canonical() {
        assert_eq!(block, attributes.block());
    }
    let view = Attributes::from_canonical(&block);
    assert_eq!(view.block().len(), block.len());
    let mut again = Vec::new();
    view.write_canonical(&mut again);
    assert_eq!(again, block);
    block
}

/// NLRI of both families: the first byte chooses Add-Path.
pub fn nlri(data: &[u8]) {
    if let Some((&choice, bytes)) = data.split_first() {
        routes(bytes, choice & 1 != 0);
    }
}

/// NLRI that parse can be written and parse to the same values again.
fn routes(bytes: &[u8], add_path: bool) {
    let mut four = Vec::new();
    if let Err(fault) = codec::parse_ipv4(bytes, add_path, &mut four) {
        assert!(fault.offset < bytes.len(), "{fault}");
    }
    let (mut wire, mut again) = (Vec::new(), Vec::new());
    for &(path_id, prefix) in &four {
        codec::write_ipv4(&mut wire, add_path.then_some(path_id), prefix);
    }
    assert!(wire.len() <= bytes.len());
    assert_eq!(codec::parse_ipv4(&wire, add_path, &mut again), Ok(()));
    assert_eq!(again, four);
    let mut six = Vec::new();
    if let Err(fault) = codec::parse_ipv6(bytes, add_path, &mut six) {
        assert!(fault.offset < bytes.len(), "{fault}");
    }
    let (mut wire, mut again) = (Vec::new(), Vec::new());
    for &(path_id, prefix) in &six {
        codec::write_ipv6(&mut wire, add_path.then_some(path_id), prefix);
    }
    assert_eq!(codec::parse_ipv6(&wire, add_path, &mut again), Ok(()));
    assert_eq!(again, six);
}

/// A whole MRT file.
pub fn mrt(data: &[u8]) {
    for record in Records::new(data) {
        match record.map(|record| record.decode()) {
            Ok(Ok(Content::PeerIndexTable(table))) => assert!(table.peers().count() <= 65_535),
            Ok(Ok(Content::Rib(rib))) => {
                for entry in rib.entries().flatten() {
                    entry.next_hop();
                    canonical_block(&entry.view());
                    let mut body = Vec::new();
                    entry.write_update(&mut body, rib.prefix, rib.add_path);
                    assert!(message_parts::split(&body).is_ok());
                    update(&[&[5 | u8::from(rib.add_path) << 3], &body[..]].concat());
                }
            }
            Ok(_) => {}
            Err(error) => assert!(error.offset <= data.len(), "{error}"),
        }
    }
}

/// A stream of messages, as read from a socket.
pub fn message(data: &[u8]) {
    let mut rest = data;
    while let Ok(Some(frame)) = next_frame(rest, MAX_EXTENDED_LEN) {
        assert!(!frame.wire.is_empty() && frame.wire.len() <= rest.len());
        match frame.kind {
            MessageType::Open => {
                let _ = Open::parse(frame.body);
            }
            MessageType::Update => {
                update(&[&[7], frame.body].concat());
            }
            MessageType::Notification => {
                let notification = Notification::parse(frame.body);
                assert!(!notification.to_string().is_empty());
            }
            _ => {}
        }
        rest = &rest[frame.wire.len()..];
    }
}

/// Must fail: a working fuzzer finds a community that begins with these bytes.
pub fn canary(data: &[u8]) {
    let context = AttrContext {
        as4: true,
        external: true,
        accept_as_set: true,
        has_ipv4_nlri: false,
    };
    let attributes = attr::parse(data, &context, &mut Vec::new());
    let found = attributes
        .communities()
        .any(|community| community.high() >> 8 == 0xca);
    assert!(!found, "the canary sings");
}

/// A BMP stream: each message consumes its length, and every accessor of its content works.
pub fn bmp(mut data: &[u8]) {
    while let Ok(Some(packet)) = bmp::next_packet(data, 1 << 20) {
        assert_eq!(packet.len, packet.body.len() + bmp::HEADER_LEN);
        match packet.decode() {
            Ok(message) => bmp_message(&message),
            Err(fault) => assert!(!fault.is_fatal(), "{fault}"),
        }
        data = &data[packet.len..];
    }
}

fn bmp_message(message: &Message<'_>) {
    match message {
        Message::RouteMonitoring(monitored) => {
            let _ = (
                monitored.peer.view(),
                message_parts::split(monitored.update()),
            );
            let mut out = Vec::new();
            bmp::write_route_monitoring(&mut out, &monitored.peer, monitored.message);
            let again = bmp::next_packet(&out, usize::MAX).ok().flatten();
            let again = again.and_then(|packet| packet.decode().ok());
            let Some(Message::RouteMonitoring(again)) = again else {
                panic!("what was written cannot be read");
            };
            assert_eq!(again.message, monitored.message);
        }
        Message::StatisticsReport(report) => {
            assert!(
                report
                    .iter()
                    .filter_map(|one| one.name())
                    .all(|name| !name.is_empty())
            );
        }
        Message::PeerDown(down) => drop(down.to_string()),
        Message::PeerUp(up) => drop((Open::parse(up.sent_open), Open::parse(up.received_open))),
        Message::Initiation(tlvs) | Message::Termination(tlvs) => {
            tlvs.into_iter().for_each(|tlv| drop(tlv.text()));
        }
        Message::RouteMirroring(mirroring) => assert!(mirroring.iter().count() < 1 << 20),
        Message::Other(_) => {}
    }
}
