//! Records of MRT files from hex: the odd ones that no writer makes. Every crate that reads such files tests with them.
#![allow(dead_code)]

/// Decodes hex; white space is ignored.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|b| !b.is_ascii_whitespace())
        .map(|b| char::from(b).to_digit(16).expect("a hex digit") as u8)
        .collect();
    let pairs = digits.chunks(2);
    pairs.map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// A record of any type with any body.
pub fn record(kind: u16, subtype: u16, body: &[u8]) -> Vec<u8> {
    let mut out = 1_700_000_000u32.to_be_bytes().to_vec();
    out.extend(kind.to_be_bytes());
    out.extend(subtype.to_be_bytes());
    out.extend((body.len() as u32).to_be_bytes());
    out.extend(body);
    out
}

/// A PEER_INDEX_TABLE with the peers 192.0.2.11 AS64501 and 2001:db8::11 AS200000.
pub fn peers() -> Vec<u8> {
    let body = "09090909 0000 0002 02 00000009 c000020b 0000fbf5
        03 00000009 20010db8000000000000000000000011 00030d40";
    record(13, 1, &hex(body))
}

/// A table record of TABLE_DUMP_V2. `prefix` has the length and the octets. Each entry is the number of a peer, the path
/// identifier or nothing, and the attributes.
pub fn table_record(subtype: u16, prefix: &str, entries: &[(u16, &str, &str)]) -> Vec<u8> {
    let mut body = hex(&format!("00000000 {prefix}"));
    body.extend((entries.len() as u16).to_be_bytes());
    for (peer, path_id, attributes) in entries {
        let attributes = hex(attributes);
        body.extend(peer.to_be_bytes());
        body.extend(hex(&format!("6553f100 {path_id}")));
        body.extend((attributes.len() as u16).to_be_bytes());
        body.extend(attributes);
    }
    record(13, subtype, &body)
}

/// The body of an UPDATE without withdrawn routes.
pub fn announcing(attributes: &str, nlri: &str) -> Vec<u8> {
    let attributes = hex(attributes);
    let mut body = vec![0, 0];
    body.extend((attributes.len() as u16).to_be_bytes());
    body.extend(attributes);
    body.extend(hex(nlri));
    body
}

/// The body of an UPDATE as a whole message.
pub fn message(update: &[u8]) -> Vec<u8> {
    let mut out = vec![0xff; 16];
    out.extend((update.len() as u16 + 19).to_be_bytes());
    out.push(2);
    out.extend(update);
    out
}

/// A BGP4MP_MESSAGE_AS4 record of the body of an UPDATE, which 192.0.2.11 sent.
pub fn update_record(update: &[u8]) -> Vec<u8> {
    let session = hex("0000fbf5 0000fbf4 0000 0001 c000020b c0000201");
    record(16, 4, &[session, message(update)].concat())
}
