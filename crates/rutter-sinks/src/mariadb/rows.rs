//! Formats rows as text for LOAD DATA.

use std::fmt::Display;
use std::io::Write as _;
use std::net::IpAddr;

use rutter_events::{AttrColumns, utc};
use rutter_net::Prefix;

use crate::attr_cache::{ATTR_COLUMNS, AttrCache};

/// The bytes of rows.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) bytes: Vec<u8>,
    /// The caller keeps all sets of a chunk alive until its end.
    sets: AttrCache,
    time: (u64, String),
}

impl Rows {
    /// Returns whether there are no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn end_row(&mut self) {
        // The tab after the last field becomes the end of the line.
        if let Some(last) = self.bytes.last_mut() {
            *last = b'\n';
        }
    }

    pub(super) fn null(&mut self) {
        self.bytes.extend_from_slice(b"\\N\t");
    }

    pub(super) fn number(&mut self, value: impl Into<i64>) {
        number(&mut self.bytes, value.into() as u64);
    }

    pub(super) fn text(&mut self, value: &str) {
        escaped(&mut self.bytes, value.as_bytes());
    }

    pub(super) fn time(&mut self, unix_us: u64) {
        if self.time.0 != unix_us || self.time.1.is_empty() {
            let text = utc(unix_us);
            self.time = (unix_us, text.trim_end_matches(" UTC").to_owned());
        }
        self.bytes.extend_from_slice(self.time.1.as_bytes());
        self.bytes.push(b'\t');
    }

    /// Writes network and length.
    pub(super) fn network(&mut self, prefix: Prefix) {
        match prefix.addr() {
            IpAddr::V4(address) => escaped(&mut self.bytes, &address.octets()),
            IpAddr::V6(address) => escaped(&mut self.bytes, &address.octets()),
        }
        self.number(prefix.len());
    }

    /// Writes a value that needs no escaping.
    pub(super) fn plain(&mut self, value: impl Display) {
        plain(&mut self.bytes, value);
    }

    /// Writes the columns of a set, or NULL for each.
    pub(super) fn attrs(&mut self, attrs: Option<&AttrColumns>) {
        let Some(attrs) = attrs else {
            return (0..ATTR_COLUMNS).for_each(|_| self.null());
        };
        let columns = self.sets.encoded(attrs, put_attrs);
        self.bytes.extend_from_slice(columns);
    }
}

fn put_attrs(out: &mut Vec<u8>, attrs: &AttrColumns) {
    put_nullable(out, attrs.origin_name());
    put_nullable(out, attrs.as_path.as_deref());
    put_nullable(out, attrs.origin_as.map(|asn| asn.0));
    put_nullable(out, attrs.next_hop);
    put_nullable(out, attrs.med);
    put_nullable(out, attrs.local_pref);
    spaced(out, &attrs.communities);
    spaced(out, &attrs.extended_communities);
    spaced(out, &attrs.large_communities);
}

fn put_nullable(out: &mut Vec<u8>, value: Option<impl Display>) {
    match value {
        Some(value) => plain(out, value),
        None => out.extend_from_slice(b"\\N\t"),
    }
}

fn plain(out: &mut Vec<u8>, value: impl Display) {
    let _ = write!(out, "{value}\t");
}

fn spaced(out: &mut Vec<u8>, values: &[impl Display]) {
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        let _ = write!(out, "{value}");
    }
    out.push(b'\t');
}

fn number(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
    out.push(b'\t');
}

/// Escapes the characters that LOAD DATA interprets.
fn escaped(out: &mut Vec<u8>, value: &[u8]) {
    for byte in value {
        match byte {
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0 => out.extend_from_slice(b"\\0"),
            other => out.push(*other),
        }
    }
    out.push(b'\t');
}
