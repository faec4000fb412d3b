use super::*;
use crate::memory::Memory;

/// A small generator of numbers: the tests need variety, not randomness.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % bound
    }
}

fn some_contents<S: Node>(numbers: &mut Numbers) -> Contents {
    let mut contents = Contents::default();
    let most = 1 << (1 + numbers.below(u64::from(S::BITS) + 1));
    for _ in 0..numbers.below(most) {
        let len = 1 + numbers.below(u64::from(S::BITS)) as u32;
        let slot = (numbers.below(1 << len) << (S::BITS - len)) as u32;
        let key = Key::new(slot, len);
        if !contents.entries.iter().any(|(other, _)| *other == key) {
            contents.insert(key, numbers.below(1 << 32) as u32);
        }
    }
    for _ in 0..numbers.below(most) {
        let slot = numbers.below(1 << S::BITS) as u32;
        contents.set_child(slot, 1 + numbers.below(1 << 20) as u32);
    }
    contents
}

fn check<S: Node>(memory: &Memory, contents: &Contents) {
    let mut parts = S::Parts::default();
    for (slot, child) in contents.children.iter().rev() {
        parts.set_child(u32::from(*slot), *child);
    }
    for (key, value) in contents.entries.iter().rev() {
        parts.insert(*key, *value);
    }
    // Removing and adding leaves no trace.
    for (key, value) in contents.entries.iter().step_by(3) {
        parts.remove(*key);
        parts.insert(*key, *value);
    }
    for (slot, child) in contents.children.iter().step_by(2) {
        parts.set_child(u32::from(*slot), 0);
        parts.set_child(u32::from(*slot), *child);
    }
    assert_eq!(parts.is_empty(), contents.is_empty());
    let mut words = Vec::new();
    S::write(&parts, &mut words);
    memory.write(1, &words);
    let block = memory.block(1);
    assert_eq!(S::len(block) as usize, words.len());
    let mut again = S::Parts::default();
    S::take_apart(block, &mut again);
    let mut words_again = Vec::new();
    S::write(&again, &mut words_again);
    assert_eq!(words_again, words);
    let back = S::read(block);
    assert_eq!(
        (&back.entries, &back.children),
        (&contents.entries, &contents.children)
    );
    let mut busy = 0;
    for slot in 0..1 << S::BITS {
        let covers =
            |key: Key| slot >> (S::BITS - key.len()) == key.slot() >> (S::BITS - key.len());
        let best = contents.entries.iter().filter(|(key, _)| covers(*key));
        let best = best.max_by_key(|(key, _)| key.len());
        let child = contents
            .children
            .iter()
            .find(|(s, _)| u32::from(*s) == slot);
        let step = S::step(block, slot);
        assert_eq!(
            step.child,
            child.map_or(0, |(_, child)| *child),
            "slot {slot}"
        );
        assert_eq!(step.value != 0, best.is_some(), "slot {slot}");
        if let Some((key, value)) = best {
            let at = S::resolve(block, step.value, slot);
            assert_eq!(block.word(at), *value, "slot {slot}");
            assert_eq!(u32::from(S::entry_len(block, step.value)), key.len());
            let entry = S::entry(block, *key).map(|at| block.word(at));
            assert_eq!(entry, Some(*value));
            let (mut copies, mut all_right) = (Vec::new(), true);
            S::each_value(block, *key, |at| {
                copies.push(at);
                all_right &= block.word(at) == *value;
            });
            assert!(all_right && copies.contains(&at), "slot {slot}");
        }
        let says_something = step.child != 0 || best.is_some();
        busy |= u8::from(says_something) << (slot >> (S::BITS - 3));
        let pointer = S::child(block, slot).map_or(0, |at| block.word(at));
        assert_eq!(pointer, S::pointer(pointer, step.child));
        assert_eq!(pointer == 0, step.child == 0);
    }
    if !words.is_empty() && !contents.is_empty() {
        assert_eq!(S::busy(block, 0xff), busy);
        assert_eq!(S::busy(block, 0x35), busy & 0x35);
    }
}

fn full<S: Node>() -> Contents {
    let mut contents = Contents::default();
    for len in 1..=S::BITS {
        for bits in 0..1 << len {
            contents.insert(Key::new(bits << (S::BITS - len), len), len << 16 | bits);
        }
    }
    for slot in 0..1 << S::BITS {
        contents.set_child(slot, slot + 1);
    }
    contents
}

fn nodes_match_their_contents<S: Node>() {
    let memory = Memory::new(std::sync::Arc::new(
        crate::chunk_allocator::ChunkAllocator::new(1),
    ));
    memory.grow(0);
    check::<S>(&memory, &Contents::default());
    check::<S>(&memory, &full::<S>());
    let mut numbers = Numbers(7);
    for _ in 0..3000 {
        check::<S>(&memory, &some_contents::<S>(&mut numbers));
    }
}

#[test]
fn nodes_of_four_bits() {
    nodes_match_their_contents::<Stride4>();
}

#[test]
fn nodes_of_eight_bits() {
    nodes_match_their_contents::<Stride8>();
}

