//! Parsing without keeping the result does not allocate.

use rutter_wire::attr::{self, AttrContext, OPTIONAL, TRANSITIVE, code, write_attr, write_numbers};
use rutter_wire::{frame, nlri, update};

const CONTEXT: AttrContext = AttrContext {
    as4: true,
    external: true,
    accept_as_set: false,
    has_ipv4_nlri: true,
};

fn message() -> Vec<u8> {
    let mut message = Vec::new();
    let mut writer = update::Writer::new(&mut message);
    let attributes = writer.attributes();
    write_attr(attributes, TRANSITIVE, code::ORIGIN, &[0]);
    attr::write_as_path(attributes, [&[64_500, 64_501, 64_502][..]].into_iter());
    write_attr(attributes, TRANSITIVE, code::NEXT_HOP, &[192, 0, 2, 1]);
    write_attr(attributes, OPTIONAL, code::MULTI_EXIT_DISC, &[0, 0, 0, 9]);
    let flags = OPTIONAL | TRANSITIVE;
    write_numbers(attributes, flags, code::COMMUNITIES, &[7, 8, 9]);
    write_numbers(attributes, flags, code::LARGE_COMMUNITIES, &[1, 2, 3]);
    write_attr(attributes, flags, 200, &[1, 2, 3]);
    let unreach = |out: &mut Vec<u8>| out.extend_from_slice(&[32, 0x20, 1, 0x0d, 0xb8]);
    attr::write_mp_unreach(attributes, rutter_net::AfiSafi::IPV6_UNICAST, unreach);
    writer
        .nlri()
        .extend_from_slice(&[24, 192, 0, 2, 20, 10, 0, 0]);
    writer.finish();
    message
}

#[test]
fn a_parse_allocates_nothing() {
    let message = message();
    // The caller's buffers are reused; they may grow the first time.
    let (mut ipv4, mut ipv6) = (Vec::with_capacity(8), Vec::with_capacity(8));
    let counted = allocation_counter::measure(|| {
        let frame = frame::next_frame(&message, frame::MAX_LEN)
            .expect("well formed")
            .expect("whole");
        let sections = update::split(frame.body).expect("well formed");
        let mut faults = Vec::new();
        let attributes = attr::parse(sections.attributes, &CONTEXT, &mut faults);
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(attributes.as_path().map(|path| path.path_len()), Some(3));
        assert_eq!(attributes.communities().count(), 3);
        assert_eq!(attributes.large_communities().count(), 1);
        assert_eq!(attributes.iter().count(), 8);
        nlri::parse_ipv4(sections.nlri, false, &mut ipv4).expect("well formed");
        let unreach = attributes.mp_unreach().expect("present");
        nlri::parse_ipv6(unreach.withdrawn, false, &mut ipv6).expect("well formed");
    });
    assert_eq!((ipv4.len(), ipv6.len()), (2, 1));
    assert_eq!(counted.count_total, 0);
}
