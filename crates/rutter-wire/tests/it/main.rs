//! The codec from outside: golden bytes, the faults of RFC 7606 one by one, round trips and hostile input.

mod bmp;
mod canonical;
mod faults;
mod golden;
mod mrt;
mod nlri;
mod reported;
mod totality;

use rutter_wire::attr::{self, AttrContext, Attributes, Malformed};

/// A session across an AS border with four-octet AS numbers, and an UPDATE with IPv4 NLRI.
const EXTERNAL: AttrContext = AttrContext {
    as4: true,
    external: true,
    accept_as_set: false,
    has_ipv4_nlri: true,
};

/// The same, but the UPDATE has no NLRI field.
const NO_NLRI: AttrContext = AttrContext {
    has_ipv4_nlri: false,
    ..EXTERNAL
};

const INTERNAL: AttrContext = AttrContext {
    external: false,
    ..EXTERNAL
};

const TWO_OCTET: AttrContext = AttrContext {
    as4: false,
    ..EXTERNAL
};

/// Decodes hex; white space is ignored.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).expect("a hex digit"))
        .collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] << 4 | pair[1]) as u8)
        .collect()
}

fn parse<'a>(block: &'a [u8], context: &AttrContext) -> (Attributes<'a>, Vec<Malformed>) {
    let mut faults = Vec::new();
    let attributes = attr::parse(block, context, &mut faults);
    (attributes, faults)
}
