//! The destinations of an MRT table dump, record by record: a dump is larger than what is kept of it.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use rutter_load::workload::is_acceptable;
use rutter_net::Prefix;
use rutter_wire::mrt::{Content, MrtError, next_record};

/// Each prefix that an exchange accepts, once. The file is plain or gzip, told apart by its first octets.
pub(super) fn read_destinations(path: &Path) -> io::Result<Vec<Prefix>> {
    let mut file = BufReader::with_capacity(CHUNK, File::open(path)?);
    match file.fill_buf()? {
        [b'B', b'Z', ..] => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "is packed with bzip2: unpack it first (bunzip2)",
        )),
        [0x1f, 0x8b, ..] => destinations(MultiGzDecoder::new(file)),
        _ => destinations(file),
    }
}

fn destinations(mut input: impl Read) -> io::Result<Vec<Prefix>> {
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    let (mut buffer, mut offset) = (Vec::new(), 0);
    loop {
        let more = (&mut input).take(CHUNK as u64).read_to_end(&mut buffer)?;
        let mut at = 0;
        while let Some(record) = next_record(&buffer[at..]).map_err(|e| damaged(offset + at, e))? {
            let content = record.decode().map_err(|e| damaged(offset + at, e))?;
            if let Content::Rib(rib) = content
                && is_acceptable(rib.prefix)
                && seen.insert(rib.prefix)
            {
                found.push(rib.prefix);
            }
            at += record.len;
        }
        offset += at;
        buffer.drain(..at);
        if more == 0 {
            return Ok(found);
        }
    }
}

fn damaged(offset: usize, error: MrtError) -> io::Error {
    let text = format!("is no MRT file, or damaged, at octet {offset}: {error}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

const CHUNK: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use rutter_wire::mrt::{Route, write_rib};

    #[test]
    fn each_prefix_comes_once() {
        let mut dump = Vec::new();
        for (sequence, text) in ["193.0.0.0/21", "10.0.0.0/8", "193.0.0.0/21"]
            .iter()
            .enumerate()
        {
            let prefix: Prefix = text.parse().unwrap();
            let route = Route {
                peer_index: 0,
                originated_s: 0,
                path_id: 0,
                attributes: &[],
                next_hop: &[],
            };
            write_rib(&mut dump, 0, sequence as u32, prefix, false, [route]);
        }
        let found = destinations(dump.as_slice()).unwrap();
        assert_eq!(found, ["193.0.0.0/21".parse().unwrap()]);
    }

    #[test]
    fn rubbish_is_named() {
        let error = destinations([0xff; 64].as_slice()).unwrap_err();
        assert!(error.to_string().contains("at octet 0"), "{error}");
    }
}
