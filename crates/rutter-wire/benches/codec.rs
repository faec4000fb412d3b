//! Nanoseconds per codec operation, the best of several rounds: `cargo bench -p rutter-wire`.

use std::hint::black_box;
use std::time::Instant;

use rutter_net::{Asn, Ipv4Prefix, Ipv6Prefix};
use rutter_wire::attr::{self, AttrContext, Attributes, OPTIONAL, TRANSITIVE, code, write_attr};
use rutter_wire::{nlri, update};

const CONTEXT: AttrContext = AttrContext {
    as4: true,
    external: true,
    accept_as_set: false,
    has_ipv4_nlri: true,
};

fn main() {
    let block = six_attributes();
    println!("attributes: {} octets", block.len());
    measure("parse 6 attributes", 1, || {
        let mut faults = Vec::new();
        black_box(attr::parse(black_box(&block), &CONTEXT, &mut faults)).is_canonical()
    });
    measure("index 6 attributes again", 1, || {
        black_box(Attributes::from_canonical(black_box(&block))).is_canonical()
    });
    measure("build 6 attributes", 1, || black_box(six_attributes()));
    let mut prefixes = Vec::new();
    measure_nlri("ipv4", &ipv4_nlri(None), |bytes| {
        prefixes.clear();
        nlri::parse_ipv4(bytes, false, &mut prefixes).is_ok()
    });
    measure_nlri("ipv4 add-path", &ipv4_nlri(Some(7)), |bytes| {
        prefixes.clear();
        nlri::parse_ipv4(bytes, true, &mut prefixes).is_ok()
    });
    let mut prefixes = Vec::new();
    measure_nlri("ipv6", &ipv6_nlri(), |bytes| {
        prefixes.clear();
        nlri::parse_ipv6(bytes, false, &mut prefixes).is_ok()
    });
    let parsed = ipv4_prefixes();
    let mut out = Vec::new();
    measure("encode ipv4, each of 500", 500, || {
        out.clear();
        for &prefix in black_box(&parsed) {
            nlri::write_ipv4(&mut out, None, prefix);
        }
        out.len()
    });
    measure_update(&block);
}

fn measure_update(block: &[u8]) {
    let nlri = ipv4_nlri(None);
    let mut message = Vec::new();
    measure("build an UPDATE of 500", 1, || {
        message.clear();
        let mut writer = update::Writer::new(&mut message);
        writer.attributes().extend_from_slice(block);
        let out = writer.nlri();
        ipv4_prefixes_into(out);
        writer.finish()
    });
    message.clear();
    update::write(
        &mut message,
        &update::Sections {
            withdrawn: &[],
            attributes: block,
            nlri: &nlri,
        },
    );
    let mut prefixes = Vec::new();
    measure("parse an UPDATE of 500", 1, || {
        prefixes.clear();
        let Ok(sections) = update::split(black_box(&message[19..])) else {
            return false;
        };
        let mut faults = Vec::new();
        let attributes = attr::parse(sections.attributes, &CONTEXT, &mut faults);
        nlri::parse_ipv4(sections.nlri, false, &mut prefixes).is_ok() && attributes.is_canonical()
    });
}

fn measure_nlri(name: &str, bytes: &[u8], mut parse: impl FnMut(&[u8]) -> bool) {
    measure(&format!("decode {name}, each of 500"), 500, || {
        parse(black_box(bytes))
    });
}

fn measure<R>(name: &str, per: u32, mut work: impl FnMut() -> R) {
    let turns = 400_000 / per;
    let best = (0..15)
        .map(|_| {
            let start = Instant::now();
            (0..turns).for_each(|_| {
                black_box(work());
            });
            start.elapsed().as_secs_f64()
        })
        .fold(f64::MAX, f64::min);
    println!(
        "{name:30} {:8.2} ns",
        best * 1e9 / f64::from(turns) / f64::from(per)
    );
}

fn six_attributes() -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    write_attr(&mut out, TRANSITIVE, code::ORIGIN, &[0]);
    let path: [u8; 18] = [
        2, 4, 0, 0, 0xfd, 0xe8, 0, 0, 0x0d, 0x1c, 0, 0, 0x1b, 0x1b, 0, 3, 0, 1,
    ];
    write_attr(&mut out, TRANSITIVE, code::AS_PATH, &path);
    write_attr(&mut out, TRANSITIVE, code::NEXT_HOP, &[192, 0, 2, 1]);
    write_attr(&mut out, OPTIONAL, code::MULTI_EXIT_DISC, &[0, 0, 0, 100]);
    let communities = [0xfd, 0xe8, 0, 100, 0xfd, 0xe8, 0, 200, 0xfd, 0xe8, 1, 44];
    write_attr(
        &mut out,
        OPTIONAL | TRANSITIVE,
        code::COMMUNITIES,
        &communities,
    );
    let large = [0, 0, 0xfd, 0xe8, 0, 0, 0, 1, 0, 0, 0, 2];
    write_attr(
        &mut out,
        OPTIONAL | TRANSITIVE,
        code::LARGE_COMMUNITIES,
        &large,
    );
    debug_assert!(attr::AsPath::new(&path, true).contains(Asn(65000)));
    out
}

fn ipv4_prefixes() -> Vec<Ipv4Prefix> {
    let mut seed = 1u32;
    (0..500)
        .filter_map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let len = [24, 24, 24, 22, 23, 20, 16, 24][seed as usize >> 13 & 7];
            Ipv4Prefix::new(seed, len)
        })
        .collect()
}

fn ipv4_prefixes_into(out: &mut Vec<u8>) {
    let mut seed = 1u32;
    for _ in 0..500 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if let Some(prefix) = Ipv4Prefix::new(seed, 24) {
            nlri::write_ipv4(out, None, prefix);
        }
    }
}

fn ipv4_nlri(path_id: Option<u32>) -> Vec<u8> {
    let mut out = Vec::new();
    for prefix in ipv4_prefixes() {
        nlri::write_ipv4(&mut out, path_id, prefix);
    }
    out
}

fn ipv6_nlri() -> Vec<u8> {
    let mut out = Vec::new();
    for prefix in ipv4_prefixes() {
        let bits = u128::from(prefix.bits()) << 80 | 0x2001 << 112;
        if let Some(prefix) = Ipv6Prefix::new(bits, prefix.len() + 24) {
            nlri::write_ipv6(&mut out, None, prefix);
        }
    }
    out
}
