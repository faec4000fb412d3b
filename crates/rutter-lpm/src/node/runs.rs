//! An unpacked node of 8 bits, and its changes: runs of slots with the same answer.
//!
//! An entry *shows* where some run without a child has its value. An entry shows nowhere if longer entries and
//! children take all its slots. Such entries are in a separate list.

use super::{Key, Parts};

/// Consecutive slots, up to the next run. A run with a child has one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// The first slot.
    pub slot: u8,
    /// The length of the longest entry that covers it, 0 for none.
    pub len: u8,
    /// The child, or 0.
    pub child: u32,
    /// The entry's value, if there is an entry and no child.
    pub value: u32,
}

/// The contents of a node.
#[derive(Debug)]
pub(crate) struct Runs {
    pub runs: Vec<Run>,
    /// The entries that show nowhere.
    pub hidden: Vec<(Key, u32)>,
}

impl Default for Runs {
    fn default() -> Self {
        Runs {
            runs: vec![Run::default()],
            hidden: Vec::new(),
        }
    }
}

impl Run {
    fn shows(self, len: u32) -> bool {
        self.child == 0 && u32::from(self.len) == len
    }

    /// The longest entry that covers the run.
    pub fn key(self) -> Option<Key> {
        (self.len > 0).then(|| key_of(u32::from(self.slot), u32::from(self.len)))
    }
}

/// The key of the entry of a length, 1 to 8, that contains a slot.
pub(super) fn key_of(slot: u32, len: u32) -> Key {
    Key::new(slot >> (8 - len) << (8 - len), len)
}

impl Parts for Runs {
    fn clear(&mut self) {
        self.runs.clear();
        self.runs.push(Run::default());
        self.hidden.clear();
    }

    fn is_empty(&self) -> bool {
        self.runs == [Run::default()] && self.hidden.is_empty()
    }

    fn insert(&mut self, key: Key, value: u32) {
        let len = key.len() as u8;
        self.split(key.slot());
        self.split(key.end());
        let mut shows = false;
        let mut covered = None;
        let within = self.within(key);
        for run in self.runs[within].iter_mut().filter(|run| run.len < len) {
            if run.child == 0 {
                shows = true;
                covered = run.key().map(|outer| (outer, run.value));
                run.value = value;
            }
            run.len = len;
        }
        if !shows {
            self.hidden.push((key, value));
        }
        if let Some((outer, value)) = covered {
            self.hide_unless_shown(outer, value);
        }
    }

    fn remove(&mut self, key: Key) {
        self.hidden.retain(|(other, _)| *other != key);
        let outer = (1..key.len())
            .rev()
            .map(|len| key_of(key.slot(), len))
            .find_map(|outer| Some((outer, self.value(outer)?)));
        let (len, value) = outer.map_or((0, 0), |(outer, value)| (outer.len() as u8, value));
        let mut shows = false;
        let within = self.within(key);
        let of_key = |run: &&mut Run| u32::from(run.len) == key.len();
        for run in self.runs[within].iter_mut().filter(of_key) {
            run.len = len;
            if run.child == 0 {
                run.value = value;
                shows = true;
            }
        }
        if let Some((outer, _)) = outer.filter(|_| shows) {
            self.hidden.retain(|(other, _)| *other != outer);
        }
        self.merge();
    }

    fn set_child(&mut self, slot: u32, child: u32) {
        let at = self.at(slot);
        let run = self.runs[at];
        if run.child != 0 && child != 0 {
            self.runs[at].child = child;
        } else if child != 0 {
            self.split(slot);
            self.split(slot + 1);
            let at = self.at(slot);
            self.runs[at].child = child;
            self.runs[at].value = 0;
            if let Some(key) = run.key() {
                self.hide_unless_shown(key, run.value);
            }
        } else if run.child != 0 {
            let value = run.key().and_then(|key| self.value(key));
            self.runs[at].child = 0;
            self.runs[at].value = value.unwrap_or(0);
            self.hidden.retain(|(other, _)| Some(*other) != run.key());
            self.merge();
        }
    }
}

impl Runs {
    /// The number of the run that contains a slot.
    fn at(&self, slot: u32) -> usize {
        self.runs.partition_point(|run| u32::from(run.slot) <= slot) - 1
    }

    /// The numbers of the runs that begin inside an entry.
    fn within(&self, key: Key) -> std::ops::Range<usize> {
        let before = |slot| self.runs.partition_point(|run| u32::from(run.slot) < slot);
        before(key.slot())..before(key.end())
    }

    /// Makes a run begin at a slot.
    fn split(&mut self, slot: u32) {
        if slot < 256 {
            let at = self.at(slot);
            if u32::from(self.runs[at].slot) != slot {
                let run = Run {
                    slot: slot as u8,
                    ..self.runs[at]
                };
                self.runs.insert(at + 1, run);
            }
        }
    }

    /// Joins neighbours with the same answer.
    fn merge(&mut self) {
        self.runs.dedup_by(|next, run| {
            next.child == 0 && run.child == 0 && next.len == run.len && next.key() == run.key()
        });
    }

    /// A run that shows an entry. A run that begins before the entry shows a shorter one.
    fn shown(&self, key: Key) -> Option<Run> {
        let runs = self.runs[self.within(key)].iter();
        runs.copied().find(|run| run.shows(key.len()))
    }

    /// The value of an entry, if it exists.
    fn value(&self, key: Key) -> Option<u32> {
        let hidden = || self.hidden.iter().find(|(other, _)| *other == key);
        let shown = self.shown(key).map(|run| run.value);
        shown.or_else(|| hidden().map(|(_, value)| *value))
    }

    fn hide_unless_shown(&mut self, key: Key, value: u32) {
        if self.shown(key).is_none() {
            self.hidden.push((key, value));
        }
    }
}