/// The words of the node after [`Node::edit`], if it applies, and after unpacking and changing it.
fn edited(memory: &Memory, key: Key, value: Option<u32>) -> Option<[Vec<u32>; 2]> {
    let (block, mut words) = (memory.block(1), Vec::new());
    Stride8::edit(block, key, value, |parts| {
        words = parts.concat();
        1
    })?;
    let mut parts = Runs::default();
    Stride8::take_apart(block, &mut parts);
    match value {
        Some(value) => parts.insert(key, value),
        None => parts.remove(key),
    }
    let mut apart = Vec::new();
    if !parts.is_empty() {
        Stride8::write(&parts, &mut apart);
    }
    Some([words, apart])
}

#[test]
fn quick_edits_equal_edits_of_unpacked_nodes() {
    let memory = Memory::new(std::sync::Arc::new(
        crate::chunk_allocator::ChunkAllocator::new(1),
    ));
    memory.grow(0);
    let (mut numbers, mut simple) = (Numbers(11), 0);
    for round in 0..6000_u32 {
        let mut contents = some_contents::<Stride8>(&mut numbers);
        // Also sparse nodes, in which little is hidden.
        if round % 2 == 0 {
            contents.entries.truncate(round as usize % 32);
            contents.children.truncate(round as usize % 5);
        }
        let mut parts = Runs::default();
        for (slot, child) in &contents.children {
            parts.set_child(u32::from(*slot), *child);
        }
        for (key, value) in &contents.entries {
            parts.insert(*key, *value);
        }
        let mut words = Vec::new();
        Stride8::write(&parts, &mut words);
        memory.write(1, &words);
        let mut changes: Vec<_> = contents
            .entries
            .iter()
            .map(|(key, _)| (*key, None))
            .collect();
        for _ in 0..8 {
            let len = 1 + numbers.below(8) as u32;
            let key = Key::new((numbers.below(1 << len) << (8 - len)) as u32, len);
            if contents.entries.iter().all(|(other, _)| *other != key) {
                changes.push((key, Some(7)));
            }
        }
        for (key, value) in changes {
            if let Some([edited, apart]) = edited(&memory, key, value) {
                assert_eq!(edited, apart, "{key:?} of {contents:?}");
                simple += 1;
            }
        }
    }
    assert!(simple > 30_000, "{simple}");
}

/// An entry with nothing inside may become a gap and be filled again. An unpacked node has no gaps, and no
/// entry is inside a gap.
#[test]
fn gaps_are_no_entries() {
    let memory = Memory::new(std::sync::Arc::new(
        crate::chunk_allocator::ChunkAllocator::new(1),
    ));
    memory.grow(0);
    let (mut numbers, mut gaps, mut within) = (Numbers(13), 0, 0);
    for _ in 0..3000 {
        let mut contents = some_contents::<Stride8>(&mut numbers);
        contents
            .entries
            .iter_mut()
            .for_each(|(_, value)| *value |= 1);
        let (mut parts, mut words) = (Runs::default(), Vec::new());
        contents
            .children
            .iter()
            .for_each(|(slot, child)| parts.set_child((*slot).into(), *child));
        contents
            .entries
            .iter()
            .for_each(|(key, value)| parts.insert(*key, *value));
        Stride8::write(&parts, &mut words);
        memory.write(1, &words);
        let block = memory.block(1);
        let mut left = contents.clone();
        for (key, _) in &contents.entries {
            let at = Stride8::entry(block, *key).expect("an entry");
            if let Some(head) = Stride8::gap(block, *key, at) {
                memory.set(1, head);
                memory.set(1 + at, 0);
                left.remove(*key);
                gaps += 1;
            }
        }
        assert_eq!(
            (stride8::Head::of(block).gaps() > 0),
            left.entries.len() < contents.entries.len()
        );
        let back = Stride8::read(block);
        assert_eq!(
            (&back.entries, &back.children),
            (&left.entries, &left.children)
        );
        for _ in 0..8 {
            let len = 1 + numbers.below(8) as u32;
            let key = Key::new((numbers.below(1 << len) << (8 - len)) as u32, len);
            let of_others = contents.entries.iter().map(|(other, _)| *other);
            if of_others.clone().any(|other| other == key) {
                continue;
            }
            let edited = Stride8::edit(block, key, Some(7), |parts| {
                memory.write_parts(8192, parts);
                8192
            });
            let is_in_gap = |gap: Key| {
                left.entries.iter().all(|(other, _)| *other != gap)
                    && (gap.slot()..gap.end()).contains(&key.slot())
                    && gap.len() < key.len()
            };
            assert!(edited.is_none() || !of_others.clone().any(is_in_gap));
            if let Some(at) = edited {
                let mut with_key = left.clone();
                with_key.insert(key, 7);
                let back = Stride8::read(memory.block(at));
                assert_eq!(back.entries, with_key.entries);
                within += 1;
            }
        }
        for (key, value) in &contents.entries {
            if left.entries.iter().all(|(other, _)| other != key) {
                memory.set(1, Stride8::filled(block));
                Stride8::each_value(block, *key, |at| memory.set(1 + at, *value));
            }
        }
        let mut again = vec![0; words.len()];
        block.read(0, &mut again);
        assert_eq!(again, words);
    }
    assert!(gaps > 5_000 && within > 5_000, "{gaps} {within}");
}
