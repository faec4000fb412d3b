//! The routes of table dumps, as they stand in a file.

use rutter_net::{Family, Prefix};
use rutter_wire::mrt::RibEntry;

use crate::{RecordOutcome, Unreadable, UpdateForm, UpdateReader, UpdateRoutes};

/// Reads table entries. Most entries of a dump share their attributes with others, so the reader keeps a value that its
/// caller derives from the attributes of the latest ones.
pub struct EntryReader<T> {
    /// Empty until the first entry.
    known: Vec<Known<T>>,
    updates: UpdateReader,
    body: Vec<u8>,
}

/// The value that was made of a block of attributes.
#[derive(Clone, Default)]
struct Known<T> {
    /// `None` before the first block.
    form: Option<(Family, bool)>,
    block: Vec<u8>,
    value: T,
    outcome: RecordOutcome,
}

/// The number of blocks that are kept.
const SLOTS: usize = 1 << 15;

impl<T> Default for EntryReader<T> {
    fn default() -> Self {
        EntryReader {
            known: Vec::new(),
            updates: UpdateReader::default(),
            body: Vec::new(),
        }
    }
}

impl<T: Clone + Default> EntryReader<T> {
    /// Returns the value of an entry's attributes, and the outcome of reading them. `as4`: their AS numbers take four
    /// octets. If the value is not known, `make` replaces an old one. It gets the entry as an UPDATE that announces the
    /// prefix.
    pub fn read(
        &mut self,
        entry: &RibEntry<'_>,
        prefix: Prefix,
        as4: bool,
        make: impl FnOnce(&mut T, &UpdateRoutes<'_>),
    ) -> Result<(&T, &RecordOutcome), Unreadable> {
        let form = Some((prefix.family(), as4));
        if self.known.is_empty() {
            self.known.resize(SLOTS, Known::default());
        }
        let known = &mut self.known[hash(entry.attributes) as usize % SLOTS];
        if known.form != form || known.block != entry.attributes {
            self.body.clear();
            entry.write_update(&mut self.body, prefix, false);
            let add_path = false;
            if self.body.is_empty() {
                return Err(Unreadable::Update);
            }
            let update = self.updates.read(&self.body, UpdateForm { as4, add_path });
            known.form = form;
            known.block.clear();
            known.block.extend_from_slice(entry.attributes);
            make(&mut known.value, &update);
            known.outcome = update.outcome;
        }
        Ok((&known.value, &known.outcome))
    }
}

/// Returns a fast hash. It only selects a slot.
fn hash(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = <[u8; 8]>::try_from(chunk).map_or(0, u64::from_le_bytes);
        hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    for octet in chunks.remainder() {
        hash = (hash.rotate_left(5) ^ u64::from(*octet)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    hash ^ hash >> 32
}
