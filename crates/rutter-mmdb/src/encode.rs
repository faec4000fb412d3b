//! Encodes fields of the data section: a control byte with type and size, then the value.

pub(crate) const UTF8: u8 = 2;
pub(crate) const U16: u8 = 5;
pub(crate) const U32: u8 = 6;
pub(crate) const MAP: u8 = 7;
pub(crate) const U64: u8 = 9;
pub(crate) const ARRAY: u8 = 11;

/// Writes type and size.
pub(crate) fn control(out: &mut Vec<u8>, kind: u8, size: usize) {
    let (short, rest): (u8, &[u8]) = match size {
        0..29 => (size as u8, &[]),
        29..285 => (29, &((size - 29) as u32).to_be_bytes()[3..]),
        285..65_821 => (30, &((size - 285) as u32).to_be_bytes()[2..]),
        _ => (31, &((size - 65_821) as u32).to_be_bytes()[1..]),
    };
    if kind < 8 {
        out.push(kind << 5 | short);
    } else {
        out.extend([short, kind - 7]);
    }
    out.extend_from_slice(rest);
}

/// Writes a string.
pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    control(out, UTF8, text.len());
    out.extend_from_slice(text.as_bytes());
}

/// Writes an unsigned integer without leading zero bytes.
pub(crate) fn number(out: &mut Vec<u8>, kind: u8, value: u64) {
    let octets = value.to_be_bytes();
    let skip = value.leading_zeros() as usize / 8;
    control(out, kind, octets.len() - skip);
    out.extend_from_slice(&octets[skip..]);
}

/// Writes a pointer to an offset in the data section.
pub(crate) fn pointer(out: &mut Vec<u8>, offset: u32) {
    const KIND: u8 = 1 << 5;
    match offset {
        0..2_048 => out.extend([KIND | (offset >> 8) as u8, offset as u8]),
        2_048..526_336 => {
            let octets = (offset - 2_048).to_be_bytes();
            out.extend([KIND | 1 << 3 | octets[1], octets[2], octets[3]]);
        }
        526_336..134_744_064 => {
            let octets = (offset - 526_336).to_be_bytes();
            out.extend([KIND | 2 << 3 | octets[0], octets[1], octets[2], octets[3]]);
        }
        _ => {
            out.push(KIND | 3 << 3);
            out.extend(offset.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    #[test]
    fn fields_have_the_specified_encoding() {
        assert_eq!(made(|o| number(o, U32, 0)), [0xc0]);
        assert_eq!(made(|o| number(o, U32, 500)), [0xc2, 1, 0xf4]);
        assert_eq!(made(|o| number(o, U64, 1)), [0x01, 2, 1]);
        assert_eq!(made(|o| text(o, "ab")), [0x42, b'a', b'b']);
        assert_eq!(made(|o| control(o, UTF8, 29)), [0x5d, 0]);
        assert_eq!(made(|o| control(o, UTF8, 51)), [0x5d, 22]);
        assert_eq!(made(|o| control(o, UTF8, 285)), [0x5e, 0, 0]);
        assert_eq!(made(|o| control(o, UTF8, 65_821)), [0x5f, 0, 0, 0]);
        assert_eq!(made(|o| control(o, ARRAY, 1)), [1, 4]);
        assert_eq!(made(|o| pointer(o, 2_047)), [0x27, 0xff]);
        assert_eq!(made(|o| pointer(o, 2_048)), [0x28, 0, 0]);
        assert_eq!(made(|o| pointer(o, 526_336)), [0x30, 0, 0, 0]);
        assert_eq!(made(|o| pointer(o, 134_744_064)), [0x38, 8, 8, 8, 0]);
    }
}
