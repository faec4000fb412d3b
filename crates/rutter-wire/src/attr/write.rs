//! Writing attributes.

use super::EXTENDED_LENGTH;

/// Appends an attribute. The Extended Length flag is set only if the value needs it.
///
/// A value of more than 65,535 octets is cut: no message could carry it.
#[inline]
pub fn write_attr(out: &mut Vec<u8>, flags: u8, code: u8, value: &[u8]) {
    let value = value.get(..MAX_VALUE).unwrap_or(value);
    match u8::try_from(value.len()) {
        Ok(len) => out.extend_from_slice(&[flags & !EXTENDED_LENGTH, code, len]),
        Err(_) => {
            let [high, low] = (value.len() as u16).to_be_bytes();
            out.extend_from_slice(&[flags | EXTENDED_LENGTH, code, high, low]);
        }
    }
    out.extend_from_slice(value);
}

/// Like [`write_attr`], with a value of four-octet numbers: communities, AS numbers or identifiers.
#[inline]
pub fn write_numbers(out: &mut Vec<u8>, flags: u8, code: u8, numbers: &[u32]) {
    write_attr_with(out, flags, code, |out| extend_numbers(out, numbers));
}

/// Appends numbers in network byte order.
#[inline]
pub(super) fn extend_numbers(out: &mut Vec<u8>, numbers: &[u32]) {
    let at = out.len();
    out.resize(at + 4 * numbers.len(), 0);
    for (octets, number) in out[at..].chunks_exact_mut(4).zip(numbers) {
        octets.copy_from_slice(&number.to_be_bytes());
    }
}

/// Like [`write_attr`]; `write_value` appends the value.
#[inline]
pub(super) fn write_attr_with(
    out: &mut Vec<u8>,
    flags: u8,
    code: u8,
    write_value: impl FnOnce(&mut Vec<u8>),
) {
    let at = out.len();
    out.extend_from_slice(&[flags & !EXTENDED_LENGTH, code, 0]);
    write_value(out);
    let len = out.len() - at - 3;
    match u8::try_from(len) {
        Ok(len) => out[at + 2] = len,
        Err(_) => widen(out, at, len),
    }
}

#[cold]
fn widen(out: &mut Vec<u8>, at: usize, len: usize) {
    let len = len.min(MAX_VALUE);
    let [high, low] = (len as u16).to_be_bytes();
    out[at] |= EXTENDED_LENGTH;
    out[at + 2] = high;
    out.insert(at + 3, low);
    out.truncate(at + 4 + len);
}

/// Fills in the two-octet length right before `value` with the number of octets appended since.
pub(super) fn patch_extended_length(out: &mut Vec<u8>, value: usize) {
    out.truncate(value + MAX_VALUE);
    let len = (out.len() - value) as u16;
    out[value - 2..value].copy_from_slice(&len.to_be_bytes());
}

const MAX_VALUE: usize = u16::MAX as usize;
