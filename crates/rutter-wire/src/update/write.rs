//! Writing UPDATE messages.

use rutter_net::AfiSafi;

use super::Sections;
use crate::attr::write_mp_unreach;

/// Appends an UPDATE to a buffer, part after part. Each length is filled in when its part ends.
///
/// The caller keeps the message within the length that was negotiated.
#[derive(Debug)]
pub struct Writer<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    /// Offset of the length of the current part.
    length_at: usize,
}

impl<'o> Writer<'o> {
    /// Appends the header. The withdrawn IPv4 routes come next.
    #[inline]
    pub fn new(out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        out.extend_from_slice(&HEADER);
        Writer {
            out,
            start,
            length_at: start + 19,
        }
    }

    /// The buffer, for appending to the current part: withdrawn routes, attributes or NLRI.
    #[inline]
    pub fn out(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Ends the withdrawn routes. The path attributes come next.
    #[inline]
    pub fn attributes(&mut self) -> &mut Vec<u8> {
        self.end_part();
        self.length_at = self.out.len();
        self.out.extend_from_slice(&[0, 0]);
        self.out
    }

    /// Ends the attributes. The IPv4 NLRI come next.
    #[inline]
    pub fn nlri(&mut self) -> &mut Vec<u8> {
        self.end_part();
        self.out
    }

    /// Ends the message and returns its length in octets.
    #[inline]
    pub fn finish(self) -> usize {
        let len = self.out.len() - self.start;
        put_length(self.out, self.start + 16, len);
        len
    }

    #[inline]
    fn end_part(&mut self) {
        let len = self.out.len() - self.length_at - 2;
        put_length(self.out, self.length_at, len);
    }
}

#[inline]
fn put_length(out: &mut [u8], at: usize, len: usize) {
    debug_assert!(len <= usize::from(u16::MAX), "{len} octets fit no message");
    out[at..at + 2].copy_from_slice(&(len as u16).to_be_bytes());
}

/// Appends a whole UPDATE message with its header. The caller keeps it within the negotiated message length.
#[inline]
pub fn write(out: &mut Vec<u8>, sections: &Sections<'_>) {
    let mut writer = Writer::new(out);
    writer.out().extend_from_slice(sections.withdrawn);
    writer.attributes().extend_from_slice(sections.attributes);
    writer.nlri().extend_from_slice(sections.nlri);
    writer.finish();
}

/// Appends a whole End-of-RIB message.
pub fn write_end_of_rib(out: &mut Vec<u8>, afi_safi: AfiSafi) {
    let mut writer = Writer::new(out);
    let attributes = writer.attributes();
    if afi_safi != AfiSafi::IPV4_UNICAST {
        write_mp_unreach(attributes, afi_safi, |_| ());
    }
    writer.nlri();
    writer.finish();
}

/// Marker, length, type UPDATE, then the length of the withdrawn routes.
const HEADER: [u8; 21] = {
    let mut header = [0xff; 21];
    header[16] = 0;
    header[17] = 0;
    header[18] = 2;
    header[19] = 0;
    header[20] = 0;
    header
};
