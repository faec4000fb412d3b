//! Formats rows in the binary form of COPY.

use std::fmt::Display;
use std::net::IpAddr;

use rutter_events::AttrColumns;
use rutter_net::Prefix;

use crate::attr_cache::{ATTR_COLUMNS, AttrCache};

/// The bytes of rows.
pub(super) struct Rows {
    bytes: Vec<u8>,
    sets: AttrCache,
}

impl Rows {
    /// Begins with the header of the format.
    pub(super) fn new() -> Self {
        let mut bytes = Vec::with_capacity(COPY_BYTES + (16 << 10));
        bytes.extend(b"PGCOPY\n\xff\r\n\0");
        bytes.extend([0; 8]);
        Self {
            bytes,
            sets: AttrCache::default(),
        }
    }

    /// Returns whether there are enough bytes to send.
    pub(super) fn is_piece(&self) -> bool {
        self.bytes.len() >= COPY_BYTES
    }

    /// Takes the bytes so far, to send them.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::replace(&mut self.bytes, Vec::with_capacity(COPY_BYTES + (16 << 10)))
    }

    /// Discards the encoded sets, since their addresses may be reused.
    pub(super) fn forget_sets(&mut self) {
        self.sets.forget();
    }

    /// Begins a row with this number of columns.
    pub(super) fn begin(&mut self, columns: i16) {
        self.bytes.extend(columns.to_be_bytes());
    }

    /// Writes the trailer of the format.
    pub(super) fn end(&mut self) {
        self.bytes.extend((-1_i16).to_be_bytes());
    }

    pub(super) fn null(&mut self) {
        null(&mut self.bytes);
    }

    pub(super) fn int(&mut self, value: i32) {
        put(&mut self.bytes, &value.to_be_bytes());
    }

    pub(super) fn bigint(&mut self, value: i64) {
        put(&mut self.bytes, &value.to_be_bytes());
    }

    pub(super) fn boolean(&mut self, value: bool) {
        put(&mut self.bytes, &[value.into()]);
    }

    pub(super) fn text(&mut self, value: &str) {
        text(&mut self.bytes, value);
    }

    /// Writes microseconds since 1970 as `timestamptz`, which counts from 2000.
    pub(super) fn time(&mut self, unix_us: u64) {
        self.bigint((unix_us as i64).wrapping_sub(EPOCH_2000_US));
    }

    pub(super) fn cidr(&mut self, prefix: Prefix) {
        network(&mut self.bytes, prefix.addr(), prefix.len(), true);
    }

    pub(super) fn inet(&mut self, address: IpAddr) {
        host(&mut self.bytes, address);
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
    put_nullable(out, attrs.origin_name(), text);
    put_nullable(out, attrs.as_path.as_deref(), text);
    put_nullable(out, attrs.origin_as.map(|asn| asn.0), number);
    put_nullable(out, attrs.next_hop, host);
    put_nullable(out, attrs.med, number);
    put_nullable(out, attrs.local_pref, number);
    put_strings(out, &attrs.communities);
    put_strings(out, &attrs.extended_communities);
    put_strings(out, &attrs.large_communities);
}

fn put_nullable<T>(out: &mut Vec<u8>, value: Option<T>, put: impl Fn(&mut Vec<u8>, T)) {
    match value {
        Some(value) => put(out, value),
        None => null(out),
    }
}

fn null(out: &mut Vec<u8>) {
    out.extend((-1_i32).to_be_bytes());
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as i32).to_be_bytes());
    out.extend_from_slice(bytes);
}

fn number(out: &mut Vec<u8>, value: u32) {
    put(out, &i64::from(value).to_be_bytes());
}

/// Writes a string without U+0000, which PostgreSQL cannot store.
fn text(out: &mut Vec<u8>, value: &str) {
    match value.contains('\0') {
        false => put(out, value.as_bytes()),
        true => put(out, value.replace('\0', "").as_bytes()),
    }
}

fn host(out: &mut Vec<u8>, address: IpAddr) {
    let len = if address.is_ipv4() { 32 } else { 128 };
    network(out, address, len, false);
}

fn network(out: &mut Vec<u8>, address: IpAddr, len: u8, is_cidr: bool) {
    match address {
        IpAddr::V4(address) => {
            out.extend(8_i32.to_be_bytes());
            out.extend([AF_INET, len, is_cidr.into(), 4]);
            out.extend(address.octets());
        }
        IpAddr::V6(address) => {
            out.extend(20_i32.to_be_bytes());
            out.extend([AF_INET + 1, len, is_cidr.into(), 16]);
            out.extend(address.octets());
        }
    }
}

/// Writes a one-dimensional array of strings; an empty array has no dimension.
fn put_strings(out: &mut Vec<u8>, values: &[impl Display]) {
    use std::io::Write as _;
    let start = out.len();
    out.extend([0; 4]);
    let dimensions = i32::from(!values.is_empty());
    for word in [dimensions, 0, TEXT_OID] {
        out.extend(word.to_be_bytes());
    }
    if !values.is_empty() {
        out.extend((values.len() as i32).to_be_bytes());
        out.extend(1_i32.to_be_bytes());
    }
    for value in values {
        let at = out.len();
        out.extend([0; 4]);
        let _ = write!(out, "{value}");
        fill_length(out, at);
    }
    fill_length(out, start);
}

/// Writes the length of the bytes after `at` into the four bytes reserved for it.
fn fill_length(out: &mut [u8], at: usize) {
    let len = (out.len() - at - 4) as i32;
    out[at..at + 4].copy_from_slice(&len.to_be_bytes());
}

/// 2000-01-01 in microseconds since 1970.
const EPOCH_2000_US: i64 = 946_684_800_000_000;
const AF_INET: u8 = 2;
const TEXT_OID: i32 = 25;
/// The number of bytes sent at once.
const COPY_BYTES: usize = 128 << 10;
