//! Encodes and decodes numbers and strings for records on disk.

/// The bytes are not a record of ours: corrupt, or of a newer version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CorruptRecord;

/// Appends a number in LEB128: seven bits per byte, the lowest first.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed number in zigzag form, so that numbers near 0 are short.
pub(crate) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_number(out, ((number << 1) ^ (number >> 63)) as u64);
}

/// Appends a string with its length in front.
pub(crate) fn put_string(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Appends a number or its absence.
pub(crate) fn put_optional(out: &mut Vec<u8>, number: Option<u32>) {
    put_number(out, number.map_or(0, |number| u64::from(number) + 1));
}

/// The bytes that are not decoded yet.
pub(crate) struct ByteReader<'a>(pub(crate) &'a [u8]);

impl<'a> ByteReader<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], CorruptRecord> {
        let (head, tail) = self.0.split_at_checked(len).ok_or(CorruptRecord)?;
        self.0 = tail;
        Ok(head)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, CorruptRecord> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], CorruptRecord> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or(CorruptRecord)?;
        self.0 = tail;
        Ok(*head)
    }

    pub(crate) fn number(&mut self) -> Result<u64, CorruptRecord> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(CorruptRecord)
    }

    pub(crate) fn number_u32(&mut self) -> Result<u32, CorruptRecord> {
        self.number()?.try_into().map_err(|_| CorruptRecord)
    }

    pub(crate) fn signed(&mut self) -> Result<i64, CorruptRecord> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(crate) fn string(&mut self) -> Result<&'a str, CorruptRecord> {
        let len = self.number()?;
        let bytes = self.take(usize::try_from(len).map_err(|_| CorruptRecord)?)?;
        std::str::from_utf8(bytes).map_err(|_| CorruptRecord)
    }

    pub(crate) fn optional(&mut self) -> Result<Option<u32>, CorruptRecord> {
        match self.number()? {
            0 => Ok(None),
            number => u32::try_from(number - 1)
                .map(Some)
                .map_err(|_| CorruptRecord),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_a_round_trip() {
        let mut out = Vec::new();
        let numbers = [0, 1, -1, 63, -64, 1 << 40, i64::MAX, i64::MIN];
        numbers.iter().for_each(|n| put_signed(&mut out, *n));
        put_optional(&mut out, None);
        put_optional(&mut out, Some(u32::MAX));
        put_string(&mut out, "naïve");
        let mut reader = ByteReader(&out);
        for number in numbers {
            assert_eq!(reader.signed(), Ok(number));
        }
        assert_eq!(reader.optional(), Ok(None));
        assert_eq!(reader.optional(), Ok(Some(u32::MAX)));
        assert_eq!(reader.string(), Ok("naïve"));
        assert_eq!(reader.byte(), Err(CorruptRecord));
    }
}
